/**
 * A fork takes over what its ancestors recorded (X2). Everything that is due goes one way, a node's visit, a step of it, or a question:
 * {@link ReplaySource.offer} finds the record of equal input that was not taken yet, it is read, and it is an end that stands here too, or
 * an effect that may have happened there and is in doubt here (X3). Child runs, lists and recorded events are not taken over: the function
 * that made them runs again, finds its calls here, and makes them anew.
 */
import { pathKeyOf, stepKeyOf } from '../visit-records/node-path.ts';
import { openRecord } from '../visit-records/node-record.ts';
import { bookSpared, costOf } from '../visit-records/account.ts';
import {
  type Due,
  type Recorded,
  type RecordedEnd,
  type TakenRecord,
  isEffect,
  type Offer,
  type OriginalEnd,
  type RecordedPast,
  type TakenStep,
  type RunCore,
} from '../live-run/run-core.ts';
import { CairnError } from '../../errors.ts';
import type { Amounts } from '../../graph/amounts.ts';
import { keySeedOf } from '../../history/stored/key-seed.ts';
import type { RunRow } from '../../ports/store.ts';
import type { DrawnKind, DrawnValue, Intent, NodeRecord, NoEffects, StepRecord, WaitRecord } from '../../state/tree.ts';
import { admitSaved } from '../validate/admit-saved.ts';
import { NodeEffort } from '../visit-records/intent.ts';
import type { Activation } from '../live-run/loop.ts';
import { otherModelOf } from '../live-run/other-model.ts';
import type { Payer } from '../live-run/attempt-scope.ts';
import { hashOver, hasInputHash, settleFailed } from '../settle/settle.ts';
import { settleOutcome } from '../settle/settle-outcome.ts';
import { openIn, originOf } from './open-originals.ts';
import { RecordedOrder, type PendingTake, RecordedOutcomes, type ReadOutcome } from './recorded-outcomes.ts';

// Records which ancestors' records a fork has taken over. Each is taken over once, and earlier ones not any more, also after a crash (X2).

/** Key in `replayed` for the end of something. */
function endKeyOf({ activation: { path }, stepKey }: Pick<Due, 'activation' | 'stepKey'>): string {
  return stepKey === undefined ? pathKeyOf(path) : stepKeyOf(path, stepKey);
}

/**
 * Key in `replayed` for an announcement. It has its own key because it may be in the same checkpoint as the outcome of the visit before.
 */
function intentKeyOf(due: Pick<Due, 'activation' | 'stepKey'>): string {
  return `intent ${endKeyOf(due)}`;
}

function takenRecordOf({ run, seq, nth }: Recorded): TakenRecord {
  return nth === 0 ? [run.runId, seq] : [run.runId, seq, nth];
}

function isTaken({ run, seq, nth }: Recorded, last: TakenRecord | undefined): boolean {
  if (run.runId !== last?.[0]) return false;
  return seq < last[1] || (seq === last[1] && nth <= (last[2] ?? 0));
}

/** What a fork may take over, and what it has taken over. */
export class ReplaySource implements RecordedPast {
  readonly #core: RunCore;
  readonly #outcomes: RecordedOutcomes;
  readonly #isPatched: boolean | undefined;
  readonly #order: RecordedOrder;
  #isTaking = false;
  #asking = 0;

  private constructor(core: RunCore, outcomes: RecordedOutcomes, isPatched: boolean | undefined) {
    this.#core = core;
    this.#outcomes = outcomes;
    this.#isPatched = isPatched;
    this.#order = new RecordedOrder(core, outcomes);
  }

  /**
   * Loads the index.
   * @param fork - the run whose ancestors are read: the core's own, or one that is only previewed
   * @param isPatched - whether a previewed fork changes anything. Undefined: its own first checkpoint tells
   */
  static async load(core: RunCore, fork: RunRow, isPatched?: boolean): Promise<ReplaySource> {
    return new ReplaySource(core, await RecordedOutcomes.load(core.env, fork, core.root.reopened), isPatched);
  }

  get isBusy(): boolean {
    return this.#isTaking || this.#asking > 0 || !this.#order.isEmpty;
  }

