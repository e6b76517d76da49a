/** Computes how an outcome's updates change a frame's channels, without changing anything yet. */
import { CairnError } from '../../errors.ts';
import { partitions, type Partition } from '../../graph/contracts/node-contract.ts';
import type { Admitted } from '../values/admit.ts';
import { absent, type Cell } from './versions.ts';
import {
  type ChannelNode,
  type ChannelTable,
  runReducer,
  setOp,
  settleReduction,
  type Admission,
  type ChannelOp,
  type ReducerUpdate,
} from './run-reducer.ts';
import type { Channels } from './channels.ts';
import { encodeValue } from '../values/encode.ts';
import { deepFreeze } from '../values/freeze.ts';
import { getOwn, isPlainObject, setOwn, type PlainObject } from '../values/plain-object.ts';
import { textsOf, type Reduction, type Slot } from './reducers.ts';

/** Validated updates, by partition and top-level key. */
export type AdmittedUpdates = Readonly<Record<string, Readonly<Record<string, Admitted>>>>;

/** The change of one channel. */
export interface ChannelWrite {
  readonly cell: Cell;
  readonly partition: Partition;
  readonly ops: readonly ChannelOp[];
  /** The new value; absent if `items` are appended to the channel's list. */
  readonly value?: unknown;
  readonly items?: readonly unknown[];
}

/** The result of applying the reducers to an outcome's updates. */
export interface Merge {
  readonly writes: readonly ChannelWrite[];
  readonly plainWrites: readonly string[];
  readonly aux: readonly (readonly [channel: string, value: unknown])[];
  readonly isTransformed: boolean;
}

/** Computes what updates do to the channels. @throws REDUCER_FAILED, STATE_UNKNOWN_CHANNEL */
export function mergeUpdates(
  channels: Channels,
  table: ChannelTable,
  updates: AdmittedUpdates,
  admission: Admission,
): Merge {
  const merging = new Merging(channels, admission);
  for (const partition of partitionsOf(updates)) {
    const values = updates[partition] as Readonly<Record<string, Admitted>>;
    for (const key of Object.keys(values))
      merging.add(partition, key, values[key] as Admitted, table[partition].get(key));
  }
  return merging;
}

/** The paths that updates write without a reducer. @throws STATE_UNKNOWN_CHANNEL */
export function plainWritesOf(table: ChannelTable, updates: AdmittedUpdates): readonly string[] {
  const names: string[] = [];
  for (const partition of partitionsOf(updates)) {
    for (const [key, { value }] of Object.entries(updates[partition] as Readonly<Record<string, Admitted>>)) {
      collectPlain(table[partition].get(key), `${partition}.${key}`, value, names);
    }
  }
  return names;
}

function partitionsOf(updates: AdmittedUpdates): readonly Partition[] {
  const names = Object.keys(updates);
  for (const name of names) {
    if (!partitions.includes(name as Partition)) throw new CairnError('STATE_UNKNOWN_CHANNEL', { channel: name });
  }
  return names as Partition[];
}

/** Whether an update is applied key by key: it is an object, and there are reducers below this place. */
function descends(node: ChannelNode | undefined, update: unknown): update is PlainObject {
  return node !== undefined && node.reduce === undefined && isPlainObject(update);
}

function collectPlain(node: ChannelNode | undefined, name: string, update: unknown, names: string[]): void {
  if (node?.reduce !== undefined) return;
  if (!descends(node, update)) names.push(name);
  else
    for (const key of Object.keys(update)) collectPlain(node?.children.get(key), `${name}.${key}`, update[key], names);
}

class Merging implements Merge {
  readonly writes: ChannelWrite[] = [];
  readonly plainWrites: string[] = [];
  readonly aux: (readonly [string, unknown])[] = [];
  isTransformed = false;
  readonly #channels: Channels;
  readonly #admission: Admission;

  constructor(channels: Channels, admission: Admission) {
    this.#channels = channels;
    this.#admission = admission;
  }

