/**
 * Finds the nodes of a changed graph that a run has already passed and that nothing still to come leads to, so that they will never run
 * (H3).
 */
import type { GraphStructure } from '../graph.ts';

/** How far a run has come at a node. */
interface Position {
  readonly id: string;
  readonly isOpen: boolean;
  /** Keys of the edges that its last visit fired. */
  readonly fired?: readonly string[];
}

/**
 * The nodes of `current` that the run can no longer reach, whether or not the run has visited them.
 * @param current - the structure of the graph under which the run is to go on
 */
export function passedNodes(current: GraphStructure, positions: readonly Position[]): ReadonlySet<string> {
  const targets = targetsOf(current);
  const known = new Map(positions.map((position) => [position.id, position]));
  const next = positions.filter(({ isOpen }) => isOpen).map(({ id }) => id);
  for (const edge of current.edges) {
    const [from, to] = [String(edge['from']), String(edge['to'])];
    if (known.get(from)?.fired?.includes(String(edge['key'])) !== true) continue;
    // The edge fired and its target has not begun. In a loop, the target may have to begin once more.
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

/** The given nodes, and all that can be reached from them. */
function reachedFrom(starts: readonly string[], targets: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const reached = new Set(starts);
  // A set's iteration also visits items that are added meanwhile.
  for (const id of reached) for (const to of targets.get(id) ?? []) reached.add(to);
  return reached;
}