  hasRecord(path: readonly string[]): boolean {
    return this.#outcomes.hasNode(path);
  }

  costOf(path: readonly string[], visit: number): Amounts | undefined {
    const last = this.#outcomes.ofVisit(path, visit).at(-1);
    return last === undefined ? undefined : costOf(last.part);
  }

  callsOf(activation: Activation): readonly string[] {
    const isReused = ({ effect = 'pure' }: Recorded['part']): boolean =>
      effect !== 'read' && (effect !== 'pure' || !this.rerunsPure(activation));
    const ended = this.#outcomes.stepsOf(activation).filter(({ part }) => isSuccess(part) && isReused(part));
    return [...new Set(ended.map(({ part }) => part.step ?? ''))];
  }

  hasCall(activation: Activation, stepKey: string): boolean {
    return this.#outcomes.of(activation, stepKey).length > 0;
  }

  hasAnswer(activation: Activation): boolean {
    const known = activation.frameRun.openRecordOf(activation.node)?.steps ?? {};
    return this.#outcomes.stepsOf(activation).some(({ part: { step: stepKey = '', by, effect, kind } }) => {
      if (Object.hasOwn(known, stepKey) || by === 'timer' || (kind !== 'answer' && effect !== 'human')) return false;
      return this.#ended({ activation, stepKey, effect: 'human', ownInputHash: undefined }) !== undefined;
    });
  }

  offer(due: Due, what: 'any' | 'announced'): Offer | undefined {
    if (this.#core.root.noEffects !== undefined) {
      const recorded = this.#runsAnew(due) ? undefined : this.#ended(due);
      return recorded && { recorded };
    }
    if (what === 'any' && this.#runsAnew(due)) return undefined;
    const recorded = (what === 'any' ? this.#ended(due) : undefined) ?? this.#announced(due);
    return recorded === undefined ? (what === 'any' ? this.#unread(due) : undefined) : { recorded };
  }

  /** A node that asks is run again under other code: its function tells whether it asks the same, and takes the answer then (W1.4). */
  #runsAnew(due: Due): boolean {
    const { effect, stepKey, activation } = due;
    const { noEffects } = this.#core.root;
    if (noEffects?.upTo !== undefined && this.#isBefore(due, noEffects.upTo)) return false;
    if (noEffects !== undefined && this.#isJudgedInside(due, noEffects)) return true;
    if (effect === 'read') return noEffects === undefined;
    return (effect === 'pure' || (effect === 'human' && stepKey === undefined)) && this.rerunsPure(activation);
  }

  /** In a fork that cannot act: whether what it does is not taken as a whole, since a change may be inside, or models are asked anew. */
  #isJudgedInside({ stepKey, activation, isModelCall }: Due, noEffects: NoEffects): boolean {
    const { undeclared, resample } = noEffects;
    if (isModelCall === true) return resample === true || otherModelOf(noEffects, activation.path) !== undefined;
    if (stepKey !== undefined) return false;
    const { node, path } = activation;
    if (node.isDeclared === false && undeclared !== 'run') return false;
    return node.subgraph !== undefined || node.implementation.isComposed === true || this.madeCalls(path);
  }

  #isBefore(due: Due, [seq, index]: NonNullable<NoEffects['upTo']>): boolean {
    const recorded = this.#ended(due);
    return recorded !== undefined && (recorded.seq < seq || (recorded.seq === seq && recorded.index < index));
  }

  madeCalls(path: readonly string[]): boolean {
    return this.#outcomes.madeCalls(path);
  }

  drawnBy(activation: Activation, kind: DrawnKind): readonly DrawnValue[] {
    return this.#outcomes.drawnBy(activation)?.[kind] ?? [];
  }

  endOfWait(
    activation: Activation,
    { step: stepKey = '' }: WaitRecord,
    asked: string | undefined,
    exceptBy: string,
  ): RecordedEnd | undefined {
    const place = endKeyOf({ activation, stepKey });
    const last = this.#core.root.replayed?.[place];
    const recorded = this.#outcomes
      .of(activation, stepKey)
      .find((one) => !isTaken(one, last) && one.part.by !== exceptBy && (one.part.asked ?? asked) === asked);
    if (recorded === undefined) return undefined;
    const from = takenRecordOf(recorded);
    return {
      seq: recorded.seq,
      index: recorded.index,
      read: () => this.#outcomes.readStep(recorded),
      note: () => this.#core.draft.set(['replayed', place], from, JSON.stringify(from)),
    };
  }

  rerunsPure({ path }: Activation): boolean {
    const { rerunPure = false, noEffects } = this.#core.root;
    if (noEffects?.rerun?.includes(path.join('/')) === true) return true;
    return typeof rerunPure === 'boolean' ? rerunPure : rerunPure.includes(path[0] ?? '');
  }

  /** The first record with equal input that was not taken over yet: one of success if there is any; for an effect, also one of failure. */
  #ended(
    due: Pick<Due, 'activation' | 'stepKey' | 'effect' | 'ownInputHash' | 'questionHashes'>,
  ): Recorded | undefined {
    const { activation, stepKey } = due;
    const last = this.#core.root.replayed?.[endKeyOf(due)];
    const candidates = this.#outcomes
      .of(activation, stepKey)
      .filter((recorded) => !isTaken(recorded, last) && this.#hasEqualInput(due, recorded));
    const success = candidates.find(({ part }) => isSuccess(part));
    // Where nothing may act, a recorded failure is an end like any other.
    if (this.#core.root.noEffects !== undefined)
      return success ?? candidates.find(({ part }) => part.status !== 'cancelled');
    return success ?? (isEffect(due) ? candidates[0] : undefined);
  }

  /** The original's announcement of an effect whose end is not recorded. */
  #announced(due: Due): Recorded | undefined {
    if (!isEffect(due)) return undefined;
    const announced = this.#outcomes.announced(due.activation, due.stepKey);
    const taken = this.#core.root.replayed?.[intentKeyOf(due)];
    return announced === undefined || isTaken(announced, taken) ? undefined : announced;
  }

  /** If the original's records are damaged, an effect may have happened there. A person is asked; it is not run silently (X3). */
  #unread(due: Due): Offer | undefined {
    const { unread } = this.#outcomes;
    return unread === undefined || !isEffect(due) ? undefined : { unread };
  }

  /**
   * Whether a record had equal input. A step without input of its own has its activation's: everything that the recorded activation read by
   * its end. If that has not ended, it is not known what it read: a pure step is then run again, and any other is compared by what is
   * known.
   */
  #hasEqualInput(
    due: Pick<Due, 'activation' | 'stepKey' | 'effect' | 'ownInputHash' | 'questionHashes'>,
    recorded: Recorded,
  ): boolean {
    const { activation, stepKey, effect, ownInputHash, questionHashes = [] } = due;
    const { part } = recorded;
    if (questionHashes.length > 0 && part.asked !== undefined && !questionHashes.includes(part.asked)) return false;
    if (stepKey === undefined) return part.hash === hashWith(activation, part.reads);
    if (ownInputHash !== undefined) return part.hash === ownInputHash;
    const settled = this.#endOf(activation, recorded);
    if (settled !== undefined) return settled.part.hash === hashWith(activation, settled.part.reads);
    if (effect === 'pure' && activation.node.reads === undefined) return false;
    return hasInputHash(activation, part.hash, this.#outcomes.readsIn(activation, recorded.run));
  }

  /** The end of the recorded visit that a step belongs to. */
  #endOf(activation: Activation, { run, seq }: Recorded): Recorded | undefined {
    return this.#outcomes.of(activation).find((other) => other.run === run && other.seq >= seq);
  }

  /** What the recorded visit had read by its end, or has read so far. */
  #readsOf(activation: Activation, recorded: Recorded): readonly string[] {
    const settled = this.#endOf(activation, recorded);
    return (settled === undefined ? this.#outcomes.readsIn(activation, recorded.run).at(-1) : settled.part.reads) ?? [];
  }

  take(activation: Activation, offer: Offer): void {
    if ('unread' in offer) return this.#doubt(activation, offer.unread, { status: 'started' });
    this.#order.add({ activation, recorded: offer.recorded });
    this.#core.loop.requestTurn();
  }

  pump(): void {
    if (this.#isTaking || this.#order.isEmpty) return;
    if (this.#core.standing.isStopping) {
      for (const { activation } of this.#order.takeAll()) this.#core.agenda.forget(activation);
      return;
    }
    const next = this.#order.next();
    if (next === undefined) return;
    this.#isTaking = true;
    this.#takeNode(next).then(
      () => {
        this.#isTaking = false;
        this.#core.loop.requestTurn();
      },
      (error: unknown) => this.#core.loop.fail(error),
    );
  }

  async #takeNode({ activation, recorded }: PendingTake): Promise<void> {
    const isAnnounced = recorded.part.kind === 'intent';
    const open = isAnnounced ? await this.#openThere(new NodeEffort(activation), recorded) : undefined;
    const ended = isAnnounced ? undefined : await this.#outcomes.readOutcome(recorded);
    if (activation.isOver) return;
    const { standing, agenda, loop } = this.#core;
    if (standing.isStopping) return agenda.forget(activation);
    if (ended !== undefined) return this.#settle(activation, recorded, ended);
    if (open !== undefined) {
      // The same attempt continues.
      activation.attempt = open.attempt ?? 1;
      this.#note(activation, undefined, open, intentKeyOf({ activation, stepKey: undefined }), takenRecordOf(recorded));
      return this.#doubt(activation, recorded.run, open as NodeRecord);
    }
    // It is not open there, or was started with other input, so it proceeds as usual.
    const hasBegun = activation.frameRun.openRecordOf(activation.node)?.intent !== undefined;
    if (isAnnounced && hasBegun) loop.judge(activation);
    else loop.begin(activation);
  }

  async #settle(activation: Activation, recorded: Recorded, outcome: ReadOutcome): Promise<void> {
    const { record } = outcome;
    const { run, seq, part } = recorded;
    const place = endKeyOf({ activation, stepKey: undefined });
    const note = (): void => this.#note(activation, undefined, record, place, takenRecordOf(recorded));
    const isEnd = record.fired !== undefined || this.#core.root.noEffects !== undefined;
    if (record.status === 'cancelled' || (record.status === 'failed' && !isEnd)) {
      note();
      return this.#doubt(activation, run, record);
    }
    const source = { from: { runId: run.runId, seq }, input: { hash: part.hash ?? '', reads: part.reads }, note };
    if (record.status === 'failed') return settleFailed(this.#core, activation, record.error, undefined, source);
    await settleOutcome(this.#core, activation, admitSaved(this.#core, activation, outcome), source);
  }

  /** Marks an effect as in doubt that may have happened in the original. It keeps that one's key and is never repeated unasked (X3). */
  #doubt(activation: Activation, original: RunRow, there: NodeRecord): void {
    const { applied } = there;
    const record: NodeRecord = {
      ...openRecord(activation),
      view: activation.viewSeq,
      intent: intentFrom(new NodeEffort(activation), original, there),
      ...(applied === undefined ? {} : { applied }),
    };
    activation.frameRun.frame.setNode(activation.node.id, record, JSON.stringify(record));
    this.#core.loop.judge(activation);
  }

  readStep(due: Due, offer: Offer): Promise<TakenStep | undefined> {
    return this.#orFail(() => this.#readStep(due, offer));
  }

  async #readStep(due: Due, offer: Offer): Promise<TakenStep | undefined> {
    if ('unread' in offer) {
      const { unread } = offer;
      const begun: StepRecord = { kind: 'step', status: 'started', effect: due.effect };
      const step = { ...begun, intent: intentFrom(due, unread, begun) };
      return { place: endKeyOf(due), from: [unread.runId, unread.head], step };
    }
    const { recorded } = offer;
    const from = takenRecordOf(recorded);
    if (recorded.part.kind === 'intent') {
      const open = (await this.#openThere(due, recorded)) as StepRecord | undefined;
      const unread = open === undefined ? this.#unread(due) : undefined;
      if (unread !== undefined) return this.#readStep(due, unread);
      return open && { place: intentKeyOf(due), from, step: open };
    }
    const ended = await this.#outcomes.readStep(recorded);
    const takesFailures = this.#core.root.noEffects !== undefined;
    if (ended === undefined || (ended.status === 'failed' && !isEffect(due) && !takesFailures)) return undefined;
    const reads = this.#readsOf(due.activation, recorded);
    if (ended.status === 'done' || takesFailures) return { place: endKeyOf(due), from, step: ended, reads };
    const { error: _, ...there } = ended;
    const step: StepRecord = { ...there, status: 'started', intent: intentFrom(due, recorded.run, ended) };
    return { place: endKeyOf(due), from, step, reads };
  }

  noteStep(activation: Activation, payer: Payer | undefined, { step, place, from, reads = [] }: TakenStep): void {
    activation.noteEarlierReads(reads);
    this.#note(activation, payer, step, place, from);
  }

  #note(
    activation: Activation,
    payer: Payer | undefined,
    there: NodeRecord | StepRecord,
    place: string,
    from: TakenRecord,
  ): void {
    bookSpared(this.#core, activation, payer, there);
    this.#core.draft.set(['replayed', place], from, JSON.stringify(from));
  }

  #openThere(due: Due, announced: Recorded): Promise<NodeRecord | StepRecord | undefined> {
    return openIn(this.#core, this.#outcomes, due, announced, this.#isPatched);
  }

  originalEnd(due: Due, intent: Intent): Promise<OriginalEnd | undefined> {
    return this.#orFail(() => this.#originalEnd(due, intent));
  }

  async #originalEnd(due: Due, intent: Intent): Promise<OriginalEnd | undefined> {
    const origin = originOf(this.#outcomes, due, intent);
    if (origin === undefined) return undefined;
    const isClaimed = await this.#isClaimed(origin);
    const recorded = this.#endSince(due);
    if (recorded !== undefined && due.stepKey === undefined) return { kind: 'node', offer: { recorded } };
    const taken = recorded === undefined ? undefined : await this.#readStep(due, { recorded });
    if (taken !== undefined) return { kind: 'step', taken };
    if (!isClaimed) return undefined;
    const { activation } = due;
    const data = { runId: origin.runId, node: activation.path.join('/') };
    if (!activation.isOver) this.#core.loop.fail(new CairnError('ORIGINAL_CLAIMED', data));
    return { kind: 'refused' };
  }

  /**
   * The end that the original has recorded since: a completion, or a failure that was not taken over yet. After a failure the effect may
   * have happened, whatever was decided before the fork point.
   */
  #endSince(due: Due): Recorded | undefined {
    const records = this.#outcomes.of(due.activation, due.stepKey);
    const last = this.#core.root.replayed?.[endKeyOf(due)];
    return records.find(({ part }) => isSuccess(part)) ?? records.findLast((record) => !isTaken(record, last));
  }

  async #isClaimed(origin: RunRow): Promise<boolean> {
    this.#asking += 1;
    try {
      return (await this.#outcomes.refresh(origin)).isClaimed;
    } finally {
      this.#asking -= 1;
    }
  }

  /** Reads an ancestor's record. If that fails, it is not a failure of the node: the run stops here and can go on later. */
  async #orFail<Value>(read: () => Promise<Value>): Promise<Value> {
    try {
      return await read();
    } catch (error) {
      this.#core.loop.fail(error);
      return new Promise<Value>(() => {});
    }
  }
}

function isSuccess({ status }: Recorded['part']): boolean {
  return status === undefined || status === 'completed';
}

/**
 * The intent under which an original's effect is in doubt here: its own if it is open there. An effect that has ended needs no deadline.
 */
function intentFrom(due: Due, original: RunRow, { status, intent, attempt = 1 }: NodeRecord | StepRecord): Intent {
  const isOpen = status === 'started' || status === 'waiting';
  if (isOpen && intent !== undefined) return intent;
  return { key: intent?.key ?? due.keyIn(keySeedOf(original)), attempt, deadlineAt: 0 };
}

/** The activation's input hash over the channels that the recorded activation read. */
function hashWith(activation: Activation, reads: readonly string[] = []): string {
  return hashOver(activation, activation.node.reads ?? reads);
}
