/** The NodeContext of one attempt, which is passed to the node's function. */
import type { Amounts } from '../../graph/amounts.ts';
import type {
  ChildHandle,
  ChildResult,
  EmitOptions,
  ChildRunOptions,
  NodeContext,
  Question,
  ReceiveOptions,
  StateView,
  StepContext,
  StepOptions,
} from '../../graph/contracts/node-contract.ts';
import type { OnWaiting, PartOptions } from '../../graph/contracts/part-contract.ts';
import type { BlobAccess, FileAccess, SecretReader, VisitPast } from '../../graph/contracts/context-access.ts';
import type { AnswerTo } from '../../graph/contracts/answer-types.ts';
import type { Graph } from '../../graph/graph.ts';
import type { MemoryConsistency } from '../../graph/contracts/memory-consistency.ts';
import type { ModelAccess } from '../../graph/contracts/model-contract.ts';
import type { SpanParts, TraceSpan } from '../../graph/contracts/trace-contract.ts';
import type { DrawnKind, DrawnValue } from '../../state/tree.ts';
import { deepFreeze } from '../../state/values/freeze.ts';
import { isBudgeted } from '../effects/budget-met.ts';
import { accessModels } from '../../model-calls/model-access.ts';
import type { Activation } from '../run/frame-run.ts';
import { append, listOf } from './append.ts';
import { startChild } from './child.ts';
import { spend } from '../record/account.ts';
import { draw } from '../record/drawn-values.ts';
import type { RunCore } from '../run/run-core.ts';
import { guardCall, refusal } from '../run/guard-call.ts';
import { emitRecorded } from './emit.ts';
import { readRetired, retire } from './retire.ts';
import { accessFiles } from './file-access.ts';
import { pastOf } from './visit-past.ts';
import { accessSecrets } from './secret-access.ts';
import { runStep } from './steps.ts';
import { save } from './save.ts';
import { ask, receive, sleepUntil } from './wait-calls.ts';

/** A context belongs to one attempt. Calls made after its end are refused. */
export class Context implements NodeContext {
  readonly #core: RunCore;
  readonly #activation: Activation;
  readonly #generation: number;
  readonly #onWaiting: OnWaiting | undefined;
  readonly #isOrdered: boolean;

  constructor(core: RunCore, activation: Activation, onWaiting?: OnWaiting, isOrdered = true) {
    this.#core = core;
    this.#activation = activation;
    this.#generation = activation.generation;
    this.#onWaiting = onWaiting;
    this.#isOrdered = isOrdered;
  }

