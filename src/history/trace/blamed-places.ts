/** Finds the places in the stored tree that hold a value with a name such as `scratch.plan`, `outputs.check` or `failures.pay`. */
import { CairnError } from '../../errors.ts';
import type { FrameTree, NodeRecord, RunTree } from '../../state/tree.ts';
import { pickPart } from '../read/state-at.ts';
import { formatPath } from '../read/state-path.ts';
import { viewValues } from '../read/state-view.ts';
import { treePathOf } from './op-authors.ts';

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
