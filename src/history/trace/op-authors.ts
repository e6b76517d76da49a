/**
 * Which node an op of a checkpoint is of. What lies below a node's record says so by its path. What a visit wrote into channels stands
 * in the delta before the op that writes down how the visit ended, so a channel's op is of the next node that ends in the same frame.
 */
import type { Op } from '../../state/delta.ts';
import type { NodeStatus } from '../../state/tree.ts';

/** A path of the tree, divided where its innermost frame begins. */
export interface TreePlace {
  /** Node ids and names of child runs in turns, down to the frame; empty: the run's own. */
  readonly frame: readonly string[];
  /** Within the frame: `nodes`, `channels`, `input`, …; undefined: the path is not below any frame. */
  readonly rest: readonly string[] | undefined;
}

export function placeInTree(path: readonly string[]): TreePlace {
  if (path[0] !== 'frame') return { frame: [], rest: undefined };
  const frame: string[] = [];
  let at = 1;
  while (path[at] === 'nodes' && path[at + 2] === 'children' && path.length > at + 4) {
    frame.push(path[at + 1] as string, path[at + 3] as string);
    at += 4;
  }
  return { frame, rest: path.slice(at) };
}

/** The path of a frame in the tree. */
export function treePathOf(frame: readonly string[]): readonly string[] {
  const inner = frame.flatMap((part, index) => [index % 2 === 0 ? 'nodes' : 'children', part]);
  return ['frame', ...inner];
}

const ended: ReadonlySet<unknown> = new Set<NodeStatus>(['completed', 'failed', 'skipped', 'cancelled']);

/** The node whose visit, or attempt, an op writes the end of. */
export function endedNode([kind, path, value]: Op): readonly string[] | undefined {
  if (kind !== 's') return undefined;
  const { frame, rest } = placeInTree(path);
  if (rest?.[0] !== 'nodes' || rest.length < 2 || rest.length > 3) return undefined;
  const status = rest.length === 2 ? (value as { readonly status?: unknown } | null)?.status : value;
  const isEnd = (rest.length === 2 || rest[2] === 'status') && ended.has(status);
  return isEnd ? [...frame, rest[1] as string] : undefined;
}

/** The node of each op of a delta, by its path from the root; undefined: no node wrote it. */
export function authorsOf(ops: readonly Op[]): readonly (readonly string[] | undefined)[] {
  const next = new Map<string, readonly string[]>();
  return ops
    .toReversed()
    .map((op) => {
      const node = endedNode(op);
      const { frame, rest } = placeInTree(op[1]);
      const key = frame.join('\0');
      if (node !== undefined) next.set(key, node);
      if (rest?.[0] === 'nodes' && rest.length > 1) return [...frame, rest[1] as string];
      return rest?.[0] === 'channels' || rest?.[0] === 'aux' ? next.get(key) : undefined;
    })
    .toReversed();
}
