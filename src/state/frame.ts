/** The live frame: a mutable tree that is changed only through this class. Every change is recorded as an op (C4). */
import { CairnError } from '../errors.ts';
import { type StateView, partitions } from '../graph/contracts/node-contract.ts';
import { absent } from './channels/versions.ts';
import { sameNames, type CodeNames } from './channels/code-names.ts';
import { Channels, now, type Area } from './channels/channels.ts';
import type { ChannelTable, Admission } from './channels/run-reducer.ts';
import type { DeltaBuilder } from './delta.ts';
import { encodeValue, jsonUnderKey } from './values/encode.ts';
import { setOwn, type PlainObject } from './values/plain-object.ts';
import { mergeUpdates, plainWritesOf, type AdmittedUpdates, type ChannelWrite } from './channels/merge-updates.ts';
import type { FrameTree, NodeRecord } from './tree.ts';
import { View, type OpenView } from './channels/view.ts';

export type { AdmittedUpdates } from './channels/merge-updates.ts';
export type { OpenView } from './channels/view.ts';

/** The result of applying an outcome's updates. */
export interface AppliedUpdates {
  /** Paths of channels that were written without a reducer, such as `scratch.a` (E5). */
  readonly plainWrites: readonly string[];
  /** Whether the original updates cannot be derived from the delta, so that they must be stored in addition (X2). */
  readonly isTransformed: boolean;
}

type Field = Exclude<keyof FrameTree, 'input' | 'channels' | 'nodes'>;

const defaultAdmission: Admission = { limits: { valueBytes: 64 * 1024 * 1024, valueDepth: 500 } };

/** Fields of a node's record that determine whether and how it failed. */
const failureFields: readonly string[] = ['status', 'error'];

export class Frame {
  readonly tree: FrameTree;
  readonly #path: readonly string[];
  readonly #delta: DeltaBuilder;
  readonly #table: ChannelTable;
  readonly #channels: Channels;
  readonly #admission: Admission;
  readonly #codeNames: CodeNames;
  /** Path of `nodes` in a delta, without the closing bracket. */
  readonly #nodesPrefix: string;
  readonly #partitionPrefixes: Readonly<Record<string, string>>;

  /**
   * @param path - keys from the root of the run's tree to this frame, such as `['frame']`
   * @param outputNames - node ids, by the name under which artifacts show their output
   * @param codeNames - what the views call nodes that are on record under other names
   * @param admission - how values made by users' reducers are validated
   */
  constructor(
    tree: FrameTree,
    path: readonly string[],
    delta: DeltaBuilder,
    table: ChannelTable,
    outputNames: ReadonlyMap<string, string>,
    codeNames: CodeNames = sameNames,
    admission: Admission = defaultAdmission,
  ) {
    this.tree = tree;
    this.#path = path;
    this.#delta = delta;
    this.#table = table;
    this.#channels = new Channels(tree, table, outputNames);
    this.#admission = admission;
    this.#codeNames = codeNames;
    this.#nodesPrefix = this.#pathJson('nodes').slice(0, -1);
    this.#partitionPrefixes = Object.fromEntries(
      partitions.map((name) => [name, this.#pathJson('channels', name).slice(0, -1)]),
    );
  }

  /** Applies one outcome's updates, all or none: nothing changes if a reducer fails. @throws REDUCER_FAILED, STATE_UNKNOWN_CHANNEL */
  applyUpdates(updates: AdmittedUpdates): AppliedUpdates {
    const merge = mergeUpdates(this.#channels, this.#table, updates, this.#admission);
    for (const write of merge.writes) this.#write(write);
    for (const [channel, value] of merge.aux) this.setField('aux', [channel], value, encodeValue(value));
    return { plainWrites: merge.plainWrites, isTransformed: merge.isTransformed };
  }

  /** The paths of channels that updates would write without a reducer (E5). Nothing is written. @throws STATE_UNKNOWN_CHANNEL */
  plainWritesOf(updates: AdmittedUpdates): readonly string[] {
    return plainWritesOf(this.#table, updates);
  }

  #write({ cell, partition, ops, value, items }: ChannelWrite): void {
    const { channels } = this.tree;
    const values = (channels[partition] ??= this.#addPartition(partition));
    this.#channels.touch(cell, items !== undefined);
    if (items === undefined) setOwn(values, cell.key, value);
    else grow(values, cell.key, items);
    for (const { kind, path, json } of ops) {
      const place =
        path.length === 1
          ? cell.pathJson(this.#partitionPrefixes[partition] as string)
          : this.#pathJson('channels', partition, ...path);
      this.#delta[kind](place, json);
    }
  }

  #addPartition(partition: string): PlainObject {
    this.#delta.set(this.#pathJson('channels', partition), '{}');
    return {};
  }

  /** Replaces a node's record. @param json - its JSON text */
  setNode(nodeId: string, record: NodeRecord, json: string): void {
    this.#channels.touchNode(
      nodeId,
      'output' in record || record.outputOfSteps !== undefined,
      record.status === 'failed',
    );
    setOwn(this.tree.nodes, nodeId, record);
    this.#delta.set(`${this.#nodesPrefix},${JSON.stringify(nodeId)}]`, json);
  }

  /**
   * Sets a field of a node's record, or a place inside it such as `['steps', '0']`. @throws INTERNAL the object around it does not exist
   */
  setNodeField(nodeId: string, field: string | readonly string[], value: unknown, json: string): void {
    const keys = typeof field === 'string' ? [field] : field;
    const parent = this.#parentIn(nodeId, keys);
    const key = keys.at(-1) as string;
    this.#channels.touchNode(nodeId, true, failureFields.includes(keys[0] as string));
    setOwn(parent, key, value);
    this.#delta.set(this.#pathJson('nodes', nodeId, ...keys), json);
  }

  /**
   * Deletes a field of a node's record, or a place inside it; no effect if it does not exist. @throws INTERNAL the object around it does
   * not exist
   */
  deleteNodeField(nodeId: string, field: string | readonly string[]): void {
    const keys = typeof field === 'string' ? [field] : field;
    const parent = this.#parentIn(nodeId, keys);
    const key = keys.at(-1) as string;
    if (!Object.hasOwn(parent, key)) return;
    this.#channels.touchNode(nodeId, true, failureFields.includes(keys[0] as string));
    delete parent[key];
    this.#delta.delete(this.#pathJson('nodes', nodeId, ...keys));
  }

  #parentIn(nodeId: string, keys: readonly string[]): PlainObject {
    let parent: unknown = this.tree.nodes;
    for (const key of [nodeId, ...keys.slice(0, -1)]) {
      if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) {
        throw new CairnError('INTERNAL', { reason: `node ${nodeId} has no place ${keys.join('.')}` });
      }
      parent = (parent as PlainObject)[key];
    }
    return parent as PlainObject;
  }

