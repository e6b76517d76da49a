/** The reducers of a graph, arranged by their place in the state. */
import { CairnError } from '../../errors.ts';
import type { Reducer } from '../../graph/graph.ts';
import { partitions, type Partition } from '../../graph/contracts/node-contract.ts';
import { customReducer, namedReducers, type Reduce } from './reducers.ts';

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
 * Compiles a graph's reducers, given by dotted path: `scratch.messages`, `artifacts.stats.count`.
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
