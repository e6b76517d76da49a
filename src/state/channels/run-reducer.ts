/** Runs one reducer, and converts its result to a value and ops. */
import { CairnError, readableThrown, reasonOf } from '../../errors.ts';
import type { Reducer } from '../../graph/graph.ts';
import { partitions, type Partition } from '../../graph/contracts/node-contract.ts';
import { customReducer, namedReducers, type Reduce, type Reduction, type Slot } from './reducers.ts';
import { copyValue, type CodecLimits, type Intake } from '../values/admit.ts';
import { encodeValue } from '../values/encode.ts';

// The reducers of a graph, arranged by their place in the state.

/** A place in the state that has a reducer, or that has reducers below it. */
export interface ChannelNode {
  readonly reduce: Reduce | undefined;
  /** Whether the value, if it is a list, is only ever appended to. */
  readonly isGrowing: boolean;
  /** Whether the reducer is code of the user. */
  readonly isCustom: boolean;
  /** Whether ops may lead inside the value. Then it must be in the tree itself and not in a blob. */
  readonly writesInside: boolean;
  readonly children: ReadonlyMap<string, ChannelNode>;
}

/** For each partition, its top-level channels with reducers at or below them. */
export type ChannelTable = Readonly<Record<Partition, ReadonlyMap<string, ChannelNode>>>;

interface OpenNode extends ChannelNode {
  readonly children: Map<string, OpenNode>;
}

function emptyNode(): OpenNode {
  return { reduce: undefined, isGrowing: false, isCustom: false, writesInside: false, children: new Map() };
}

/**
 * Compiles a graph's reducers, named by dotted path: `scratch.messages`, `artifacts.stats.count`.
 * A path with a reducer hides those below it.
 * @throws STATE_UNKNOWN_CHANNEL a path that does not begin with a partition and a key; REDUCER_FAILED an unknown name
 */
export function compileChannels(reducers: Readonly<Record<string, Reducer>>): ChannelTable {
  const table = Object.fromEntries(partitions.map((name) => [name, new Map<string, OpenNode>()]));
  for (const [path, reducer] of Object.entries(reducers)) {
    const [partition = '', ...keys] = path.split('.');
    const roots = Object.hasOwn(table, partition) ? table[partition] : undefined;
    if (roots === undefined || keys.length === 0) throw new CairnError('STATE_UNKNOWN_CHANNEL', { channel: path });
    let level = roots;
    let node: OpenNode | undefined;
    for (const key of keys) {
      node = level.get(key);
      if (node === undefined) level.set(key, (node = emptyNode()));
      level = node.children;
    }
    const isGrowing = reducer === 'append' || reducer === 'union';
    const isCustom = typeof reducer !== 'string';
    const writesInside = isGrowing || isCustom || reducer === 'merge';
    Object.assign(node as OpenNode, { reduce: compileReducer(path, reducer), isGrowing, isCustom, writesInside });
  }
  return table as unknown as ChannelTable;
}

function compileReducer(path: string, reducer: Reducer): Reduce {
  if (typeof reducer !== 'string') return customReducer(reducer.reduce);
  if (Object.hasOwn(namedReducers, reducer)) return namedReducers[reducer];
  throw new CairnError('REDUCER_FAILED', { channel: path, reason: `no reducer is named ${reducer}` });
}

/** One op on a channel. */
export interface ChannelOp {
  readonly kind: 'set' | 'append' | 'text';
  /** Path from the partition; the first key is the channel's. */
  readonly path: readonly string[];
  readonly json: string;
}

/** An update, with its JSON text if that is known already. */
export interface ReducerUpdate {
  readonly value: unknown;
  readonly json?: string;
}

/** How values made by users' reducers are validated. */
export interface Admission {
  readonly limits: CodecLimits;
  readonly intake?: Intake | undefined;
}

/** Runs a reducer. @throws REDUCER_FAILED the reducer threw, or its result cannot be stored */
export function runReducer(
  node: ChannelNode,
  name: string,
  slot: Slot,
  update: unknown,
  admission: Admission,
): Reduction {
  try {
    const reduction = (node.reduce as NonNullable<ChannelNode['reduce']>)(slot, update);
    return reduction.kind === 'made' ? takeIn(reduction.value, slot, name, admission) : reduction;
  } catch (cause) {
    const reason = reasonOf(cause);
    throw new CairnError('REDUCER_FAILED', { channel: name, reason }, { cause: readableThrown(cause) });
  }
}

/** Validates what a user's reducer returned. A list that begins with all the present items counts as an append (C4). */
function takeIn(made: unknown, slot: Slot, name: string, { limits, intake }: Admission): Reduction {
  if (slot.exists && made === slot.value) return { kind: 'keep' };
  const path = name.split('.');
  if (slot.exists && Array.isArray(slot.value) && Array.isArray(made) && beginsWith(made, slot.value)) {
    const added = copyValue(made.slice(slot.value.length), path, limits, intake) as readonly unknown[];
    return { kind: 'append', items: added };
  }
  return { kind: 'set', value: copyValue(made, path, limits, intake) };
}

/** Whether a list begins with these items. Comparing by identity is enough, because the present items are frozen. */
function beginsWith(list: readonly unknown[], start: readonly unknown[]): boolean {
  return list.length >= start.length && start.every((item, index) => Object.is(list[index], item));
}

/** The value that a reduction results in, and the ops that express it. */
export function settleReduction(
  node: ChannelNode,
  reduction: Reduction,
  current: unknown,
  update: ReducerUpdate,
  path: readonly string[],
): { readonly value: unknown; readonly ops: readonly ChannelOp[] } {
  switch (reduction.kind) {
    case 'keep':
      return { value: current, ops: [] };
    case 'append': {
      const { items } = reduction;
      if (items.length === 0) return { value: current, ops: [] };
      const value = [...(current as readonly unknown[]), ...items];
      return { value, ops: [{ kind: 'append', path, json: itemsJson(items, update) }] };
    }
    case 'text': {
      const value = (current as string) + reduction.text;
      // A text under the key `$` is stored as a type tag, which cannot be appended to.
      if (path.at(-1) === '$') return { value, ops: [setOp(path, encodeValue(value))] };
      return { value, ops: [{ kind: 'text', path, json: JSON.stringify(reduction.text) }] };
    }
    case 'parts': {
      const ops = reduction.parts.map((part) => setOp([...path, ...part.path], encodeValue(part.value)));
      return { value: reduction.value, ops };
    }
    default: {
      const isUpdateItself = reduction.value === update.value && !(node.writesInside && isBlobJson(update.json));
      const json = isUpdateItself ? update.json : undefined;
      return { value: reduction.value, ops: [setOp(path, json ?? encodeValue(reduction.value))] };
    }
  }
}

/** Whether the JSON text is a reference to a blob. Later ops could not reach what is inside. */
function isBlobJson(json: string | undefined): boolean {
  return json?.startsWith('{"$":"blob"') === true;
}

export function setOp(path: readonly string[], json: string): ChannelOp {
  return { kind: 'set', path, json };
}

/** The items as a JSON array. Reuses the update's own text, unless that is a reference to a blob. */
function itemsJson(items: readonly unknown[], { value, json }: ReducerUpdate): string {
  if (json !== undefined && items === value && json.startsWith('[')) return json;
  if (json !== undefined && items.length === 1 && items[0] === value) return `[${json}]`;
  return encodeValue(items);
}
