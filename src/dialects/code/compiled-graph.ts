/** A graph with the engine that runs it. */
import type {
  CheckpointRef,
  Engine,
  ForkOptions,
  Patch,
  PreviewRow,
  RunHandle,
  RunResult,
  StreamEvent,
} from '../../engine/api.ts';
import { findWait } from '../../engine/admit/find-wait.ts';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { RunnableGraph } from '../../graph/runnable-graph.ts';
import { refuseWrongOptions } from './call-options.ts';
import type {
  AnyAnswers,
  BeginOptions,
  BranchOptions,
  CompileOptions,
  ContinueOptions,
  InvokeOptions,
  RunTarget,
  StreamOptions,
} from './run-options.ts';
import { createDefaultEngine, type EngineSettings } from './default-engine.ts';

const engineSettingNames = [
  'store',
  'blobs',
  'clock',
  'ids',
  'secrets',
  'models',
  'telemetry',
  'version',
  'limits',
  'tenant',
  'leaseMs',
  'wakes',
  'findGraph',
] as const satisfies readonly (keyof EngineSettings)[];
const invokeOptionNames = [
  'runId',
  'meta',
  'traceparent',
  'signal',
] as const satisfies readonly (keyof InvokeOptions)[];
const forkOptionNames = [
  'runId',
  'set',
  'answers',
  'graph',
  'rerunPure',
  'leaveOutAdded',
  'by',
  'readsTexts',
] as const satisfies readonly (keyof BranchOptions)[];

/** What may be said in each call. */
const optionNames = {
  compile: ['engine', ...engineSettingNames],
  invoke: invokeOptionNames,
  start: ['runId', 'meta', 'traceparent', 'detach', 'schedule'],
  stream: [...invokeOptionNames, 'after', 'live'],
  resume: [
    'answers',
    'retryFailed',
    'retry',
    'migrate',
    'leaveOutAdded',
    'by',
    'traceparent',
  ] satisfies readonly (keyof ContinueOptions)[],
  fork: forkOptionNames,
  preview: [...forkOptionNames, 'asFork'],
  answer: ['by'],
  signal: ['id'],
  events: ['after'],
} as const;

/**
 * Where a run stands: completed, failed, paused at `waits`, or cancelled. `status` says which: that a run failed or waits is a
 * value returned, never an exception.
 */
export interface GraphResult<State> extends Omit<RunResult, 'state'> {
  readonly state: State;
}

/**
 * A graph that can be run. Every method takes up runs of this and of earlier processes alike, and throws CONFIG_INVALID, before it
 * does anything, for an option that it does not have, or that is not what it must be.
 */
export class CompiledGraph<
  Input = unknown,
  Result extends GraphResult<unknown> = RunResult,
  Answers = AnyAnswers,
