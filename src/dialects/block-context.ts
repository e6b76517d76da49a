/** The context of a block's code: the node's context with the block's inputs and its place in the workflow. */
import type {
  NodeContext,
  ChildHandle,
  ChildResult,
  ChildRunOptions,
  EmitOptions,
  Question,
  ReceiveOptions,
  StateView,
  StepContext,
  StepOptions,
} from '../graph/contracts/node-contract.ts';
import type { Amounts } from '../graph/amounts.ts';
import type { AnswerTo } from '../graph/contracts/answer-types.ts';
import type { MemoryConsistency } from '../graph/contracts/memory-consistency.ts';
import type { ModelAccess } from '../graph/contracts/model-messages.ts';
import type { BlobAccess, FileAccess, SecretReader } from '../graph/contracts/access.ts';
import type { VisitPast } from '../graph/contracts/visit-past.ts';
import type { SpanParts, TraceSpan } from '../graph/contracts/trace-span.ts';
import { CairnError } from '../errors.ts';
import { scopePast } from '../graph/contracts/scoped-past.ts';
import type { CallableWorkflow, FileOutput, Inputs, Need, TypedNodeContext } from '../graph/contracts/node-type.ts';

// Questions of a workflow that another one runs say which workflow asks.

/** The question, with the name of the workflow before it. */
function namedQuestion<Q extends { readonly prompt: string }>(name: string, question: Q): Q {
  return { ...question, prompt: `[Child workflow '${name}'] ${question.prompt}` };
}

