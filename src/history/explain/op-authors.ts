/**
 * Finds the visit that each op of a checkpoint belongs to. An op below a node's record shows the node in its path. What a visit wrote to
 * channels comes before the op that records the visit's end, so an op on a channel belongs to the next visit that ends in the same frame.
 * Several visits of one node may end in one checkpoint, so they are distinguished by counting their ends.
 */
import type { Op } from '../../state/delta.ts';
import type { NodeStatus, FrameTree, NodeRecord, RunTree } from '../../state/tree.ts';
import type { Change, ChangePart } from '../stored/change.ts';
import { CairnError } from '../../errors.ts';
import { pickPart } from '../read/state-at.ts';
import { viewValues } from '../read/checkpoint-view.ts';
import { formatPath } from '../read/state-path.ts';

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
function treePathOf(frame: readonly string[]): readonly string[] {
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

// Finds the places in the stored tree that hold a value with a name such as `scratch.plan`, `outputs.check` or `failures.pay`.

/** One place of the tree that a named value is made of. */
export interface TreeValue {
  /** Path of this part within the named value. */
  readonly path: readonly string[];
  readonly tree: readonly string[];
  readonly value: unknown;
}

/** A named value and the places that it is made of. */
export interface NamedValue {
  readonly value: unknown;
  readonly places: readonly TreeValue[];
}

/**
 * The frame of a child run. @param path - node ids and names of child runs in turn. @throws USAGE_INVALID no such child run is in progress
 */
export function frameAt({ frame }: RunTree, path: readonly string[]): FrameTree {
  let at: FrameTree | undefined = frame;
  for (let index = 0; index < path.length; index += 2)
    at = at?.nodes[path[index] as string]?.children?.[path[index + 1] as string];
  if (at !== undefined) return at;
  throw new CairnError('USAGE_INVALID', {
    reason: `there is no child run ${path.join('/')} at this checkpoint`,
    hint: 'A child run is in the state until its node ends; name an earlier checkpoint, as RUN@SEQ.',
  });
}

/** Finds a named value. @throws USAGE_INVALID there is no such value */
export function findPlaces(
  root: RunTree,
  framePath: readonly string[],
  keys: readonly string[],
  reference: string,
): NamedValue {
  const frame = frameAt(root, framePath);
  const view = viewValues(frame);
  const value = pickPart(view, keys, reference);
  const top = treePathOf(framePath);
  const [area = '', name, ...rest] = keys;
  const one = (tree: readonly string[], of: unknown, path: readonly string[] = []): TreeValue => ({
    path,
    tree: [...top, ...tree],
    value: of,
  });
  const node = (id: string, inner: readonly string[], path: readonly string[]): readonly TreeValue[] =>
    outputPlaces(frame.nodes[id] as NodeRecord, inner).map(({ tree, ...more }) =>
      one(['nodes', id, ...tree], more.value, [...path, ...more.path]),
    );
  if (area === 'input') return { value, places: [one(keys, value)] };
  if (area === 'outputs') {
    if (name !== undefined) return { value, places: node(name, rest, []) };
    return { value, places: Object.keys(view.outputs).flatMap((id) => node(id, [], [id])) };
  }
  if (area === 'failures') {
    const ids = name === undefined ? Object.keys(view.failures) : [name];
    return {
      value,
      places: ids.map((id) =>
        one(
          ['nodes', id, 'error', ...rest],
          name === undefined ? view.failures[id] : value,
          name === undefined ? [id] : [],
        ),
      ),
    };
  }
  if (area === 'artifacts') return { value, places: artifactPlaces(frame, keys, value, { one, node }) };
  if (area === 'scratch' || area === 'diagnostics') return { value, places: [one(['channels', ...keys], value)] };
  throw new CairnError('USAGE_INVALID', {
    reason: `${formatPath(keys)} is no value that a node writes`,
    hint: 'Begin with input, scratch, artifacts, diagnostics, outputs or failures.',
  });
}

interface PlaceMakers {
  readonly one: (tree: readonly string[], of: unknown, path?: readonly string[]) => TreeValue;
  readonly node: (id: string, inner: readonly string[], path: readonly string[]) => readonly TreeValue[];
}

/** The places of artifacts: channels, and outputs that are shown under a name. */
function artifactPlaces(
  frame: FrameTree,
  keys: readonly string[],
  value: unknown,
  { one, node }: PlaceMakers,
): readonly TreeValue[] {
  const [, name, ...rest] = keys;
  const own = frame.channels['artifacts'] ?? {};
  const named = Object.entries(frame.nodes).filter(([, { as }]) => as !== undefined && !Object.hasOwn(own, as));
  if (name !== undefined) {
    const found = named.find(([, { as }]) => as === name);
    return found === undefined ? [one(['channels', ...keys], value)] : node(found[0], rest, []);
  }
  return [
    ...Object.entries(own).map(([key, of]) => one(['channels', 'artifacts', key], of, [key])),
    ...named.flatMap(([id, { as = '' }]) => node(id, [], [as])),
  ];
}

/** The places of an output, or of the step outputs that it is made of. Paths are relative to the node's record. */
function outputPlaces(record: NodeRecord, inner: readonly string[]): readonly TreeValue[] {
  const { output, outputOfSteps: order, steps = {} } = record;
  if (order === undefined) return [{ path: [], tree: ['output', ...inner], value: pickPart(output, inner, 'output') }];
  const keys = (order === true ? Object.keys(steps) : order).filter((key) => steps[key]?.status === 'done');
  const place = (key: string, path: readonly string[], below: readonly string[]): TreeValue => ({
    path,
    tree: ['steps', key, 'output', ...below],
    value: pickPart(steps[key]?.output, below, 'output'),
  });
  const [item, ...below] = inner;
  if (item === undefined) return keys.map((key, index) => place(key, [String(index)], []));
  const key = keys.at(Number(item));
  return key === undefined ? [] : [place(key, [], below)];
}
