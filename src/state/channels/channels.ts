/** The channels, outputs and failures of a live frame: their current values, their values in open views, and their versions. */
import { Cell, type Past, absent, absentVersion, foldItems, listSeed, versionOfValue } from './versions.ts';
import { CairnError } from '../../errors.ts';
import { partitions, type Partition } from '../../graph/contracts/node-contract.ts';
import type { ChannelTable } from './run-reducer.ts';
import { deepFreeze } from '../values/freeze.ts';
import { hashParts } from '../values/canonical-text.ts';
import { getOwn } from '../values/plain-object.ts';
import { readPath } from '../values/path.ts';
import type { FrameTree, NodeRecord, StepOrder, StepRecord } from '../tree.ts';

// Earlier states of cells, in memory only while an open view needs them.

export class PastLog {
  #lastId = 0;
  /** Ids of open views, oldest first. */
  readonly #open = new Set<number>();
  /** Oldest first. The entries of one cell are in the same order. */
  #entries: Past[] = [];
  #head = 0;

  get isWatched(): boolean {
    return this.#open.size > 0;
  }

  /** Whether no value has changed since the oldest open view was opened. */
  get isEmpty(): boolean {
    return this.#head === this.#entries.length;
  }

  open(): number {
    this.#lastId += 1;
    this.#open.add(this.#lastId);
    return this.#lastId;
  }

