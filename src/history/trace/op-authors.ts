/**
 * Finds the visit that each op of a checkpoint belongs to. An op below a node's record shows the node in its path. What a visit wrote to
 * channels comes before the op that records the visit's end, so an op on a channel belongs to the next visit that ends in the same frame.
 * Several visits of one node may end in one checkpoint, so they are told apart by counting their ends.
 */
import type { Op } from '../../state/delta.ts';
import type { NodeStatus } from '../../state/tree.ts';
import type { Change, ChangePart } from '../stored/change.ts';

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

/** The visit that wrote an op. */
export interface OpAuthor {
  /** The node's path from the root. */
  readonly node: readonly string[];
  /** How many visits of the node ended before it in the same checkpoint. */
  readonly endedBefore: number;
}

/** For each op of a delta, the visit that it belongs to; undefined if no node wrote it. */
export function authorsOf(ops: readonly Op[]): readonly (OpAuthor | undefined)[] {
  const authors = recordAuthors(ops);
  const next = new Map<string, OpAuthor>();
  return ops
    .map((op, index) => ({ op, own: authors[index] }))
    .toReversed()
    .map(({ op, own }) => {
      const { frame, rest } = placeInTree(op[1]);
      const key = frame.join('\0');
      if (own !== undefined && endedNode(op) !== undefined) next.set(key, own);
      return own ?? (rest?.[0] === 'channels' || rest?.[0] === 'aux' ? next.get(key) : undefined);
    })
    .toReversed();
}

/** The authors of ops in records of nodes. */
function recordAuthors(ops: readonly Op[]): readonly (OpAuthor | undefined)[] {
  const lastEnds = new Map<string, { readonly author: OpAuthor; readonly end: number }>();
  return ops.map((op, index) => {
    const { frame, rest } = placeInTree(op[1]);
    if (rest?.[0] !== 'nodes' || rest.length < 2) return undefined;
    const node = [...frame, rest[1] as string];
    const key = node.join('\0');
    const last = lastEnds.get(key);
    if (last !== undefined && index < last.end) return last.author;
    const author = { node, endedBefore: last === undefined ? 0 : last.author.endedBefore + 1 };
    if (endedNode(op) !== undefined) lastEnds.set(key, { author, end: endOfRecord(ops, index) });
    return author;
  });
}

/** Index behind the last op that writes a visit's end. A record with steps is written field by field, its status first. */
export function endOfRecord(ops: readonly Op[], start: number): number {
  const [, first] = ops[start] as Op;
  if (placeInTree(first).rest?.length === 2) return start + 1;
  const record = first.slice(0, -1);
  const isField = ([, path]: Op): boolean =>
    path.length > record.length && path[record.length] !== 'status' && record.every((key, at) => path[at] === key);
  let end = start + 1;
  while (end < ops.length && isField(ops[end] as Op)) end += 1;
  return end;
}

/** Whether a part of a change says that a visit ended. */
export function isEnd({ kind }: ChangePart): boolean {
  return kind === 'settle' || kind === 'replay';
}

/** The parts of a change that tell of a visit, its end last: those of a node's visits follow one another. */
export function partsOf(change: Change, { node, endedBefore }: OpAuthor): readonly ChangePart[] {
  const place = node.join('\0');
  let ended = 0;
  return change.filter((part) => {
    if (part.node?.join('\0') !== place) return false;
    const isOfVisit = ended === endedBefore;
    if (isEnd(part)) ended += 1;
    return isOfVisit;
  });
}