  add(partition: Partition, key: string, admitted: Admitted, node: ChannelNode | undefined): void {
    const cell = this.#channels.cell(partition, key);
    const { value, json } = admitted;
    if (node?.reduce !== undefined) {
      this.#addReduced(node, cell, partition, admitted);
    } else if (descends(node, value)) {
      // The ops lead inside the channel, so the original update cannot be derived from them.
      this.isTransformed = true;
      const ops: ChannelOp[] = [];
      const current = this.#channels.raw(partition, key);
      const next = this.#descend(node as ChannelNode, cell.name, current, value, [key], ops);
      if (ops.length > 0) this.writes.push({ cell, partition, value: next, ops });
    } else {
      this.plainWrites.push(cell.name);
      this.writes.push({ cell, partition, value, ops: [setOp([key], json)] });
    }
  }

  #addReduced(node: ChannelNode, cell: Cell, partition: Partition, admitted: Admitted): void {
    const current = this.#channels.raw(partition, cell.key);
    // Only our own reducers see a growing list itself. What users' reducers see is frozen.
    const value = cell.isGrowing ? current : deepFreeze(current);
    const slot = this.#slot(cell.name, value, () => cell.textsOf(value as readonly unknown[]));
    const reduction = this.#reduce(node, cell.name, slot, admitted.value);
    if (node.isCustom || !isUnchanged(reduction, admitted.value)) this.isTransformed = true;
    if (reduction.kind === 'append') {
      const { ops } = settleReduction(node, reduction, [], admitted, [cell.key]);
      if (ops.length > 0) this.writes.push({ cell, partition, items: reduction.items, ops });
      return;
    }
    const settled = settleReduction(node, reduction, current, admitted, [cell.key]);
    if (settled.ops.length > 0) this.writes.push({ cell, partition, ...settled });
  }

  #slot(name: string, value: unknown, itemTexts: Slot['itemTexts']): Slot {
    const { aux } = this.#channels.tree;
    const exists = value !== absent;
    return {
      exists,
      value: exists ? value : undefined,
      aux: aux === undefined ? undefined : getOwn(aux, name),
      itemTexts,
    };
  }

  #reduce(node: ChannelNode, name: string, slot: Slot, update: unknown): Reduction {
    const reduction = runReducer(node, name, slot, update, this.#admission);
    if (reduction.kind === 'set' && reduction.aux !== undefined) this.aux.push([name, reduction.aux]);
    return reduction;
  }

  /** Applies an update key by key. Returns a new value and leaves the old one unchanged. */
  #descend(
    node: ChannelNode,
    name: string,
    current: unknown,
    update: PlainObject,
    path: readonly string[],
    ops: ChannelOp[],
  ): unknown {
    const object = isPlainObject(current) ? current : undefined;
    const next: PlainObject = { ...object };
    // An object that did not exist is written as a whole.
    const inner: ChannelOp[] = object === undefined ? [] : ops;
    for (const key of Object.keys(update)) {
      const value = object !== undefined && Object.hasOwn(object, key) ? object[key] : absent;
      const entry = { value: update[key] };
      setOwn(next, key, this.#below(node.children.get(key), `${name}.${key}`, value, entry, [...path, key], inner));
    }
    if (object === undefined) ops.push(setOp(path, encodeValue(next)));
    return next;
  }

  #below(
    node: ChannelNode | undefined,
    name: string,
    current: unknown,
    update: ReducerUpdate,
    path: readonly string[],
    ops: ChannelOp[],
  ): unknown {
    if (descends(node, update.value)) return this.#descend(node as ChannelNode, name, current, update.value, path, ops);
    if (node?.reduce === undefined) {
      this.plainWrites.push(name);
      ops.push(setOp(path, encodeValue(update.value)));
      return update.value;
    }
    const slot = this.#slot(name, deepFreeze(current), () => textsOf(current as readonly unknown[]));
    const settled = settleReduction(node, this.#reduce(node, name, slot, update.value), current, update, path);
    ops.push(...settled.ops);
    return settled.value;
  }
}

/** Whether the resulting op contains the update unchanged. */
function isUnchanged(reduction: Reduction, update: unknown): boolean {
  if (reduction.kind === 'text') return true;
  if (reduction.kind === 'set') return reduction.value === update || isOnly(reduction.value, update);
  return reduction.kind === 'append' && (reduction.items === update || isOnly(reduction.items, update));
}

function isOnly(list: unknown, item: unknown): boolean {
  return Array.isArray(list) && list.length === 1 && list[0] === item;
}
