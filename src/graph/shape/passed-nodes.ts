/** Nodes that a changed graph has where a run has passed already: nothing that is still to come leads to them, so they are never run (H3). */
import type { GraphStructure } from '../graph.ts';

/** How far a run has come with a node. */
interface Position {
  readonly id: string;
  readonly isOpen: boolean;
  /** Keys of the edges that its last visit fired. */
  readonly fired?: readonly string[];
}

/** @param current - the graph that the run is to go on under. Returns those of its nodes that the run cannot come to, whether or not it was there before. */
export function passedNodes(current: GraphStructure, positions: readonly Position[]): ReadonlySet<string> {
  const targets = targetsOf(current);
  const known = new Map(positions.map((position) => [position.id, position]));
  const next = positions.filter(({ isOpen }) => isOpen).map(({ id }) => id);
  for (const edge of current.edges) {
    const [from, to] = [String(edge['from']), String(edge['to'])];
    if (known.get(from)?.fired?.includes(String(edge['key'])) !== true) continue;
    // It was led to and has not begun; in a loop, it may have been led to once more.
    if (!known.has(to) || reachedFrom([to], targets).has(from)) next.push(to);
  }
  const ahead = reachedFrom(next, targets);
  return new Set(current.nodes.map(({ id }) => String(id)).filter((id) => !ahead.has(id)));
}

function targetsOf({ edges }: GraphStructure): ReadonlyMap<string, readonly string[]> {
  const targets = new Map<string, string[]>();
  for (const { from, to } of edges) {
    const known = targets.get(String(from));
    if (known === undefined) targets.set(String(from), [String(to)]);
    else known.push(String(to));
  }
  return targets;
}

/** The nodes themselves, and all that edges lead to from there. */
function reachedFrom(starts: readonly string[], targets: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const reached = new Set(starts);
  // A set visits what is added to it while it is walked.
  for (const id of reached) for (const to of targets.get(id) ?? []) reached.add(to);
  return reached;
}
