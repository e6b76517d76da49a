/** What the code of a block is handed: the node's context, with the inputs and what a block's place in a workflow adds. */
import type { Amounts } from '../graph/amounts.ts';
import type { AnswerTo } from '../graph/contracts/answer-types.ts';
import type { MemoryConsistency } from '../graph/contracts/memory-consistency.ts';
import type { ModelAccess } from '../graph/contracts/model-contract.ts';
import { CairnError } from '../errors.ts';
import type {
  ChildHandle,
  ChildResult,
  ChildRunOptions,
  NodeContext,
  EmitOptions,
  Question,
  StateView,
  StepContext,
  StepOptions,
} from '../graph/contracts/node-contract.ts';
import type { BlobAccess, FileAccess, SecretReader, VisitPast } from '../graph/contracts/context-access.ts';
import type { SpanParts, TraceSpan } from '../graph/contracts/trace-contract.ts';
import type { CallableWorkflow, FileOutput, Inputs, Need, TypedNodeContext } from '../graph/contracts/node-type.ts';

/** What a block's context is made of. */
export interface BlockContextParts {
  readonly ctx: NodeContext;
  /** The workflow that the block stands in. */
  readonly workflow: {
    readonly name: string;
    /** Why something is not granted; undefined: it is. */
    readonly withheld: ((need: Need) => string | undefined) | undefined;
    /** Workflows that blocks may run. */
    readonly callable?: (name: string, ctx: NodeContext) => CallableWorkflow;
  };
  readonly inputs: Inputs;
  readonly fileOutputs: readonly FileOutput[];
}

export class BlockContext implements TypedNodeContext {
  readonly inputs: Inputs;
  readonly fileOutputs: readonly FileOutput[];
  protected readonly ctx: NodeContext;
  readonly #workflow: BlockContextParts['workflow'];

  constructor({ ctx, workflow, inputs, fileOutputs }: BlockContextParts) {
    this.ctx = ctx;
    this.#workflow = workflow;
    this.inputs = inputs;
    this.fileOutputs = fileOutputs;
  }

  get runId(): string {
    return this.ctx.runId;
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
  /** Bound: whoever opens files is handed it alone. */
  readonly isGranted = (need: Need): boolean => this.#workflow.withheld?.(need) === undefined;
  /** Bound, as above. */
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
  get spent(): Amounts {
    return this.ctx.spent;
  }
  spend(amounts: Amounts): void {
    this.ctx.spend(amounts);
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
  /** A question of a workflow that another one called says which workflow asks. */
  ask<const Asked extends Question>(question: Asked): Promise<AnswerTo<Asked>> {
    if (this.ctx.nodePath.length < 2) return this.ctx.ask(question);
    const prompt = `[Child workflow '${this.#workflow.name}'] ${question.prompt}`;
    return this.ctx.ask<Asked>({ ...question, prompt });
  }
  sleepUntil(time: number | Date, name?: string): Promise<void> {
    return this.ctx.sleepUntil(time, name);
  }
  receive(signal: string): Promise<unknown> {
    return this.ctx.receive(signal);
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

/** The context of one item of a for_each whose block asks: its questions, steps, lists and recorded events carry the item's key in their names. */
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
    const { past } = this.ctx;
    const own = `${this.#key}/`;
    const named = past.steps().filter(({ name }) => name.startsWith(own));
    return { isFork: past.isFork, steps: () => named.map((step) => ({ ...step, name: step.name.slice(own.length) })) };
  }
  override ask<const Asked extends Question>(question: Asked): Promise<AnswerTo<Asked>> {
    return super.ask<Asked>({ ...question, name: `${this.#key}/${question.name ?? 'question'}` });
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

/** The context of one item whose work is a recorded step: it has the step's key, attempt and signal. */
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
