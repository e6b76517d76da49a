/** The intent of an effect: durable before the effect starts, and withdrawn if the effect does not start (E3, E4). */
import type { Reconciliation, StepOptions } from '../../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../../graph/contracts/retry-policy.ts';
import type { BegunAgain, ChangePart } from '../../history/stored/change.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { Account, Intent, NodeRecord, StepRecord, ToldEnd } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import { elapsedMs, type Moment, momentOf } from '../live-run/standing.ts';
import { type Due, type RunCore, isEffect } from '../live-run/run-core.ts';
import { enterDraws } from './drawn-values.ts';
import { visitOf } from './visit-part.ts';
import { openRecord } from './node-record.ts';
import { accountOf } from './account.ts';
import { effectKey, recordedStep } from './call-keys.ts';
import { deleteStep, ensureSteps, setStep } from './step-record.ts';

// An effort is something that is tried, and may have to be tried again: a node's visit, or one of its steps. Both have the same life:
// announced, started, withdrawn, retried, in doubt, judged. They differ in how they are recorded, which is what this file defines (X, E6).

/** What the tree holds about an effort that has started and not ended. */
export interface EffortFields {
  /** Number of the attempt. Absent: 1. */
  readonly attempt?: number;
  readonly intent?: Intent;
  /** `no`: the failed attempt certainly had no effect. `ended`: it ended by itself and reported failure. */
  readonly applied?: 'no' | 'ended';
  /** A person's decision, when the effort was in doubt. */
  readonly decision?: unknown;
  /** When the next attempt may start, in epoch ms. */
  readonly retryAt?: number;
  /** How it ended, as told by a process that had lost the run. */
  readonly told?: ToldEnd;
}

/** One effort, whether or not it has started. */
export interface Effort extends Due {
  /** Its place, for parts of a change. */
  readonly place: Pick<ChangePart, 'node' | 'step' | 'visit' | 'outer' | 'saves'>;
  /** Its place, for messages. */
  readonly name: string;
  readonly isIdempotent: boolean;
  readonly retry: RetryPolicy | undefined;
  /** Its own timeout in ms. */
  readonly timeoutMs: number | undefined;
  /** What it does, in words for a person who is asked about it. */
  readonly about: string | undefined;
  /** Whether it asks a model and changes nothing: nobody is asked about it if it is in doubt and not called again. */
  readonly isModelCall: boolean;
  /** Finds out whether the effect with a key happened. */
  readonly reconcile: StepOptions['reconcile'] | undefined;
  /** What is recorded of it at the moment, if anything. */
  fields(): EffortFields | undefined;
  /** Its announcement, as recorded. */
  readonly intent: Intent | undefined;
  /** Records it as started, with these fields in place of the present ones. */
  write(fields: EffortFields): void;
  /** Restores the record from before it was announced. Undefined: there was none. */
  restore(before: EffortFields | undefined): void;
}

/** Takes back what a person decided about an effort in doubt, before they are asked again. */
export function forgetDecision(effort: Effort): void {
  const { decision: _, ...undecided } = effort.fields() ?? {};
  effort.restore(undecided);
}

/** The fields of an effort that are present in a record. */
function fieldsOf(record: NodeRecord | StepRecord | undefined): EffortFields | undefined {
  if (record === undefined) return undefined;
  const { attempt, intent, applied, decision, retryAt, told } = record;
  return {
    ...(attempt === undefined ? {} : { attempt }),
    ...(intent === undefined ? {} : { intent }),
    ...(applied === undefined ? {} : { applied }),
    ...(decision === undefined ? {} : { decision }),
    ...(retryAt === undefined ? {} : { retryAt }),
    ...(told === undefined ? {} : { told }),
  };
}

/** A node's visit as an effort. */
export class NodeEffort implements Effort {
  readonly activation: Activation;
  readonly stepKey = undefined;
  readonly ownInputHash = undefined;
  readonly about = undefined;

  constructor(activation: Activation) {
    this.activation = activation;
  }

  get reconcile(): Effort['reconcile'] {
    const { activation } = this;
    const { node, view } = activation;
    const { implementation, config } = node;
    if (implementation.reconcile === undefined) return undefined;
    return (args) =>
      implementation.reconcile?.({ ...args, config, state: view.state, signal: activation.signal }) as Reconciliation;
  }

  get place(): Effort['place'] {
    return { node: this.activation.path, ...visitOf(this.activation) };
  }
  get name(): string {
    return this.activation.path.join('/');
  }
  get effect(): string {
    return this.activation.node.effect;
  }
  get isIdempotent(): boolean {
    return this.activation.node.idempotent;
  }
  get isModelCall(): boolean {
    return this.activation.node.implementation.isModelCall === true;
  }
  get retry(): RetryPolicy | undefined {
    return this.activation.node.retry;
  }
  get timeoutMs(): number | undefined {
    return this.activation.node.timeoutMs;
  }

