/** How the nodes of a graph stand at a moment, and which edges were taken. Pure. */
import type { NodeStanding } from '../../graph/nodes.ts';
import { nodeTone } from '../../words.ts';
import type { Moment } from './moment.ts';

/** How nodes of a graph stand. Of what is within a node all together counts. */
export function drawnNodes(
  { checkpoint }: Pick<Moment, 'checkpoint'>,
  inside: readonly string[] = [],
): ReadonlyMap<string, NodeStanding> {
  const found = new Map<string, NodeStanding>();
  const waits = checkpoint?.view.waits ?? [];
  const ids = (path: readonly string[]): string | undefined =>
    inside.every((id, index) => path.includes(id) && (index > 0 || path[0] === id))
      ? path.slice(inside.length === 0 ? 0 : inside.length).find((part) => part !== '')
      : undefined;
  for (const { path, status, visits } of checkpoint?.view.nodes ?? []) {
    const id = inside.length === 0 ? path[0] : ids(path);
    if (id === undefined || (inside.length === 0 ? path.length > 1 : false)) continue;
    const own = waits.filter(({ node }) => node[inside.length === 0 ? 0 : node.length - 1] === id);
    found.set(id, { tone: nodeTone(status, own), visits });
  }
  return found;
}

export function takenEdges({ story }: Pick<Moment, 'story'>): ReadonlySet<string> {
  return new Set(story?.taken?.map(({ path, to }) => `${path.at(-1)}\n${to}`));
}
