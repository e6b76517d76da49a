/** A fork takes over what its ancestors recorded for activations of equal input (X2). */
import { CairnError } from '../../errors.ts';
import type { Amounts } from '../../graph/amounts.ts';
import { keySeedOf } from '../../history/stored/key-seed.ts';
import type { RunRow } from '../../ports/store.ts';
import { hashParts } from '../../state/values/hash.ts';
import type { Intent, KeptOutcome, NodeRecord, StepRecord } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';
import { admitKept } from '../admit/admit-kept.ts';
import { isEffect } from '../run/effect.ts';
import { openNodeOf, openStepOf, originOf } from './open-originals.ts';
import { bookSpared, costOf } from '../record/account.ts';
import { openRecord } from '../record/open-record.ts';
import { pathKeyOf, stepKeyOf } from '../record/tree-path.ts';
import { RecordedOutcomes } from './recorded-outcomes.ts';
import type {
  DueStep,
  Offer,
  OpenEffort,
  OriginalEnd,
  Recorded,
  RecordedPast,
  TakenStep,
} from '../run/recorded-past.ts';
import type { RunCore } from '../run/run-core.ts';
import { effectKey } from '../record/step-keys.ts';
import { inputHashOf, settleFailed } from '../settle/settle.ts';
import { settleOutcome } from '../settle/settle-outcome.ts';
import { intentKeyOf, isTaken, takenRecordOf } from './taken-records.ts';

/** What became of a due activation's recorded outcome. */
type Found = { readonly recorded: Recorded; readonly outcome: KeptOutcome & { readonly record: NodeRecord } };

interface Pending {
  readonly activation: Activation;
  readonly recorded: Recorded;
}

/** What a fork may take over, and what it has taken. */
export class ReplaySource implements RecordedPast {
  readonly #core: RunCore;
  readonly #outcomes: RecordedOutcomes;
  readonly #isPatched: boolean | undefined;
  readonly #pending: Pending[] = [];
  #isTaking = false;
  #asking = 0;

  private constructor(core: RunCore, outcomes: RecordedOutcomes, isPatched: boolean | undefined) {
    this.#core = core;
    this.#outcomes = outcomes;
    this.#isPatched = isPatched;
  }

  /**
   * @param fork - the run whose ancestors are read: the core's own, or one that is only previewed
   * @param isPatched - whether a fork that is only previewed changes anything. Undefined: its own first checkpoint tells.
   */
  static async load(core: RunCore, fork: RunRow, isPatched?: boolean): Promise<ReplaySource> {
    return new ReplaySource(core, await RecordedOutcomes.load(core.env, fork), isPatched);
  }

  /** Whether takeovers are under way. */
  get isBusy(): boolean {
    return this.#isTaking || this.#asking > 0 || this.#pending.length > 0;
  }

  /** Whether some ancestor recorded this place at all. */
  hasRecord(path: readonly string[]): boolean {
    return this.#outcomes.hasNode(path);
  }

  /** What a visit cost where it was last recorded. */
  costOf(path: readonly string[], visit: number): Amounts | undefined {
    const last = this.#outcomes.ofVisit(path, visit).at(-1);
    return last === undefined ? undefined : costOf(last.part);
  }