  fields(): EffortFields | undefined {
    return fieldsOf(this.#record);
  }

  get intent(): Intent | undefined {
    return this.#record?.intent;
  }

  get #record(): NodeRecord | undefined {
    return this.activation.frameRun.openRecordOf(this.activation.node);
  }

  write(fields: EffortFields): void {
    const { activation } = this;
    const { frame } = activation.frameRun;
    const { id } = activation.node;
    const previous = this.#record;
    if (previous?.steps !== undefined) {
      // The steps stay unchanged; only these fields are written.
      for (const [name, value] of Object.entries(fields)) frame.setNodeField(id, name, value, JSON.stringify(value));
      return;
    }
    // If the next attempt's predecessor certainly had no effect, it sees the current state; otherwise the state that the predecessor saw
    // (E9).
    const isAnew = fields.retryAt !== undefined && (fields.intent === undefined || fields.applied === 'no');
    const view = previous?.view ?? activation.viewSeq;
    const record: NodeRecord = { ...openRecord(activation), ...(isAnew ? {} : { view }), ...fields };
    // All fields are plain JSON, except a person's decision.
    const json = fields.decision === undefined ? JSON.stringify(record) : encodeValue(record);
    frame.setNode(id, record, json);
  }

  restore(before: EffortFields | undefined): void {
    const restored: NodeRecord = { ...(this.#record as NodeRecord) };
    for (const name of ['intent', 'applied', 'decision', 'told'] as const) delete restored[name];
    // The visit keeps the number of its current attempt.
    const { attempt: _, ...doubt } = before ?? {};
    Object.assign(restored, doubt);
    this.activation.frameRun.frame.setNode(this.activation.node.id, restored, encodeValue(restored));
  }

  keyIn(keySeed: string): string {
    return this.activation.keyFor(keySeed);
  }
}

/** One call of `ctx.step` as an effort; all its attempts share it. */
export class StepEffort implements Effort {
  readonly activation: Activation;
  readonly stepKey: string;
  readonly effect: string;
  /** Hash of the step's input. */
  readonly hash: string;
  readonly options: StepOptions;
  /** The cost of all the step's attempts together. */
  account: Account | undefined;
  readonly #core: RunCore;

  constructor(core: RunCore, activation: Activation, call: { key: string; hash: string; options: StepOptions }) {
    this.#core = core;
    this.activation = activation;
    this.stepKey = call.key;
    this.hash = call.hash;
    this.options = call.options;
    this.effect = call.options.effect ?? 'pure';
    this.account = accountOf(recordedStep(activation, call.key));
  }

  get place(): Effort['place'] {
    return { node: this.activation.path, step: this.stepKey, ...visitOf(this.activation) };
  }
  get name(): string {
    return [...this.activation.path, this.stepKey].join('/');
  }
  get ownInputHash(): string | undefined {
    return 'input' in this.options ? this.hash : undefined;
  }
  get isIdempotent(): boolean {
    return this.options.idempotent === true;
  }
  get retry(): RetryPolicy | undefined {
    return this.options.retry;
  }
  get timeoutMs(): number | undefined {
    return this.options.timeoutMs;
  }
  get about(): string | undefined {
    return this.options.about;
  }
  get isModelCall(): boolean {
    return this.options.isModelCall === true;
  }
  get reconcile(): Effort['reconcile'] {
    return this.options.reconcile;
  }

  fields(): EffortFields | undefined {
    return fieldsOf(recordedStep(this.activation, this.stepKey));
  }

  get intent(): Intent | undefined {
    return recordedStep(this.activation, this.stepKey)?.intent;
  }

  write(fields: EffortFields): void {
    ensureSteps(this.activation);
    enterDraws(this.#core, this.activation);
    const step: StepRecord = {
      kind: 'step',
      status: 'started',
      effect: this.effect,
      hash: this.hash,
      ...this.account,
      ...fields,
    };
    setStep(this.#core, this.activation.path, this.stepKey, step);
  }

  restore(before: EffortFields | undefined): void {
    if (before === undefined) deleteStep(this.#core, this.activation, this.stepKey);
    else this.write(before);
  }

  keyIn(keySeed: string): string {
    return effectKey(this.activation, this.stepKey, keySeed);
  }
}

/** The most characters of an effect's description. */
const aboutLengthMax = 500;

/** An announcement that was written. */
export interface Announced {
  readonly effort: Effort;
  /** What was recorded of the effort before. An earlier attempt of it may have happened. */
  readonly before: EffortFields | undefined;
  readonly intent: Intent;
  readonly at: Moment;
}

/** The key that the effort was started with, which in a fork is the original's; otherwise its own (X1). */
export function effortKeyOf(core: RunCore, effort: Effort): string {
  return effort.intent?.key ?? effort.keyIn(core.keySeed);
}

/**
 * Announces an effect of a released run, which may have happened without a trace: the run was restored from a backup, and what it did after
 * that was made is in no history. So what can be looked up is judged like an effect in doubt before it begins (B3).
 * @returns whether it is to be judged
 */
export function announceUntraced(core: RunCore, effort: Effort, attempt: number): boolean {
  if (!isEffect(effort) || effort.reconcile === undefined) return false;
  if (attempt > 1 || effort.intent !== undefined) return false;
  announce(core, effort, attempt);
  core.draft.mustCommit = true;
  return true;
}

function maskedAbout({ secrets }: RunCore, about: string): string {
  const text = secrets.mask?.text(about) ?? about;
  const shortened = text.slice(0, aboutLengthMax).toWellFormed();
  return text.length > aboutLengthMax ? `${shortened}… [${text.length} characters]` : shortened;
}

/**
 * Records that an effect is about to start. If it was started before, it keeps its key. It starts when this is durable, within the length
 * of a lease, and then has its full timeout: other owners wait until both are over (O2.5).
 */
export function announce(core: RunCore, effort: Effort, attempt: number): Announced {
  const { clock, ids, bounds } = core.env;
  const before = effort.fields();
  const key = before?.intent?.key ?? effort.keyIn(core.keySeed);
  const timeoutMs = effort.timeoutMs ?? bounds.effectMs;
  const about = effort.about === undefined ? undefined : maskedAbout(core, effort.about);
  const intent: Intent = {
    key,
    attempt,
    deadlineAt: clock.now() + core.claim.leaseMs + timeoutMs,
    by: ids.workerId,
    ...(effort.isModelCall ? { forgettable: true } : {}),
    ...(effort.isIdempotent ? { idempotent: true } : {}),
    ...(about === undefined ? {} : { about }),
  };
  effort.write({ ...(attempt > 1 ? { attempt } : {}), intent });
  core.draft.note({ kind: 'intent', ...effort.place, attempt, effect: effort.effect });
  return { effort, before, intent, at: momentOf(clock) };
}

/** Whether two intents are the same announcement. Each attempt has its own, and so has each that is announced anew. */
export function isSameIntent(a: Intent | undefined, b: Intent | undefined): boolean {
  return a?.key === b?.key && a?.attempt === b?.attempt && a?.deadlineAt === b?.deadlineAt && a?.by === b?.by;
}

/** Whether an effect was announced so long ago that, if it began now, others might not wait for its end (X3.13). */
export function isLate(core: RunCore, { at }: Announced): boolean {
  return elapsedMs(core.env.clock, at) >= core.claim.leaseMs;
}

/**
 * Reports a node that declares no effect class if it may have begun in a process that is gone (P2). Of one with steps these are reported.
 */
export function noteRepeatedNode(core: RunCore, activation: Activation): void {
  const { node, frameRun } = activation;
  if (!activation.mayHaveBegun || node.isDeclared !== false || node.effect !== 'pure') return;
  if (frameRun.openRecordOf(node)?.steps === undefined) noteRepeated(core, new NodeEffort(activation));
}

/**
 * The same for a step. Steps run ahead of the disk, so the one that was under way is not known: reported are those that begin before the
 * first that ended here is durable, since there too its record would have been durable by then.
 */
export function noteRepeatedStep(core: RunCore, effort: StepEffort): void {
  const { activation } = effort;
  if ((activation.firstEnd ?? Infinity) <= core.committer.landedSeq) activation.mayHaveBegun = false;
  if (!activation.mayHaveBegun || effort.options.effect !== undefined) return;
  if (effort.fields() === undefined) noteRepeated(core, effort);
}

function noteRepeated(core: RunCore, effort: Effort): void {
  const { place, name, effect } = effort;
  core.repeated.add(name);
  core.begunAgain.set(name, { by: 'default' });
  const { attempt = 1 } = effort.fields() ?? {};
  core.draft.note({ kind: 'repeat', ...place, attempt, effect, isDeclared: false, key: effortKeyOf(core, effort) });
}

/** Reports an effect that may have happened and is begun again all the same, and what allows it (X3). */
export function noteBegunAgain(core: RunCore, effort: Effort, by: BegunAgain['by']): void {
  const { place, name, effect } = effort;
  const { attempt = 1, key = '', by: worker } = effort.intent ?? {};
  const again = { ...(worker !== undefined && { worker }), by };
  core.begunAgain.set(name, again);
  core.draft.note({ kind: 'repeat', ...place, attempt, effect, key, ...again });
}

/** Withdraws an announcement, because its effect does not start. If an earlier attempt may have happened, it is in doubt again (X3). */
export function withdraw(core: RunCore, { effort, before, intent }: Announced): void {
  if (effort.intent === undefined || core.committer.broken !== undefined) return;
  core.own.withdrawn(intent.key);
  effort.restore(before);
  const { place, effect } = effort;
  core.draft.note({ kind: 'withdraw', ...place });
  if (before?.intent !== undefined) core.draft.note({ kind: 'intent', ...place, effect });
  core.draft.mustCommit = true;
}