/** The same context, whose questions say that this workflow asks. */
export function askingAs(name: string, ctx: NodeContext): NodeContext {
  const ask: NodeContext['ask'] = (question) => ctx.ask(namedQuestion(name, question));
  return new Proxy(ctx, {
    get(target, key) {
      if (key === 'ask') return ask;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** The parts of a block's context. */
export interface BlockContextParts {
  readonly ctx: NodeContext;
  /** The workflow that contains the block. */
  readonly workflow: {
    readonly name: string;
    /** Returns why a need is not granted; undefined if it is granted. */
    readonly withheld: ((need: Need) => string | undefined) | undefined;
    /** Returns a workflow that blocks may run. */
    readonly callable?: (name: string, ctx: NodeContext) => CallableWorkflow;
  };
  readonly inputs: Inputs;
  readonly fileOutputs: readonly FileOutput[];
  readonly limit?: TypedNodeContext['limit'];
}

export class BlockContext implements TypedNodeContext {
  readonly inputs: Inputs;
  readonly fileOutputs: readonly FileOutput[];
  readonly limit?: NonNullable<TypedNodeContext['limit']>;
  protected readonly ctx: NodeContext;
  readonly #workflow: BlockContextParts['workflow'];

  constructor({ ctx, workflow, inputs, fileOutputs, limit }: BlockContextParts) {
    if (limit !== undefined) this.limit = limit;
    this.ctx = ctx;
    this.#workflow = workflow;
    this.inputs = inputs;
    this.fileOutputs = fileOutputs;
  }

  get runId(): string {
    return this.ctx.runId;
  }
  get startedAt(): number {
    return this.ctx.startedAt;
  }
  get nodeId(): string {
    return this.ctx.nodeId;
  }
  get nodePath(): readonly string[] {
    return this.ctx.nodePath;
  }
  get visit(): number {
    return this.ctx.visit;
  }
  get attempt(): number {
    return this.ctx.attempt;
  }
  get isResumed(): boolean {
    return this.ctx.isResumed;
  }
  get input(): unknown {
    return this.ctx.input;
  }
  get state(): StateView {
    return this.ctx.state;
  }
  get config(): unknown {
    return this.ctx.config;
  }
  get memoryConsistency(): MemoryConsistency | undefined {
    return this.ctx.memoryConsistency;
  }
  get cannotAct(): boolean {
    return this.ctx.cannotAct;
  }
  get idempotencyKey(): string {
    return this.ctx.idempotencyKey;
  }
  get signal(): AbortSignal {
    return this.ctx.signal;
  }
  get savedState(): unknown {
    return this.ctx.savedState;
  }
  get secrets(): SecretReader {
    return this.ctx.secrets;
  }
  get blobs(): BlobAccess {
    return this.ctx.blobs;
  }
  get files(): FileAccess {
    return this.ctx.files;
  }
  get models(): ModelAccess {
    return this.ctx.models;
  }
  /** A bound function, because it is passed on by itself. */
  readonly isGranted = (need: Need): boolean => this.#workflow.withheld?.(need) === undefined;
  /** A bound function, like the one above. */
  readonly workflow = (name: string): CallableWorkflow => {
    const { callable } = this.#workflow;
    if (callable === undefined) throw new CairnError('WORKFLOW_NOT_FOUND', { name });
    return callable(name, this.ctx);
  };
  get past(): VisitPast {
    return this.ctx.past;
  }
  now(): number {
    return this.ctx.now();
  }
  random(): number {
    return this.ctx.random();
  }
  uuid(): string {
    return this.ctx.uuid();
  }
  get spent(): Amounts {
    return this.ctx.spent;
  }
  spend(amounts: Amounts): void {
    this.ctx.spend(amounts);
  }
  isBudgeted(unit: string): boolean {
    return this.ctx.isBudgeted?.(unit) === true;
  }
  trace(name: string, parts?: SpanParts): TraceSpan | undefined {
    return this.ctx.trace(name, parts);
  }
  fail(error: unknown): void {
    this.ctx.fail(error);
  }
  emit(event: unknown, options?: EmitOptions): void {
    this.ctx.emit(event, options);
  }
  step<T>(name: string, options: StepOptions, fn: (step: StepContext) => Promise<T> | T): Promise<T> {
    return this.ctx.step(name, options, fn);
  }
  /** If the workflow was called by another one, the question says which workflow asks. */
  ask<const Q extends Question>(question: Q): Promise<AnswerTo<Q>> {
    if (this.ctx.nodePath.length < 2) return this.ctx.ask(question);
    return this.ctx.ask<Q>(namedQuestion(this.#workflow.name, question));
  }
  sleepUntil(time: number | Date, name?: string): Promise<void> {
    return this.ctx.sleepUntil(time, name);
  }
  receive<Value>(signal: string, options?: ReceiveOptions<Value>): Promise<Value> {
    return this.ctx.receive(signal, options) as Promise<Value>;
  }
  save(state: unknown): Promise<void> {
    return this.ctx.save(state);
  }
  get retired(): unknown {
    return this.ctx.retired;
  }
  retire(from: unknown, options?: { readonly keep?: readonly string[] }): Promise<void> {
    return this.ctx.retire(from, options);
  }
  append(list: string, items: readonly unknown[]): Promise<void> {
    return this.ctx.append(list, items);
  }
  list(name: string): readonly unknown[] {
    return this.ctx.list(name);
  }
  run(graph: object, input: unknown, options?: ChildRunOptions): Promise<ChildResult> {
    return this.ctx.run(graph, input, options);
  }
  start(graph: object, input: unknown, options?: ChildRunOptions): Promise<ChildHandle> {
    return this.ctx.start(graph, input, options);
  }
}

/**
 * The context of one item of a for_each whose block asks questions. The names of its questions, steps, lists and recorded events contain
 * the item's key.
 */
export class ItemContext extends BlockContext {
  readonly #key: string;

  constructor(parts: BlockContextParts, key: string) {
    super(parts);
    this.#key = key;
  }

  override step<T>(name: string, options: StepOptions, fn: (step: StepContext) => Promise<T> | T): Promise<T> {
    return super.step(`${this.#key}/${name}`, options, fn);
  }
  override get past(): VisitPast {
    return scopePast(this.ctx.past, `${this.#key}/`);
  }
  override ask<const Q extends Question>(question: Q): Promise<AnswerTo<Q>> {
    return super.ask<Q>({ ...question, name: `${this.#key}/${question.name ?? 'question'}` });
  }
  override sleepUntil(time: number | Date, name = 'sleep'): Promise<void> {
    return super.sleepUntil(time, `${this.#key}/${name}`);
  }
  override run(graph: object, input: unknown, options: ChildRunOptions = {}): Promise<ChildResult> {
    return super.run(graph, input, { ...options, name: `${this.#key}/${options.name ?? 'run'}` });
  }
  override start(graph: object, input: unknown, options: ChildRunOptions = {}): Promise<ChildHandle> {
    return super.start(graph, input, { ...options, name: `${this.#key}/${options.name ?? 'run'}` });
  }
  override append(list: string, items: readonly unknown[]): Promise<void> {
    return super.append(`${this.#key}/${list}`, items);
  }
  override emit(event: unknown, options: EmitOptions = {}): void {
    super.emit(event, { ...options, name: `${this.#key}/${options.name ?? 'event'}` });
  }
  override list(name: string): readonly unknown[] {
    return super.list(`${this.#key}/${name}`);
  }
  override save(): Promise<void> {
    return this.#refuse('save');
  }
  override retire(): Promise<void> {
    return this.#refuse('retire');
  }

  #refuse(call: string): Promise<never> {
    const reason = 'the items of a for_each share one node';
    return Promise.reject(new CairnError('NODE_CALL_REFUSED', { call, node: this.nodePath.join('/'), reason }));
  }
}

/** The context of one item whose work is a recorded step. It has the step's key, attempt and signal. */
export class StepItemContext extends ItemContext {
  readonly #step: StepContext;

  constructor(parts: BlockContextParts, key: string, step: StepContext) {
    super(parts, key);
    this.#step = step;
  }

  override get idempotencyKey(): string {
    return this.#step.idempotencyKey;
  }
  override get attempt(): number {
    return this.#step.attempt;
  }
  override get signal(): AbortSignal {
    return this.#step.signal;
  }
}