  /** Whether an answer is recorded that a question of this visit would take without asking. */
  hasAnswer(activation: Activation): boolean {
    const known = activation.frameRun.openRecordOf(activation.node)?.steps ?? {};
    return this.#outcomes.stepsOf(activation).some((recorded) => {
      const { step = '', by, effect, kind } = recorded.part;
      const last = this.#core.root.replayed?.[stepKeyOf(activation.path, step)];
      return (
        (kind === 'answer' || effect === 'human') &&
        by !== 'timer' &&
        !Object.hasOwn(known, step) &&
        !isTaken(recorded, last) &&
        this.#hasEqualInput(activation, recorded, { key: step, effect: 'human', hash: undefined })
      );
    });
  }

  offer(activation: Activation, what: 'any' | 'announced'): Offer | undefined {
    const { node } = activation;
    if (what === 'announced') return asOffer(this.#announced(activation));
    if (node.effect === 'read' || (node.effect === 'pure' && this.#core.root.rerunPure === true)) return undefined;
    const recorded = this.#find(activation) ?? this.#announced(activation);
    if (recorded === undefined) {
      // Where the original's records are damaged, an effect of it may have happened: it is asked about, not run in silence (X3).
      const { unread } = this.#outcomes;
      return unread === undefined || !isEffect(node) ? undefined : { unread };
    }
    const isFailure = recorded.part.status !== undefined && recorded.part.status !== 'completed';
    return isFailure && !isEffect(node) ? undefined : { recorded };
  }

  take(activation: Activation, offer: Offer): void {
    if ('unread' in offer) return this.#doubt(activation, offer.unread, { status: 'started' });
    this.#pending.push({ activation, recorded: offer.recorded });
    this.#core.loop.requestTurn();
  }

  /** The first record of this place not yet taken whose input is equal to the activation's. */
  #find(activation: Activation): Recorded | undefined {
    const last = this.#core.root.replayed?.[pathKeyOf(activation.path)];
    for (const recorded of this.#outcomes.ofNode(activation)) {
      if (isTaken(recorded, last)) continue;
      if (recorded.part.hash === hashWith(activation, recorded.part.reads)) return recorded;
    }
    return undefined;
  }

  /** Where the original announced an effect of this place, and nothing of its end. */
  #announced(activation: Activation, step?: string): Recorded | undefined {
    if (step === undefined && !isEffect(activation.node)) return undefined;
    const announced = this.#outcomes.announced(activation, step);
    const taken = this.#core.root.replayed?.[intentKeyOf(activation.path, step)];
    return announced === undefined || isTaken(announced, taken) ? undefined : announced;
  }

  /** Takes over the earliest recorded of those that wait for no one recorded before them. */
  pump(): void {
    if (this.#isTaking || this.#pending.length === 0) return;
    if (this.#core.standing.isStopping) {
      for (const { activation } of this.#pending.splice(0)) this.#core.agenda.forget(activation);
      return;
    }
    this.#pending.sort((a, b) => a.recorded.seq - b.recorded.seq || a.recorded.index - b.recorded.index);
    const index = this.#pending.findIndex((pending) => !this.#isPreceded(pending));
    if (index < 0) return;
    const [next] = this.#pending.splice(index, 1) as [Pending];
    this.#isTaking = true;
    this.#take(next).then(
      () => {
        this.#isTaking = false;
        this.#core.loop.requestTurn();
      },
      (error: unknown) => this.#core.loop.fail(error),
    );
  }

  async #take({ activation, recorded }: Pending): Promise<void> {
    if (recorded.part.kind === 'intent') return this.#takeOpen(activation, recorded);
    const outcome = await this.#outcomes.readOutcome(recorded);
    if (activation.isOver) return;
    if (this.#core.standing.isStopping) return this.#core.agenda.forget(activation);
    if (outcome === undefined) return this.#core.loop.begin(activation);
    await this.#settle(activation, { recorded, outcome });
  }

  /** An effect that is open in the original is open here too; one that is not, or had another input, goes on as it would have. */
  async #takeOpen(activation: Activation, announced: Recorded): Promise<void> {
    const record = await openNodeOf(this.#core, this.#outcomes, activation, announced, this.#isPatched);
    if (activation.isOver) return;
    if (this.#core.standing.isStopping) return this.#core.agenda.forget(activation);
    const own = activation.frameRun.openRecordOf(activation.node);
    if (record === undefined && own?.intent !== undefined) return this.#core.loop.judge(activation);
    if (record === undefined) return this.#core.loop.begin(activation);
    // It is the same attempt that goes on.
    activation.attempt = record.attempt ?? 1;
    bookSpared(this.#core, activation, undefined, record);
    this.noteTaken({ place: intentKeyOf(activation.path), from: takenRecordOf(announced) });
    this.#doubt(activation, announced.run, record);
  }

  /** Whether an activation recorded before the candidate runs now; those it is part of do not count, since they wait for it. */
  #isPreceded({ activation, recorded }: Pending): boolean {
    for (const frameRun of this.#core.frames()) {
      for (const other of frameRun.activations.values()) {
        if (other === activation || !other.isBusy || other.phase === 'left' || this.#waits(other)) continue;
        if (other.path.every((part, index) => activation.path[index] === part)) continue;
        const [own] = this.#outcomes.ofNode(other);
        if (own !== undefined && own.run === recorded.run && isBefore(own, recorded)) return true;
      }
    }
    return false;
  }

  #waits(activation: Activation): boolean {
    return this.#pending.some((pending) => pending.activation === activation);
  }

  async #settle(activation: Activation, { recorded, outcome }: Found): Promise<void> {
    const from = { runId: recorded.run.runId, seq: recorded.seq };
    const input = { hash: recorded.part.hash ?? '', reads: recorded.part.reads };
    const { record } = outcome;
    const note = (): void => {
      bookSpared(this.#core, activation, undefined, record);
      this.noteTaken({ place: pathKeyOf(activation.path), from: takenRecordOf(recorded) });
    };
    if (record.status === 'cancelled' || (record.status === 'failed' && record.fired === undefined)) {
      note();
      return this.#doubt(activation, recorded.run, record);
    }
    const source = { from, input, note };
    if (record.status === 'failed') return settleFailed(this.#core, activation, record.error, undefined, source);
    await settleOutcome(this.#core, activation, admitKept(this.#core, activation, outcome), source);
  }

  /** An effect that failed, was cancelled or is open in the original may have happened there: in doubt under the original's key, never run again unasked (X3). */
  #doubt(
    activation: Activation,
    original: RunRow,
    record: Pick<NodeRecord, 'attempt' | 'applied' | 'intent' | 'status'>,
  ): void {
    const intent = intentFrom(record, activation.keyFor(keySeedOf(original)));
    const open: NodeRecord = {
      ...openRecord(activation),
      view: activation.viewSeq,
      intent,
      ...(record.applied === undefined ? {} : { applied: record.applied }),
    };
    activation.frameRun.frame.setNode(activation.node.id, open, JSON.stringify(open));
    this.#core.loop.judge(activation);
  }

  originalEnd(effort: OpenEffort, intent: Intent): Promise<OriginalEnd | undefined> {
    return this.#orFail(() => this.#readOriginalEnd(effort, intent));
  }

  async #readOriginalEnd(effort: OpenEffort, intent: Intent): Promise<OriginalEnd | undefined> {
    const { activation, stepKey } = effort;
    const origin = originOf(this.#outcomes, intent, (keySeed) => effort.keyIn(keySeed));
    if (origin === undefined) return undefined;
    const isClaimed = await this.#isClaimed(origin);
    const end = stepKey === undefined ? this.#nodeEnd(activation) : await this.#stepEnd(activation, stepKey);
    if (end !== undefined) return end;
    if (!isClaimed) return undefined;
    if (!activation.isOver) this.#refuse(origin, activation);
    return { kind: 'refused' };
  }

  /** It completed since; or it failed, and that is not taken yet: its effect may have happened, whatever was decided before the fork point. */
  #nodeEnd(activation: Activation): OriginalEnd | undefined {
    const records = this.#outcomes.ofNode(activation);
    const last = this.#core.root.replayed?.[pathKeyOf(activation.path)];
    const recorded =
      records.find(({ part }) => part.status === undefined) ?? records.findLast((record) => !isTaken(record, last));
    return recorded === undefined ? undefined : { kind: 'node', offer: { recorded } };
  }

  /** The like of {@link #nodeEnd} for a step. */
  async #stepEnd(activation: Activation, key: string): Promise<OriginalEnd | undefined> {
    const records = this.#outcomes.ofStep(activation, key);
    const place = stepKeyOf(activation.path, key);
    const last = this.#core.root.replayed?.[place];
    const recorded =
      records.find(({ part }) => part.status === undefined) ?? records.findLast((record) => !isTaken(record, last));
    const step = recorded === undefined ? undefined : await this.#outcomes.readStep(recorded);
    if (recorded === undefined || step === undefined) return undefined;
    if (step.status === 'done') return { kind: 'step', output: step.output, cost: step };
    const doubt = openedFrom(activation, key, recorded, step);
    return {
      kind: 'failedStep',
      taken: { place, from: takenRecordOf(recorded), output: undefined, by: undefined, doubt, cost: step },
    };
  }

  /** What an ancestor recorded cannot be read now: that is no failure of the node that asks. The run is left, and goes on later. */
  async #orFail<Value>(read: () => Promise<Value>): Promise<Value> {
    try {
      return await read();
    } catch (error) {
      this.#core.loop.fail(error);
      return new Promise<Value>(() => {});
    }
  }

  async #isClaimed(origin: RunRow): Promise<boolean> {
    this.#asking += 1;
    try {
      return (await this.#outcomes.refresh(origin)).isClaimed;
    } finally {
      this.#asking -= 1;
    }
  }

  #refuse({ runId }: RunRow, { path }: Activation): void {
    this.#core.loop.fail(new CairnError('ORIGINAL_CLAIMED', { runId, node: path.join('/') }));
  }

  /** What is recorded of a step of equal input, if its class lets a fork take it over. */
  stepOutcome(activation: Activation, step: DueStep): Promise<TakenStep | undefined> {
    return this.#orFail(() => this.#readStepOutcome(activation, step));
  }

  async #readStepOutcome(activation: Activation, step: DueStep): Promise<TakenStep | undefined> {
    const { key, effect } = step;
    if (effect === 'read' || (effect === 'pure' && this.#core.root.rerunPure === true)) return undefined;
    const place = stepKeyOf(activation.path, key);
    const last = this.#core.root.replayed?.[place];
    const open = this.#outcomes
      .ofStep(activation, key)
      .filter((entry) => !isTaken(entry, last))
      .filter((entry) => this.#hasEqualInput(activation, entry, step));
    const recorded = open.find(({ part }) => part.status === undefined) ?? (isEffect({ effect }) ? open[0] : undefined);
    if (recorded === undefined)
      return (await this.#readOpenStep(activation, step)) ?? this.#unreadStep(activation, step, place);
    const ended = await this.#outcomes.readStep(recorded);
    if (ended === undefined) return undefined;
    const from = takenRecordOf(recorded);
    if (ended.status === 'done') return { place, from, output: ended.output, by: ended.by, cost: ended };
    if (ended.status !== 'failed') return undefined;
    const doubt = openedFrom(activation, key, recorded, ended);
    return { place, from, output: undefined, by: undefined, doubt, cost: ended };
  }

  openStep(activation: Activation, step: DueStep): Promise<TakenStep | undefined> {
    return this.#orFail(() => this.#readOpenStep(activation, step));
  }

  async #readOpenStep(activation: Activation, step: DueStep): Promise<TakenStep | undefined> {
    const { key, effect, hash } = step;
    const announced = isEffect({ effect }) ? this.#announced(activation, key) : undefined;
    if (announced === undefined) return undefined;
    const open = await openStepOf(this.#outcomes, activation, key, hash, announced);
    if (open === undefined) return undefined;
    const { spent: _, spared: __, ...doubt } = open;
    const from = takenRecordOf(announced);
    return { place: intentKeyOf(activation.path, key), from, output: undefined, by: undefined, doubt, cost: open };
  }

  /** Where the original's records are damaged: the like of what is offered for a node. */
  #unreadStep(activation: Activation, { key, effect }: DueStep, place: string): TakenStep | undefined {
    const { unread } = this.#outcomes;
    if (unread === undefined || !isEffect({ effect })) return undefined;
    const intent: Intent = { key: effectKey(activation, key, keySeedOf(unread)), attempt: 1, deadlineAt: 0 };
    const doubt: StepRecord = { kind: 'step', status: 'started', effect, intent };
    return { place, from: [unread.runId, unread.head], output: undefined, by: undefined, doubt, cost: {} };
  }

  /** Each record is taken once, after a crash too: call it together with what records the step. */
  noteTaken({ place, from }: Pick<TakenStep, 'place' | 'from'>): void {
    this.#core.draft.set(['replayed', place], from, JSON.stringify(from));
  }

  /**
   * A step that was given no input has its activation's: all that the recorded activation read by its end. Of one that has not ended it is
   * not known what it read, which a pure step may well have done: it is run again, and what is not pure is compared by what is known.
   */
  #hasEqualInput(activation: Activation, { run, seq, part }: Recorded, { effect, hash }: DueStep): boolean {
    if (hash !== undefined) return part.hash === hash;
    const settled = this.#outcomes.ofNode(activation).find((other) => other.run === run && other.seq >= seq);
    if (settled !== undefined) return settled.part.hash === hashWith(activation, settled.part.reads);
    if (effect === 'pure' && activation.node.reads === undefined) return false;
    return part.hash === inputHashOf(activation).hash;
  }
}