  get runId(): string {
    return this.#core.runId;
  }
  get nodeId(): string {
    return this.#activation.node.id;
  }
  get nodePath(): readonly string[] {
    return this.#activation.path;
  }
  get visit(): number {
    return this.#activation.visit;
  }
  get attempt(): number {
    return this.#activation.attempt;
  }
  get isResumed(): boolean {
    return this.#activation.isResumed;
  }
  get input(): unknown {
    return this.#activation.view.state.input;
  }
  get state(): StateView {
    return this.#activation.view.state;
  }
  get config(): unknown {
    return this.#activation.node.config;
  }
  get memoryConsistency(): MemoryConsistency | undefined {
    return this.#activation.node.memoryConsistency;
  }
  get idempotencyKey(): string {
    const intent = this.#activation.frameRun.openRecordOf(this.#activation.node)?.intent;
    return intent?.key ?? this.#activation.keyFor(this.#core.keySeed);
  }
  get signal(): AbortSignal {
    return this.#activation.signal;
  }
  get savedState(): unknown {
    return deepFreeze(this.#activation.frameRun.openRecordOf(this.#activation.node)?.saved);
  }

  /** Refuses calls of an attempt that is over, even if another attempt is running (X4). */
  #guard(call: string): void {
    guardCall(this.#activation, this.#generation, call);
  }

  /** Makes a call, unless its attempt or the run is over here. */
  async #call<T>(call: string, make: () => Promise<T>): Promise<T> {
    this.#guard(call);
    const refused = refusal(this.#core, this.#activation);
    return refused ?? make();
  }

  step<T>(name: string, options: StepOptions, fn: (step: StepContext) => Promise<T> | T): Promise<T> {
    return this.#call('step', () => runStep(this.#core, this.#activation, name, options, fn, this.#onWaiting));
  }
  ask<const Asked extends Question>(question: Asked): Promise<AnswerTo<Asked>> {
    return this.#call('ask', async () => {
      // The answer was checked against the question when it was accepted.
      return (await ask(this.#core, this.#activation, question, this.#onWaiting)) as AnswerTo<Asked>;
    });
  }
  sleepUntil(time: number | Date, name = 'sleep'): Promise<void> {
    return this.#call('sleepUntil', () => sleepUntil(this.#core, this.#activation, time, name, this.#onWaiting));
  }
  receive(signal: string, { waits = true }: ReceiveOptions = {}): Promise<unknown> {
    return this.#call('receive', () =>
      receive(this.#core, this.#activation, signal, { onWaiting: this.#onWaiting, waits }),
    );
  }
  save(state: unknown): Promise<void> {
    return this.#call('save', () => save(this.#core, this.#activation, state));
  }
  retire(from: unknown, options: { readonly keep?: readonly string[] } = {}): Promise<void> {
    return this.#call('retire', () => retire(this.#core, this.#activation, from, options.keep ?? []));
  }
  get retired(): unknown {
    return readRetired(this.#activation, this.#generation);
  }
  append(list: string, items: readonly unknown[]): Promise<void> {
    return this.#call('append', () => append(this.#core, this.#activation, list, items));
  }
  list(name: string): readonly unknown[] {
    return listOf(this.#activation, name);
  }
  run(graph: object, input: unknown, options: ChildRunOptions = {}): Promise<ChildResult> {
    return this.#call('run', async () => {
      const child = await this.#start(graph, input, options);
      return child.result();
    });
  }
  start(graph: object, input: unknown, options: ChildRunOptions = {}): Promise<ChildHandle> {
    return this.#call('start', () => this.#start(graph, input, options));
  }
  #start(graph: object, input: unknown, { name = 'run', entry }: ChildRunOptions): Promise<ChildHandle> {
    const call = { graph: graph as Graph, input, entry };
    return startChild(this.#core, this.#activation, call, {
      name,
      onWaiting: this.#onWaiting,
      isOrdered: this.#isOrdered,
    });
  }
  part(onWaiting: OnWaiting, { isOrdered = false }: PartOptions = {}): NodeContext {
    this.#guard('part');
    return new Context(this.#core, this.#activation, onWaiting, isOrdered);
  }
  spend(amounts: Amounts): void {
    const { generation, phase } = this.#activation;
    const { ledger } = this.#core;
    const charge = ledger.chargeOf(this.#activation);
    // The attempt that reports the cost may be over. A step that is over reports that itself.
    if (charge.step === undefined && (generation !== this.#generation || phase !== 'running')) charge.isOver = true;
    spend(this.#core, charge, amounts);
  }
  isBudgeted(unit: string): boolean {
    return isBudgeted(this.#activation, unit);
  }
  get spent(): Amounts {
    return this.#activation.view.spent;
  }
  emit(event: unknown, options: EmitOptions = {}): void {
    if (options.recorded === true) {
      this.#guard('emit');
      return emitRecorded(this.#core, this.#activation, options.name ?? 'event', event);
    }
    const { mask } = this.#core.secrets;
    this.#core.loop.publishLive('emitted', this.#activation, mask === undefined ? event : mask.all(event));
  }
  trace(name: string, parts: SpanParts = {}): TraceSpan | undefined {
    const { generation } = this.#activation;
    return generation === this.#generation ? this.#core.loop.trace(this.#activation, name, parts) : undefined;
  }
  fail(error: unknown): void {
    if (this.#activation.generation === this.#generation) this.#activation.failure ??= { error };
  }
  get secrets(): SecretReader {
    return accessSecrets(this.#core);
  }
  get files(): FileAccess {
    return accessFiles(this.#core.env, this.#core.run, this.#core.secrets);
  }
  get models(): ModelAccess {
    return accessModels(this.#core.env.models, this);
  }
  get blobs(): BlobAccess {
    const { env, run, secrets } = this.#core;
    return {
      put: (bytes) => env.blobs.put(run, secrets.mask?.bytes(bytes) ?? bytes),
      get: (hash) => env.blobs.get(run.tenant, hash),
    };
  }
  get past(): VisitPast {
    return pastOf(this.#core, this.#activation, this.#generation);
  }
  now(): number {
    return this.#draw('now', () => this.#core.env.clock.now());
  }
  random(): number {
    return this.#draw('random', () => this.#core.env.ids.random());
  }
  uuid(): string {
    const { ids, clock } = this.#core.env;
    return this.#draw('uuid', () => ids.createRunId(clock.now()));
  }
  /** Of an attempt that is over nothing is recorded any more. */
  #draw<Value extends DrawnValue>(kind: DrawnKind, make: () => Value): Value {
    if (this.#activation.generation !== this.#generation) return make();
    return draw(this.#core, this.#activation, kind, make);
  }
}