> implements RunnableGraph<Input, Result['state']> {
  declare readonly '~types'?: NonNullable<RunnableGraph<Input, Result['state']>['~types']>;
  readonly graph: Graph;
  readonly #makeEngine: () => Engine;
  readonly #ownsEngine: boolean;
  #engine: Engine | undefined;
  readonly #present: (result: RunResult) => Result;

  /**
   * @param present - makes what the methods return of the engine's result
   * @throws CONFIG_INVALID an option that does not exist or is something else than it must be, or an engine with settings beside it
   */
  constructor(graph: Graph, options: CompileOptions, present: (result: RunResult) => Result) {
    checkOptions('compile', options);
    const { engine, ...settings } = options;
    if (engine !== undefined) refuseSettings(settings);
    this.graph = graph;
    this.#present = present;
    this.#ownsEngine = engine === undefined;
    this.#engine = engine;
    engine?.know(graph);
    this.#makeEngine = () =>
      createDefaultEngine({ findGraph: (id) => (id === graph.id ? graph : undefined), ...settings });
  }

  /** The engine given, or one made when it is first needed: a module that only exports its graph makes none. */
  get engine(): Engine {
    return (this.#engine ??= this.#makeEngine());
  }

  /** Starts a run and returns where it stands once it has ended or is paused. @throws INPUT_INVALID, RUN_EXISTS, ID_INVALID */
  async invoke(input: Input, options: InvokeOptions = {}): Promise<Result> {
    checkOptions('invoke', options);
    return this.#finish(await this.#begin(input, options), options.signal);
  }

  /** Starts a run and returns at once, when the run is recorded. @throws INPUT_INVALID, RUN_EXISTS, ID_INVALID */
  async start(input: Input, options: BeginOptions = {}): Promise<RunHandle> {
    checkOptions('start', options);
    return this.#begin(input, options);
  }

  #begin(input: Input, { runId, meta, detach, schedule, traceparent }: BeginOptions): Promise<RunHandle> {
    return this.engine.start(this.graph, input, {
      ...(runId === undefined ? {} : { runId }),
      ...(meta === undefined ? {} : { meta }),
      ...(detach === undefined ? {} : { detach }),
      ...(schedule === undefined ? {} : { schedule }),
      ...(traceparent === undefined ? {} : { traceparent }),
    });
  }

  /** Starts a run and gives its events, until it ends or is paused. Leaving the loop early does not stop the run. */
  async *stream(input: Input, options: StreamOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    checkOptions('stream', options);
    const { after, live, signal } = options;
    const handle = await this.#begin(input, options);
    const stopListening = this.#cancelOnAbort(handle.runId, signal);
    try {
      yield* handle.events({ ...(after === undefined ? {} : { after }), ...(live === undefined ? {} : { live }) });
    } finally {
      stopListening();
    }
  }

  /**
   * Goes on with a run, from where it stands. A checkpoint that is not the run's newest is forked, since a history is only
   * appended to; with answers it only names the run, for an answer goes to its wait (H1).
   * @throws RUN_NOT_FOUND, CLAIM_TAKEN, RUN_GRAPH_CHANGED, RUN_CANCELLED, WAIT_NOT_FOUND, WAIT_CLOSED, ANSWER_INVALID
   */
  async resume(target: RunTarget, options: ContinueOptions<Answers> = {}): Promise<Result> {
    checkOptions('resume', options);
    const { answers, ...rest } = options;
    const runId = answers === undefined ? await this.#runToResume(target) : (await this.#refOf(target)).runId;
    await this.#answerAll(runId, answers ?? {}, { by: options.by, stays: true });
    return this.#finish(await this.engine.resume(runId, { ...rest, graph: this.graph }));
  }

  /** Makes a new run that goes on from a checkpoint, by default the newest; `resume` it to run it. @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED */
  async fork(from: RunTarget, options: BranchOptions<Answers> = {}): Promise<CheckpointRef> {
    checkOptions('fork', options);
    return this.engine.fork(await this.#refOf(from), this.#forkOptions(options));
  }

  /** What resuming (no options) or forking would restore, replay and run; nothing is run. */
  async preview(
    from: RunTarget,
    options: BranchOptions<Answers> & { readonly asFork?: boolean } = {},
  ): Promise<readonly PreviewRow[]> {
    checkOptions('preview', options);
    const { asFork, ...branch } = options;
    return this.engine.preview(await this.#refOf(from), {
      ...this.#forkOptions(branch),
      ...(asFork === undefined ? {} : { asFork }),
    });
  }

  /**
   * Answers an open wait, named as in `resume`; durable when it resolves. The run goes on here at once, behind the call (`resume`
   * joins it, and says where it came to rest); where `wakes` is false, at the next `resume`.
   */
  async answer<Wait extends keyof Answers & string>(
    runId: string,
    wait: Wait,
    value: Answers[Wait],
    options: { readonly by?: string } = {},
  ): Promise<void> {
    checkOptions('answer', options);
    await this.#answerAll(runId, { [wait]: value }, options);
  }

  /** Sends a signal that a node waits for, or will. */
  async signal(runId: string, name: string, value: unknown, options: { readonly id?: string } = {}): Promise<void> {
    checkOptions('signal', options);
    await this.engine.signal(runId, name, value, options);
  }

  async cancel(runId: string): Promise<void> {
    await this.engine.cancel(runId);
  }

  /** Where a run stands, without advancing it. @throws RUN_NOT_FOUND */
  async inspect(runId: string): Promise<Result> {
    return this.#present(await this.engine.inspect(runId));
  }

  /** Events of a run that was started anywhere; ends when the run is paused or has ended. */
  events(runId: string, options: { readonly after?: number } = {}): AsyncIterable<StreamEvent> {
    checkOptions('events', options);
    return this.engine.events(runId, options);
  }

  /** Closes the engine, if `compile` made it. Runs that are not finished can be resumed by another. */
  async close(): Promise<void> {
    if (this.#ownsEngine) await this.#engine?.close();
  }

  async #finish(handle: RunHandle, signal?: AbortSignal): Promise<Result> {
    const stopListening = this.#cancelOnAbort(handle.runId, signal);
    try {
      return this.#present(await handle.result());
    } finally {
      stopListening();
    }
  }

  #cancelOnAbort(runId: string, signal: AbortSignal | undefined): () => void {
    // A refused cancel means that the run has ended; its result says how.
    const cancel = (): void => void this.engine.cancel(runId).catch(() => undefined);
    if (signal?.aborted === true) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    return () => signal?.removeEventListener('abort', cancel);
  }

  async #runToResume(target: RunTarget): Promise<string> {
    const isName = typeof target === 'string';
    const named = await this.engine.locate(isName ? target : runIdOf(target));
    const { runId, seq } = isName ? named : target;
    const isHead = isName ? named.isHead : named.seq === seq;
    return isHead ? runId : (await this.engine.fork({ runId, seq }, { graph: this.graph })).runId;
  }

  /** Every name is looked up before the first answer is given, so that a misspelt one leaves nothing half done. */
  async #answerAll(
    runId: string,
    answers: Readonly<Record<string, unknown>>,
    { by, stays = false }: { readonly by?: string | undefined; readonly stays?: boolean },
  ): Promise<void> {
    const names = Object.keys(answers);
    if (names.length === 0) return;
    const waits = await this.engine.waits(runId);
    // A name that is not open goes through: the engine knows whether such a wait was closed already.
    const found = names.map((name) => [findWait(waits, runId, name)?.waitId ?? name, answers[name]] as const);
    const options = { stays, ...(by === undefined ? {} : { by }) };
    for (const [waitId, value] of found) await this.engine.answer(runId, waitId, value, options);
  }

  /** A run's id alone means its newest checkpoint. @throws CONFIG_INVALID it names no run */
  async #refOf(target: RunTarget): Promise<CheckpointRef> {
    if (typeof target !== 'string') return { runId: runIdOf(target), seq: target.seq };
    const { runId, seq } = await this.engine.locate(target);
    return { runId, seq };
  }

  #forkOptions({ set, graph, answers, ...same }: BranchOptions<Answers>): ForkOptions {
    return {
      ...same,
      ...(answers === undefined ? {} : { answers: answers as AnyAnswers }),
      graph: graph ?? this.graph,
      ...(set === undefined ? {} : { set: asPatches(set) }),
    };
  }
}

/** @throws CONFIG_INVALID it names no run */
function runIdOf(target: unknown): string {
  const { runId } = (target ?? {}) as { readonly runId?: unknown };
  if (typeof runId === 'string') return runId;
  throw new CairnError('CONFIG_INVALID', { reason: 'a run is named by its id, a checkpoint by { runId, seq }' });
}

function asPatches(set: Readonly<Record<string, unknown>> | readonly Patch[]): readonly Patch[] {
  if (Array.isArray(set)) return set as readonly Patch[];
  return Object.entries(set).map(([path, value]) => ({ path: path.split('.'), value }));
}

function checkOptions(call: keyof typeof optionNames, options: unknown): void {
  refuseWrongOptions(call, options, optionNames[call]);
}

function refuseSettings(settings: object): void {
  const [path] = Object.keys(settings);
  if (path === undefined) return;
  throw new CairnError('CONFIG_INVALID', { path, reason: 'the engine given has its own settings' });
}