function isBefore(one: Recorded, other: Recorded): boolean {
  return one.seq < other.seq || (one.seq === other.seq && one.index < other.index);
}

function asOffer(recorded: Recorded | undefined): Offer | undefined {
  return recorded === undefined ? undefined : { recorded };
}

/** The intent of an effect that is open there; one that has ended there waits for no deadline. */
function intentFrom({ intent, status, attempt }: Partial<NodeRecord>, key: string): Intent {
  if (intent !== undefined && status !== 'failed' && status !== 'cancelled') return intent;
  return { key: intent?.key ?? key, attempt: attempt ?? 1, deadlineAt: 0 };
}

/** A step that failed in the original, as one that was begun there under its key. */
function openedFrom(activation: Activation, key: string, { run }: Recorded, failed: StepRecord): StepRecord {
  const intent: Intent = {
    key: failed.intent?.key ?? effectKey(activation, key, keySeedOf(run)),
    attempt: failed.attempt ?? 1,
    deadlineAt: 0,
  };
  const { error: _, spent: __, spared: ___, ...step } = failed;
  return { ...step, status: 'started', intent };
}

/** The activation's input hash, over the channels that the recorded activation read. */
function hashWith(activation: Activation, reads: readonly string[] | undefined): string {
  const { node, view } = activation;
  const channels = node.reads ?? reads;
  if (channels === undefined || channels.length === 0) return node.definitionHash;
  return hashParts([node.definitionHash, ...view.versions(channels).flat()]);
}
