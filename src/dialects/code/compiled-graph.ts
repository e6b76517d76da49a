/** A graph with the engine that runs it. */
import type {
  CheckpointRef,
  Engine,
  ForkOptions,
  Patch,
  PreviewRow,
  RunEvent,
  RunHandle,
  RunResult,
  StreamEvent,
} from '../../engine/api.ts';
import { findWait } from '../../engine/admit/find-wait.ts';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { RunnableGraph } from '../../graph/runnable-graph.ts';
import type { History } from '../../history/history.ts';
import type { RunName } from '../../history/read/references.ts';
import { parsePath } from '../../history/read/state-path.ts';
import type { StateAt } from '../../history/read/state-at.ts';
import { checkOptions } from './call-options.ts';
import type {
  AnyAnswers,
  BeginOptions,
  BranchOptions,
  CompileOptions,
  ContinueOptions,
  GraphParts,
  InvokeOptions,
  PreviewedOptions,
  RunTarget,
  StreamOptions,
} from './run-options.ts';
import { createDefaultEngine } from './default-engine.ts';

/** A checkpoint was saved in the checkpoint store that `compile` was given. */
export interface CheckpointSaved extends CheckpointRef {
  readonly type: 'checkpoint_saved';
  /** Names it, to the checkpoint store and to `resume` and `fork`. */
  readonly checkpointId: string;
}

function savedEvent({ runId, seq, checkpointId }: RunEvent): CheckpointSaved {
  return { type: 'checkpoint_saved', runId, seq, checkpointId };
}

/**
 * Where a run stands: completed, failed, paused at `waits`, or cancelled. `status` says which: that a run failed or waits is a
 * value returned, never an exception.
 */
export interface GraphResult<State> extends Omit<RunResult, 'state'> {
  readonly state: State;
}