  /** Sets a field of the frame, or a place inside it. `keys` lead there from the field; missing objects are created. */
  setField(field: Field, keys: readonly string[], value: unknown, json: string): void {
    const path = [field, ...keys];
    let parent = this.tree as unknown as PlainObject;
    let depth = 0;
    while (depth < path.length - 1 && Object.hasOwn(parent, path[depth] as string)) {
      parent = parent[path[depth] as string] as PlainObject;
      depth += 1;
    }
    let whole = value;
    let text = json;
    for (let i = path.length - 1; i > depth; i--) {
      const key = path[i] as string;
      whole = setOwn({}, key, whole);
      text = `{${JSON.stringify(key)}:${jsonUnderKey(key, text)}}`;
    }
    setOwn(parent, path[depth] as string, whole);
    this.#delta.set(this.#pathJson(...path.slice(0, depth + 1)), text);
  }

  /** Deletes a field of the frame, or a place inside it; no effect if it does not exist. */
  deleteField(field: Field, keys: readonly string[] = []): void {
    const path = [field, ...keys];
    let parent = this.tree as unknown as PlainObject;
    for (const key of path.slice(0, -1)) {
      if (!Object.hasOwn(parent, key)) return;
      parent = parent[key] as PlainObject;
    }
    const key = path.at(-1) as string;
    if (!Object.hasOwn(parent, key)) return;
    delete parent[key];
    this.#delta.delete(this.#pathJson(...path));
  }

  #pathJson(...keys: readonly string[]): string {
    return JSON.stringify([...this.#path, ...keys]);
  }

  /** Opens a frozen view of the current state that records reads (E9). Later changes do not show in it. */
  openView(): OpenView {
    return new View(this.#channels, this.tree.spent, this.#codeNames);
  }

  /**
   * Hash of a channel's current value. The name is that of a channel (`scratch.messages`, `outputs.draft`, `input.topic`, `artifacts.x`),
   * of a place inside one (`scratch.stats.count`), or of a whole partition. The hash depends only on the value. For a list that has grown,
   * only the new items are hashed.
   * @throws STATE_UNKNOWN_CHANNEL
   */
  versionOf(channel: string): string {
    return this.#channels.versionOf(channel, now);
  }

  /** The whole state as plain frozen data: see {@link plainState}. */
  plainState(): StateView {
    const part = (area: Area): PlainObject => {
      const plain: PlainObject = {};
      for (const key of this.#channels.keys(area, now)) {
        const value = this.#channels.read(area, key, now);
        if (value !== absent) setOwn(plain, this.#codeNames.inCode(area, key), value);
      }
      return Object.freeze(plain);
    };
    return Object.freeze({
      input: this.#channels.input,
      scratch: part('scratch'),
      artifacts: part('artifacts'),
      diagnostics: part('diagnostics'),
      outputs: part('outputs'),
      failures: part('failures') as Readonly<Record<string, Error>>,
    });
  }
}

/** Appends to a list in place. A frozen list was handed out, so it is copied first. */
function grow(channels: PlainObject, key: string, items: readonly unknown[]): void {
  const list = channels[key] as unknown[];
  if (Object.isFrozen(list)) setOwn(channels, key, [...list, ...items]);
  else for (const item of items) list.push(item);
}

/** A frame's state as plain frozen data, for results. Later changes do not show in it. */
export function plainState(frame: Frame): StateView {
  return frame.plainState();
}

/** The paths of channels that updates would write without a reducer (E5). Nothing is written. @throws STATE_UNKNOWN_CHANNEL */
export function previewUpdates(frame: Frame, updates: AdmittedUpdates): readonly string[] {
  return frame.plainWritesOf(updates);
}
