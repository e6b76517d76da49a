/**
 * Finds the node that each op of a checkpoint belongs to. An op below a node's record shows it in its path. What a visit wrote to channels
 * comes before the op that records the visit's end, so an op on a channel belongs to the next node that ends in the same frame.
 */
import type { Op } from '../../state/delta.ts';
import type { NodeStatus } from '../../state/tree.ts';

/** A path in the tree, split at its innermost frame. */
export interface TreePlace {
  /** Node ids and names of child runs in turn, down to the frame; empty for the run's own frame. */
  readonly frame: readonly string[];
  /** The path within the frame, beginning with `nodes`, `channels`, `input`, …; undefined if the path is outside of all frames. */
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

/** The node whose visit or attempt ends with this op; undefined for other ops. */
export function endedNode([kind, path, value]: Op): readonly string[] | undefined {
  if (kind !== 's') return undefined;
  const { frame, rest } = placeInTree(path);
  if (rest?.[0] !== 'nodes' || rest.length < 2 || rest.length > 3) return undefined;
  const status = rest.length === 2 ? (value as { readonly status?: unknown } | null)?.status : value;
  const isEnd = (rest.length === 2 || rest[2] === 'status') && ended.has(status);
  return isEnd ? [...frame, rest[1] as string] : undefined;
}

/** For each op of a delta, the node that it belongs to, as its path from the root; undefined if no node wrote it. */
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
