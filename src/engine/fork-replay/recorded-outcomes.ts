/** What a fork's ancestors recorded after its fork point, by place and in recorded order (X2). */
import { setOwn } from '../../state/values/plain-object.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import type { DrawnKind, DrawnValue, SavedOutcome, NodeRecord, RunTree, StepRecord } from '../../state/tree.ts';
import { CairnError } from '../../errors.ts';
import type { HistoryEntry } from '../../history/load/lineage.ts';
import { decodeCheckpoint, resolveValues } from '../../history/stored/checkpoint.ts';
import { loadState, readHistory, readLineage } from '../../history/load/load.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import type { Activation } from '../live-run/loop.ts';
import type { Recorded, EngineEnvironment, RunCore } from '../live-run/run-core.ts';
import { outcomeKeyOf, pathKeyOf, recordPathOf, stepKeyOf, treePathOf } from '../visit-records/node-path.ts';
import { placeIn, placeOf } from '../visit-records/visit-part.ts';

// What the ops of a checkpoint tell about the outcomes in it (X2).

export type Op = readonly [kind: string, path: readonly string[], value?: unknown];

/** The values that were set at a place as a whole, in order. */
function setsOf(ops: readonly Op[], at: readonly string[]): readonly unknown[] {
  return ops
    .filter(([kind, path]) => kind === 's' && path.length === at.length && startsWith(path, at))
    .map(([, , value]) => value);
}

/** Whether a record is that of a visit's end. */
function isSettled({ status, visits = 1 }: NodeRecord, visit: number): boolean {
  return status !== 'started' && status !== 'waiting' && visits === visit;
}

function startsWith(path: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((key, index) => path[index] === key);
}

/** The updates contained in a delta of plain sets and appends. */
function updatesOf(ops: readonly Op[], frame: readonly string[]): SavedOutcome['updates'] {
  const updates: Record<string, Record<string, unknown>> = {};
  const prefix = [...frame, 'channels'];
  for (const [kind, path, value] of ops) {
    if (!startsWith(path, prefix) || kind === 'd') continue;
    const [partition, ...keys] = path.slice(prefix.length) as [string, ...string[]];
    let target = (updates[partition] ??= {});
    for (const key of keys.slice(0, -1)) {
      if (!Object.hasOwn(target, key)) setOwn(target, key, {});
      target = target[key] as Record<string, unknown>;
    }
    setOwn(target, keys.at(-1) as string, value);
  }
  return Object.keys(updates).length === 0 ? undefined : updates;
}

/** Values that a visit drew, by kind. */
type Drawn = Partial<Record<DrawnKind, DrawnValue[]>>;

/** Adds the values that a checkpoint's ops say were drawn, by the place of the node's record. */
function gatherDrawn(drawing: Map<string, Drawn>, ops: readonly Op[]): void {
  for (const [kind, path, value] of ops) {
    if (path.at(-2) !== 'drawn' || (kind !== 's' && kind !== 'a')) continue;
    const key = pathKeyOf(path.slice(0, -2));
    const drawn = drawing.get(key) ?? {};
    const name = path.at(-1) as DrawnKind;
    drawn[name] = [...(kind === 'a' ? (drawn[name] ?? []) : []), ...(value as readonly DrawnValue[])];
    drawing.set(key, drawn);
  }
}

/** An outcome as its node gave it, and the record of its visit. */
export type ReadOutcome = SavedOutcome & { readonly record: NodeRecord };

/** Updates as nodes gave them, by {@link outcomeKeyOf}. */
type UpdatesByOutcome = Readonly<Record<string, SavedOutcome['updates']>>;

/** Kinds of changes after which an announced effect is no longer open. */
const endings: ReadonlySet<string> = new Set(['settle', 'replay', 'step', 'withdraw']);

/** An index of the changes of all ancestors. Outcomes themselves are read on demand. */
export class RecordedOutcomes {
  readonly #env: EngineEnvironment;
  /** Ends of visits and steps. */
  readonly #ended = new Map<string, Recorded[]>();
  /** Effects announced after the fork point whose end is not recorded, by place. */
  readonly #announced = new Map<string, Recorded>();
  readonly #paths = new Set<string>();
  /** Nodes that made calls. */
  readonly #callers = new Set<string>();
  /** What visits drew, by place. */
  readonly #drawn = new Map<string, Drawn>();
  readonly #reads = new Map<string, readonly (readonly string[])[]>();
  readonly #states = new Map<string, Promise<RunTree>>();
  /** The head up to which each ancestor was read, by run id. */
  readonly #heads = new Map<string, number>();
  /** The runs that the fork points belong to, nearest first. */
  readonly ancestors: readonly RunRow[];

