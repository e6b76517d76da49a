/**
 * An effort is something that is tried, and may have to be tried again: a node's visit, or one of its steps. Both have the same life:
 * announced, started, withdrawn, retried, in doubt, judged. They differ in how they are recorded, which is what this file defines (X, E6).
 */
import type { Reconciliation, StepOptions } from '../../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../../graph/contracts/retry-policy.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { Account, Intent, NodeRecord, StepRecord } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';
import type { Due } from '../run/recorded-past.ts';
import type { RunCore } from '../run/run-core.ts';
import { enterDraws } from './drawn-values.ts';
import { accountOf, openRecord } from './open-record.ts';
import { effectKey, recordedStep } from './step-keys.ts';
import { deleteStep, ensureSteps, setStep } from './step-record.ts';
import { visitOf } from './visit-part.ts';

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
  /** Whether nobody is asked about it if it is in doubt and not called again. */
  readonly isForgettable: boolean;
  /** Finds out whether the effect with a key happened. */
  readonly reconcile: StepOptions['reconcile'] | undefined;
  /** What is recorded of it at the moment, if anything. */
  fields(): EffortFields | undefined;
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
  const { attempt, intent, applied, decision, retryAt } = record;
  return {
    ...(attempt === undefined ? {} : { attempt }),
    ...(intent === undefined ? {} : { intent }),
    ...(applied === undefined ? {} : { applied }),
    ...(decision === undefined ? {} : { decision }),
    ...(retryAt === undefined ? {} : { retryAt }),
  };
}

/** A node's visit as an effort. */
export class NodeEffort implements Effort {
  readonly activation: Activation;
  readonly stepKey = undefined;
  readonly givenHash = undefined;
  readonly about = undefined;
  readonly isForgettable = false;
  readonly reconcile: Effort['reconcile'];

  constructor(activation: Activation) {
    this.activation = activation;
    const { node, view } = activation;
    const { implementation, config } = node;
    const reconcile: Effort['reconcile'] = (asked) =>
      implementation.reconcile?.({ ...asked, config, state: view.state, signal: activation.signal }) as Reconciliation;
    if (implementation.reconcile !== undefined) this.reconcile = reconcile;
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
  get retry(): RetryPolicy | undefined {
    return this.activation.node.retry;
  }
  get timeoutMs(): number | undefined {
    return this.activation.node.timeoutMs;
  }

  fields(): EffortFields | undefined {
    return fieldsOf(this.#record);
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
    for (const name of ['intent', 'applied', 'decision'] as const) delete restored[name];
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
  get givenHash(): string | undefined {
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
  get isForgettable(): boolean {
    return this.options.forgettable === true;
  }
  get reconcile(): Effort['reconcile'] {
    return this.options.reconcile;
  }

  fields(): EffortFields | undefined {
    return fieldsOf(recordedStep(this.activation, this.stepKey));
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