  close(viewId: number): void {
    if (!this.#open.delete(viewId) || this.isEmpty) return;
    const oldest = this.#open.size === 0 ? Number.POSITIVE_INFINITY : (this.#open.values().next().value as number);
    for (let entry = this.#entries[this.#head]; entry !== undefined && entry.viewId < oldest;) {
      dropFirst(entry.cell);
      this.#head += 1;
      entry = this.#entries[this.#head];
    }
    if (this.#head < 1_000 && !this.isEmpty) return;
    this.#entries = this.#entries.slice(this.#head);
    this.#head = 0;
  }

  /** Whether a cell's state must be copied before it changes: a view is open that no entry of the cell serves. */
  needs(cell: Cell): boolean {
    return this.isWatched && (cell.lastPast?.viewId ?? 0) < this.#lastId;
  }

  /** Keeps a cell's state before it changes. `length`: the value is a list that will grow, with this length. */
  note(cell: Cell, value: unknown, length: number): void {
    const { fold, version } = cell;
    const entry: Past = { cell, viewId: this.#lastId, value, length, version, fold, next: undefined };
    if (cell.lastPast === undefined) cell.firstPast = entry;
    else cell.lastPast.next = entry;
    cell.lastPast = entry;
    this.#entries.push(entry);
  }

  /** The cell's state for a view; undefined if that is its current state. */
  find(cell: Cell, viewId: number): Past | undefined {
    let entry = cell.firstPast;
    while (entry !== undefined && entry.viewId < viewId) entry = entry.next;
    return entry;
  }
}

function dropFirst(cell: Cell): void {
  cell.firstPast = cell.firstPast?.next;
  if (cell.firstPast === undefined) cell.lastPast = undefined;
}

/** Areas whose keys are node ids. */
type NodeArea = 'outputs' | 'failures';

/** An area of the state: a partition, or the outputs or failures of nodes. */
export type Area = Partition | NodeArea;

const isNodeArea = (area: string): area is NodeArea => area === 'outputs' || area === 'failures';

/** The id of a view that sees the current state. */
export const now: number = Number.POSITIVE_INFINITY;

export class Channels {
  readonly tree: FrameTree;
  readonly log: PastLog = new PastLog();
  readonly #table: ChannelTable;
  readonly #outputNames: ReadonlyMap<string, string>;
  readonly #cells: Readonly<Record<Area, Map<string, Cell>>>;
  /** Whether some node has failed, or a view has read failures. */
  #hasFailures: boolean;
  /** Counts changes. Cached versions of whole areas are valid while it stays the same. */
  #changes = 0;
  readonly #wholes = new Map<string, { readonly changes: number; readonly version: string }>();
  readonly #inputVersions = new Map<string, string>();

  constructor(tree: FrameTree, table: ChannelTable, outputNames: ReadonlyMap<string, string>) {
    this.tree = tree;
    this.#table = table;
    this.#outputNames = outputNames;
    this.#cells = {
      scratch: new Map(),
      artifacts: new Map(),
      diagnostics: new Map(),
      outputs: new Map(),
      failures: new Map(),
    };
    this.#hasFailures = Object.values(tree.nodes).some(({ status }) => status === 'failed');
  }

  get input(): unknown {
    return deepFreeze(this.tree.input);
  }

  cell(area: Area, key: string): Cell {
    const cells = this.#cells[area];
    let cell = cells.get(key);
    if (cell === undefined) {
      if (area === 'failures') this.#hasFailures = true;
      const isGrowing = !isNodeArea(area) && this.#table[area].get(key)?.isGrowing === true;
      cells.set(key, (cell = new Cell(area, key, isGrowing)));
    }
    return cell;
  }

  /** Must be called before a cell changes. `willGrow`: its list will be appended to in place. */
  touch(cell: Cell, willGrow = false): void {
    this.#changes += 1;
    if (this.log.needs(cell)) {
      const value = this.raw(cell.area as Area, cell.key);
      if (willGrow) this.#noteLength(cell, value as readonly unknown[]);
      else this.log.note(cell, this.#handOut(cell, value), -1);
    }
    if (willGrow) cell.version = undefined;
    else cell.forget();
  }

  #noteLength(cell: Cell, list: readonly unknown[]): void {
    const slice = Object.isFrozen(list) ? list : cell.readySlice(list.length);
    if (slice === undefined) this.log.note(cell, list, list.length);
    else this.log.note(cell, slice, -1);
  }

  /** Must be called before a node's record changes. Says whether its output and its failure will be visible. */
  touchNode(nodeId: string, showsOutput: boolean, showsFailure: boolean): void {
    this.#changes += 1;
    this.#touchVisible('outputs', nodeId, showsOutput);
    // Failures are tracked only when there are any, because few nodes fail and few views read failures.
    this.#hasFailures ||= showsFailure;
    if (this.#hasFailures) this.#touchVisible('failures', nodeId, showsFailure);
  }

  #touchVisible(area: NodeArea, nodeId: string, willShow: boolean): void {
    const isKnown = this.#cells[area].has(nodeId);
    if (isKnown || (this.log.isWatched && (willShow || this.raw(area, nodeId) !== absent)))
      this.touch(this.cell(area, nodeId));
  }

  /** The value in the tree, or {@link absent}. Growing lists are returned themselves, not copies. */
  raw(area: Area, key: string): unknown {
    if (area === 'outputs') return this.#rawOutput(key);
    if (area === 'failures') return this.#rawFailure(key);
    const channels = this.tree.channels[area];
    return channels !== undefined && Object.hasOwn(channels, key) ? channels[key] : absent;
  }

  #rawOutput(nodeId: string): unknown {
    const record = getOwn(this.tree.nodes, nodeId) as NodeRecord | undefined;
    if (record === undefined || !showsOutput(record)) return absent;
    if (record.outputOfSteps === undefined) return record.output;
    return (this.cell('outputs', nodeId).assembled ??= outputsOfSteps(record, record.outputOfSteps));
  }

  #rawFailure(nodeId: string): unknown {
    const record = getOwn(this.tree.nodes, nodeId) as NodeRecord | undefined;
    return record?.status === 'failed' ? record.error : absent;
  }

  /** A channel's value as a view sees it, frozen, or {@link absent}. Artifacts include outputs shown under their `outputAs` names. */
  read(area: Area, key: string, viewId: number): unknown {
    const value = this.#readCell(area, key, viewId);
    if (value !== absent || area !== 'artifacts') return value;
    const nodeId = this.#outputNames.get(key);
    return nodeId === undefined ? absent : this.#readCell('outputs', nodeId, viewId);
  }