  /** The nearest ancestor whose records cannot all be read. What it did is not known. */
  unread: RunRow | undefined;

  private constructor(env: EngineEnvironment, ancestors: readonly RunRow[]) {
    this.#env = env;
    this.ancestors = ancestors;
  }

  /** @param reopened - visits of the run that are due again though they had begun before its fork point */
  static async load(
    env: EngineEnvironment,
    run: RunRow,
    reopened: RunTree['reopened'] = {},
  ): Promise<RecordedOutcomes> {
    const lineage = await readLineage(env.store, run);
    const ancestors = lineage.filter((part) => part.run.runId !== run.runId).toReversed();
    const outcomes = new RecordedOutcomes(
      env,
      ancestors.map((part) => part.run),
    );
    for (const [index, { run: ancestor, upTo }] of ancestors.entries()) {
      const from = (ancestors[index + 1]?.upTo ?? -1) + 1;
      await outcomes.#indexReopened(ancestor, from, upTo, reopened);
      await outcomes.#index(ancestor, upTo, ancestor.head);
    }
    return outcomes;
  }

  /** Reads what an ancestor had recorded of reopened visits before it was forked. @param from - the first seq of its own */
  async #indexReopened(
    ancestor: RunRow,
    from: number,
    upTo: number,
    reopened: NonNullable<RunTree['reopened']>,
  ): Promise<void> {
    const visits = Object.entries(reopened).filter(([, visit]) => visit.from <= upTo && visit.to >= from);
    if (visits.length === 0) return;
    const first = Math.max(from, Math.min(...visits.map(([, visit]) => visit.from)));
    const last = Math.min(upTo, Math.max(...visits.map(([, visit]) => visit.to)));
    await this.#index(ancestor, first - 1, last, ([id = ''], seq) => {
      const visit = Object.hasOwn(reopened, id) ? reopened[id] : undefined;
      return visit !== undefined && visit.from <= seq && seq <= visit.to;
    });
  }

  /** Reads what an ancestor has recorded since it was read last. Returns whether a worker has it now. */
  async refresh(ancestor: RunRow): Promise<{ readonly isClaimed: boolean }> {
    const found = await this.#env.store.readRun(ancestor);
    const known = this.#heads.get(ancestor.runId) ?? ancestor.head;
    if (found !== undefined && found.head > known) await this.#index(ancestor, known, found.head);
    return { isClaimed: found?.claim !== undefined };
  }

  async #index(
    ancestor: RunRow,
    after: number,
    head: number,
    counts: (node: readonly string[], seq: number) => boolean = () => true,
  ): Promise<void> {
    this.#heads.set(ancestor.runId, head);
    const ended = new Map<string, Recorded[]>();
    // What four eyes decided there is decided anew here, where somebody else has made the fork (W8).
    const decided = new Set<string>();
    const drawing = new Map<string, Drawn>();
    for await (const { checkpoint } of this.#readable(ancestor, after, head)) {
      gatherDrawn(drawing, checkpoint.ops as readonly Op[]);
      const nths = new Map<string, number>();
      for (const [index, part] of checkpoint.change.entries()) {
        const { kind, node, step } = part;
        if (node === undefined || !counts(node, checkpoint.seq)) continue;
        this.#noteCaller(node, step);
        if (kind === 'settle') this.#noteDrawn(drawing, node, part);
        const place = placeOf(node, part, step);
        this.#noteAnnounced({ run: ancestor, seq: checkpoint.seq, nth: 0, index, part }, place);
        const isOfNode = kind === 'settle' || kind === 'replay';
        if (!isOfNode && (step === undefined || (kind !== 'step' && kind !== 'answer'))) continue;
        if (isOfNode) this.#paths.add(pathKeyOf(node));
        if (part.fourEyes === true)
          for (const [length] of node.entries()) decided.add(pathKeyOf(node.slice(0, length + 1)));
        if (part.fourEyes === true || (isOfNode && decided.delete(pathKeyOf(node)))) continue;
        const key = isOfNode ? pathKeyOf(node) : stepKeyOf(node, step as string);
        const nth = nths.get(key) ?? 0;
        nths.set(key, nth + 1);
        push(ended, place, { run: ancestor, seq: checkpoint.seq, nth, index, part });
      }
    }
    for (const [place, list] of ended) this.#add(place, list);
  }

  #noteCaller(node: readonly string[], step: string | undefined): void {
    if (step !== undefined) this.#callers.add(pathKeyOf(node));
    for (let length = 1; length < node.length; length += 1) this.#callers.add(pathKeyOf(node.slice(0, length)));
  }

  /** What was drawn until a visit settled is what it drew. */
  #noteDrawn(drawing: Map<string, Drawn>, node: readonly string[], part: ChangePart): void {
    const key = pathKeyOf(recordPathOf(node));
    const drawn = drawing.get(key);
    if (drawn === undefined) return;
    drawing.delete(key);
    this.#drawn.set(placeOf(node, part), drawn);
  }

  /** Whether a node made calls in an ancestor. */
  madeCalls(path: readonly string[]): boolean {
    return this.#callers.has(pathKeyOf(path));
  }

  /** What a visit drew in an ancestor. */
  drawnBy(activation: Activation): Drawn | undefined {
    return this.#drawn.get(placeIn(activation));
  }

  #noteAnnounced(recorded: Recorded, place: string): void {
    const { kind, status } = recorded.part;
    const known = this.#announced.get(place);
    if (known !== undefined && known.run !== recorded.run) return;
    if (kind === 'intent') this.#announced.set(place, recorded);
    else if (endings.has(kind) || (kind === 'told' && status === 'not begun')) this.#announced.delete(place);
  }

  /** Adds records of a place. Only those of the nearest ancestor that has any count. */
  #add(place: string, list: readonly Recorded[]): void {
    this.#reads.clear();
    const known = this.#ended.get(place);
    const rank = (recorded: Recorded | undefined): number =>
      recorded === undefined ? this.ancestors.length : this.ancestors.indexOf(recorded.run);
    const [before, now] = [rank(known?.[0]), rank(list[0])];
    if (before === now) known?.push(...list);
    else if (now < before) this.#ended.set(place, [...list]);
  }

  /** An ancestor's history after a seq, as far as it is undamaged. */
  async *#readable(ancestor: RunRow, after: number, head: number): AsyncGenerator<HistoryEntry> {
    try {
      yield* readHistory(this.#env.store, { ...ancestor, head }, { from: after + 1, to: head });
    } catch (error) {
      if (!CairnError.is(error, 'CHECKPOINT_CORRUPT') && !CairnError.is(error, 'CHECKPOINT_VERSION_UNKNOWN'))
        throw error;
      this.unread ??= ancestor;
    }
  }

  /** Whether any visit of a node is recorded. */
  hasNode(path: readonly string[]): boolean {
    return this.#paths.has(pathKeyOf(path));
  }

  /** The recorded ends of a visit in the run's own graph. */
  ofVisit(path: readonly string[], visit: number): readonly Recorded[] {
    return this.#ended.get(placeOf(path, { visit })) ?? [];
  }

  /** The recorded ends of a visit, or of a step of it. */
  of(activation: Activation, step?: string): readonly Recorded[] {
    return this.#ended.get(placeIn(activation, step)) ?? [];
  }

  /** All recorded ends of a visit's steps, before and after its saves. */
  stepsOf(activation: Activation): readonly Recorded[] {
    const prefix = `${placeIn(activation)} `;
    return [...this.#ended].flatMap(([place, list]) => (place.startsWith(prefix) ? list : []));
  }

  /**
   * What a visit has read in a run: nothing, then what it had read by the end of its first step, and so on, up to what it had read by the
   * end of its last.
   */
  readsIn(activation: Activation, run: RunRow): readonly (readonly string[])[] {
    const place = `${placeIn(activation)} ${run.key}`;
    const known = this.#reads.get(place);
    if (known !== undefined) return known;
    const parts = this.stepsOf(activation)
      .filter((recorded) => recorded.run === run && recorded.part.reads !== undefined)
      .toSorted((a, b) => a.seq - b.seq || a.index - b.index);
    const reads: (readonly string[])[] = [[]];
    for (const { part } of parts) reads.push([...(reads.at(-1) ?? []), ...(part.reads ?? [])]);
    this.#reads.set(place, reads);
    return reads;
  }

  /** The announcement of an effect whose end is not recorded. */
  announced(activation: Activation, step?: string): Recorded | undefined {
    return this.#announced.get(placeIn(activation, step));
  }

  /** The state of an ancestor at a seq; default: as far as it was read. */
  stateOf(run: RunRow, seq: number = this.#heads.get(run.runId) ?? run.head): Promise<RunTree> {
    const key = `${seq} ${run.runId}`;
    const { store, blobs } = this.#env;
    let state = this.#states.get(key);
    if (state === undefined) this.#states.set(key, (state = loadTree(store, blobs, run, seq)));
    return state;
  }

  /** Reads an outcome as the node gave it: output, updates and routing. Undefined if the record is not complete. */
  async readOutcome(recorded: Recorded): Promise<ReadOutcome | undefined> {
    const { ops, nodeUpdates } = await this.#read(recorded);
    const path = recorded.part.node as readonly string[];
    const visit = recorded.part.visit ?? 1;
    const record = setsOf(ops, recordPathOf(path)).findLast((value) => isSettled(value as NodeRecord, visit)) as
      | NodeRecord
      | undefined;
    // An outcome recorded together with its steps was written field by field; its steps are taken over one by one instead.
    if (record === undefined) return undefined;
    const updates =
      nodeUpdates === undefined ? updatesOf(ops, treePathOf(path)) : nodeUpdates[outcomeKeyOf(path, visit)];
    return {
      record,
      ...('output' in record ? { output: record.output } : {}),
      ...(updates === undefined ? {} : { updates }),
      ...(record.goto === undefined ? {} : { goto: record.goto }),
      ...(record.verdict === undefined ? {} : { verdict: record.verdict }),
    };
  }

  async readStep(recorded: Recorded): Promise<StepRecord | undefined> {
    const { ops } = await this.#read(recorded);
    const path = recorded.part.node as readonly string[];
    const steps = setsOf(ops, [...recordPathOf(path), 'steps', recorded.part.step as string]) as readonly StepRecord[];
    return steps.filter(({ status }) => status === 'done' || status === 'failed')[recorded.nth];
  }

  async #read({
    run,
    seq,
  }: Recorded): Promise<{ readonly ops: readonly Op[]; readonly nodeUpdates: UpdatesByOutcome | undefined }> {
    const { store, blobs, tenant } = this.#env;
    const [row] = await store.readCheckpoints(run, { from: seq, to: seq });
    if (row === undefined) return { ops: [], nodeUpdates: undefined };
    const checkpoint = decodeCheckpoint({ runKey: run.key, seq }, undefined, row);
    const { ops, nodeUpdates } = checkpoint;
    const read = checkpoint.hasTags ? await resolveValues(blobs, tenant, { ops, nodeUpdates }) : { ops, nodeUpdates };
    return read as { ops: readonly Op[]; nodeUpdates: UpdatesByOutcome | undefined };
  }
}