/** A state as it is recorded: what failed is told as data, and what the run had cost is told too. */
export type RecordedState<State> = Omit<State, 'failures'> & Pick<StateAt, 'failures' | 'spent' | 'saved'>;

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
  readonly #savesCheckpoints: boolean;
  #engine: Engine | undefined;
  readonly #present: (result: RunResult) => Result;

  /**
   * @param build - makes the graph, with the parts that it is given
   * @param present - makes what the methods return of the engine's result
   * @throws CONFIG_INVALID an option that does not exist or is something else than it must be, or an engine with settings beside it
   */
  constructor(build: (parts: GraphParts) => Graph, options: CompileOptions, present: (result: RunResult) => Result) {
    checkOptions('compile', options);
    const { tools = {}, engine, ...settings } = options;
    if (engine !== undefined) refuseSettings(settings);
    const graph = build({ tools });
    this.graph = graph;
    this.#present = present;
    this.#ownsEngine = engine === undefined;
    this.#savesCheckpoints = settings.checkpointStore !== undefined;
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

  #begin(input: Input, { runId, meta, detach, schedule, traceparent, budget }: BeginOptions): Promise<RunHandle> {
    return this.engine.start(this.graph, input, {
      ...(runId === undefined ? {} : { runId }),
      ...(meta === undefined ? {} : { meta }),
      ...(detach === undefined ? {} : { detach }),
      ...(schedule === undefined ? {} : { schedule }),
      ...(traceparent === undefined ? {} : { traceparent }),
      ...(budget === undefined ? {} : { budget }),
    });
  }

  /** Starts a run and gives its events, until it ends or is paused. Leaving the loop early does not stop the run. */
  async *stream(
    input: Input,
    options: StreamOptions = {},
  ): AsyncGenerator<StreamEvent | CheckpointSaved, void, undefined> {
    checkOptions('stream', options);
    const { after, live, signal } = options;
    const handle = await this.#begin(input, options);
    const stopListening = this.#cancelOnAbort(handle.runId, signal);
    try {
      const events = handle.events({
        ...(after === undefined ? {} : { after }),
        ...(live === undefined ? {} : { live }),
      });
      for await (const event of events) {
        yield event;
        // A checkpoint is told of when it is durable: where there is a checkpoint store, when it is saved there.
        if (this.#savesCheckpoints && event.type === 'checkpoint') yield savedEvent(event);
      }
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
    const runId = answers === undefined ? await this.#runToResume(target) : await this.#runOf(target);
    await this.#answerAll(runId, answers ?? {}, { by: options.by, stays: true });
    return this.#finish(await this.engine.resume(runId, { ...rest, graph: this.graph }));
  }

  /** Makes a new run that goes on from a checkpoint, by default the newest; `resume` it to run it. @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED */
  async fork(from: RunTarget, options: BranchOptions<Answers> = {}): Promise<CheckpointRef> {
    checkOptions('fork', options);
    return this.engine.fork(await this.#refOf(from), this.#forkOptions(options));
  }

  /** What resuming, with its options, or forking would restore, replay and run; nothing is run. */
  async preview(from: RunTarget, options: PreviewedOptions<Answers> = {}): Promise<readonly PreviewRow[]> {
    checkOptions('preview', options);
    const { asFork, retryFailed, retry, migrate, budget, ...branch } = options;
    return this.engine.preview(await this.#refOf(from), {
      ...this.#forkOptions(branch),
      ...(asFork === undefined ? {} : { asFork }),
      ...(retryFailed === undefined ? {} : { retryFailed }),
      ...(retry === undefined ? {} : { retry }),
      ...(migrate === undefined ? {} : { migrate }),
      ...(budget === undefined ? {} : { budget }),
    });
  }

  /**
   * Answers an open wait, named as in `resume`; durable when it resolves. The run goes on here at once, behind the call (`resume`
   * joins it, and says where it came to rest); where `wakes` is false, at the next `resume`.
   */
  async answer<Wait extends keyof Answers & string>(
    run: RunTarget,
    wait: Wait,
    value: Answers[Wait],
    options: { readonly by?: string } = {},
  ): Promise<void> {
    checkOptions('answer', options);
    await this.#answerAll(await this.#runOf(run), { [wait]: value }, options);
  }

  /** Answers several open waits, named as in `resume`, all of them or none: nothing is given unless each fits its question. */
  async answerAll(
    run: RunTarget,
    answers: NonNullable<ContinueOptions<Answers>['answers']>,
    options: { readonly by?: string } = {},
  ): Promise<void> {
    checkOptions('answer', options);
    await this.#answerAll(await this.#runOf(run), answers, options);
  }

  /** Sends a signal that a node waits for, or will. @throws RUN_NOT_FOUND, VALUE_UNSTORABLE */
  async signal(run: RunTarget, name: string, value: unknown, options: { readonly id?: string } = {}): Promise<void> {
    checkOptions('signal', options);
    await this.engine.signal(await this.#runOf(run), name, value, options);
  }

  /** Ends a run, named by its own id or key; its history stays. @throws RUN_NOT_FOUND, RUN_FINISHED */
  async cancel(run: RunName): Promise<void> {
    await this.engine.cancel((await this.history.find(run)).runId);
  }

  /** Where a run stands, or stood at the checkpoint named, without advancing it. @throws RUN_NOT_FOUND, CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED */
  async inspect(target: RunTarget): Promise<Result> {
    const { runId, seq, isHead } = await this.engine.locate(target);
    return this.#present(await this.engine.inspect(runId, isHead ? undefined : seq));
  }

  /** Events of a run that was started anywhere; ends when the run is paused or has ended. */
  events(run: RunTarget, options: { readonly after?: number } = {}): AsyncIterable<StreamEvent> {
    checkOptions('events', options);
    return this.#eventsOf(run, options);
  }

  async *#eventsOf(run: RunTarget, options: { readonly after?: number }): AsyncGenerator<StreamEvent, void, undefined> {
    yield* this.engine.events(await this.#runOf(run), options);
  }

  /** The histories of the runs that are kept with this graph's: listed, logged, shown, compared, named, checked, shortened, moved. */
  get history(): History<RecordedState<Result['state']>> {
    return this.engine.history as unknown as History<RecordedState<Result['state']>>;
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
    const { runId, seq, isHead } = await this.engine.locate(target);
    return isHead ? runId : (await this.engine.fork({ runId, seq }, { graph: this.graph })).runId;
  }

  /** All of them or none: a misspelt name, or an answer that does not fit, leaves nothing half done. */
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
    await this.engine.answerAll(runId, found, options);
  }

  async #runOf(target: RunTarget): Promise<string> {
    return (await this.engine.locate(target)).runId;
  }

  /** A run's id alone means its newest checkpoint. @throws CONFIG_INVALID it names no run */
  async #refOf(target: RunTarget): Promise<CheckpointRef> {
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

function asPatches(set: Readonly<Record<string, unknown>> | readonly Patch[]): readonly Patch[] {
  if (Array.isArray(set)) return set as readonly Patch[];
  return Object.entries(set).map(([path, value]) => ({ path: parsePath(path), value }));
}

function refuseSettings(settings: object): void {
  const [path] = Object.keys(settings);
  if (path === undefined) return;
  throw new CairnError('CONFIG_INVALID', { path, reason: 'the engine given has its own settings' });
}