  #readCell(area: Area, key: string, viewId: number): unknown {
    const past = this.#past(area, key, viewId);
    if (past === undefined) {
      const value = this.raw(area, key);
      return typeof value === 'object' ? this.#handOut(this.cell(area, key), value) : value;
    }
    return Cell.valueOf(past);
  }

  #past(area: Area, key: string, viewId: number): Past | undefined {
    if (viewId === now || this.log.isEmpty) return undefined;
    const cell = this.#cells[area].get(key);
    return cell?.firstPast === undefined ? undefined : this.log.find(cell, viewId);
  }

  /** A value that may be handed out: growing lists are copied, all others are frozen in place. */
  #handOut(cell: Cell, value: unknown): unknown {
    if (cell.isGrowing && Array.isArray(value) && !Object.isFrozen(value)) return cell.sliceOf(value);
    return deepFreeze(value);
  }

  /** The keys that a view sees. Keys of a frame are never removed, although outputs may disappear. */
  keys(area: Area, viewId: number): string[] {
    const keys = Object.keys(isNodeArea(area) ? this.tree.nodes : (this.tree.channels[area] ?? {}));
    if (area === 'artifacts') for (const name of this.#outputNames.keys()) if (!keys.includes(name)) keys.push(name);
    if (!isNodeArea(area) && area !== 'artifacts' && (viewId === now || this.log.isEmpty)) return keys;
    return keys.filter((key) => this.read(area, key, viewId) !== absent);
  }

  /** The version of a channel as a view sees it. @throws STATE_UNKNOWN_CHANNEL */
  versionOf(name: string, viewId: number): string {
    const dot = name.indexOf('.');
    const area = dot < 0 ? name : name.slice(0, dot);
    if (area === 'input') return this.#inputVersion(name, dot < 0 ? undefined : name.slice(dot + 1));
    if (!isNodeArea(area) && !partitions.includes(area as Partition)) {
      throw new CairnError('STATE_UNKNOWN_CHANNEL', { channel: name });
    }
    if (dot < 0) return this.#wholeVersion(area as Area, viewId);
    return this.#versionOfKey(area as Area, name.slice(dot + 1), viewId);
  }

  #inputVersion(name: string, key: string | undefined): string {
    let version = this.#inputVersions.get(name);
    if (version === undefined) {
      const { input } = this;
      version = key === undefined ? versionOfValue(input) : versionBelow(input, key);
      this.#inputVersions.set(name, version);
    }
    return version;
  }

  #wholeVersion(area: Area, viewId: number): string {
    const isNow = viewId === now || this.log.isEmpty;
    const known = this.#wholes.get(area);
    if (isNow && known?.changes === this.#changes) return known.version;
    const parts = this.keys(area, viewId).flatMap((key) => [key, this.#versionOfKey(area, key, viewId)]);
    const version = hashParts(parts);
    if (isNow) this.#wholes.set(area, { changes: this.#changes, version });
    return version;
  }

  #versionOfKey(area: Area, key: string, viewId: number): string {
    const version = this.#cellVersion(area, key, viewId);
    if (version !== undefined) return version;
    const nodeId = area === 'artifacts' ? this.#outputNames.get(key) : undefined;
    if (nodeId !== undefined) return this.#cellVersion('outputs', nodeId, viewId) ?? absentVersion;
    const dot = key.indexOf('.');
    if (dot < 0) return absentVersion;
    // No channel has this whole name, so it is a place inside a channel.
    const top = this.read(area, key.slice(0, dot), viewId);
    return top === absent ? absentVersion : versionBelow(top, key.slice(dot + 1));
  }

  #cellVersion(area: Area, key: string, viewId: number): string | undefined {
    const past = this.#past(area, key, viewId);
    if (past !== undefined) return past.value === absent ? undefined : (past.version ??= versionOfPast(past));
    const value = this.raw(area, key);
    if (value === absent) return undefined;
    const cell = this.cell(area, key);
    return (cell.version ??= Array.isArray(value) ? cell.foldList(value) : versionOfValue(value));
  }
}

/** Whether the record holds an output. A failed visit keeps none. */
function showsOutput(record: NodeRecord): boolean {
  if (record.outputOfSteps !== undefined) return record.status === 'completed' || record.status === 'skipped';
  return record.status !== 'failed' && 'output' in record;
}

/** The outputs of a node's steps as one frozen list, for a node whose output is that list. */
export function outputsOfSteps({ steps = {} }: NodeRecord, order: StepOrder): readonly unknown[] {
  const called =
    order === true ? Object.values(steps) : order.map((key) => getOwn(steps, key) as StepRecord | undefined);
  const done = called.filter((step) => step?.status === 'done') as readonly StepRecord[];
  return Object.freeze(done.map((step) => deepFreeze(step.output)));
}

function versionBelow(value: unknown, dottedPath: string): string {
  const whole = readPath(value, [dottedPath], absent);
  const found = whole === absent ? readPath(value, dottedPath.split('.'), absent) : whole;
  return found === absent ? absentVersion : versionOfValue(found);
}

function versionOfPast(past: Past): string {
  if (!Array.isArray(past.value)) return versionOfValue(past.value);
  const length = past.length < 0 ? past.value.length : past.length;
  const { count, hash } = past.fold ?? { count: 0, hash: listSeed };
  return foldItems(hash, past.value, count, length);
}