async function loadTree(store: Store, blobs: BlobStore, run: RunRow, seq: number): Promise<RunTree> {
  return (await loadState(store, blobs, { ...run, head: Math.max(run.head, seq) }, seq)).root;
}

function push(table: Map<string, Recorded[]>, key: string, recorded: Recorded): void {
  const list = table.get(key);
  if (list === undefined) table.set(key, [recorded]);
  else list.push(recorded);
}

// Decides in which order a fork takes outcomes over: in recorded order, also within one checkpoint (X2.2).

/** An activation, and the record that it takes over. */
export interface PendingTake {
  readonly activation: Activation;
  readonly recorded: Recorded;
}

/** The activations that have something to take over. */
export class RecordedOrder {
  readonly #core: RunCore;
  readonly #outcomes: RecordedOutcomes;
  readonly #pending: PendingTake[] = [];

  constructor(core: RunCore, outcomes: RecordedOutcomes) {
    this.#core = core;
    this.#outcomes = outcomes;
  }

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  add(pending: PendingTake): void {
    this.#pending.push(pending);
  }

  takeAll(): readonly PendingTake[] {
    return this.#pending.splice(0);
  }

  /** The earliest recorded one that does not have to wait for another. */
  next(): PendingTake | undefined {
    this.#pending.sort((a, b) => a.recorded.seq - b.recorded.seq || a.recorded.index - b.recorded.index);
    const index = this.#pending.findIndex((pending) => !this.#isPreceded(pending));
    return index < 0 ? undefined : this.#pending.splice(index, 1)[0];
  }

  /** Whether an activation recorded earlier is running now. Activations that contain this one do not count, since they wait for it. */
  #isPreceded({ activation, recorded }: PendingTake): boolean {
    for (const frameRun of this.#core.frames()) {
      for (const other of frameRun.activations.values()) {
        if (other === activation || !other.isBusy || other.phase === 'waiting' || this.#waits(other)) continue;
        if (other.path.every((part, index) => activation.path[index] === part)) continue;
        const [own] = this.#outcomes.of(other);
        if (own !== undefined && own.run === recorded.run && isBefore(own, recorded)) return true;
      }
    }
    return false;
  }

  #waits(activation: Activation): boolean {
    return this.#pending.some((pending) => pending.activation === activation);
  }
}

function isBefore(one: Recorded, other: Recorded): boolean {
  return one.seq < other.seq || (one.seq === other.seq && one.index < other.index);
}
