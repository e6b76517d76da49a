/** A graph together with the engine that runs it. */
import type {
  Acting,
  CancelOptions,
  CheckpointRef,
  Engine,
  ForkOptions,
  Patch,
  PreviewRow,
  RunEvent,
  RunHandle,
  RunResult,
  SignalOptions,
  StreamEvent,
  WholeCheckpoint,
} from '../../engine/api.ts';
import { recordedIdOf } from '../../graph/compile/recorded-names.ts';
import { findWait } from '../../engine/validate/find-wait.ts';
import { completedNodes } from '../../engine/watch/event-stream.ts';
import { CairnError } from '../../errors.ts';
import { readRetention, type RetentionRules, type RetentionSettings } from '../../graph/retention.ts';
import type { Graph } from '../../graph/graph.ts';
import type { RunnableGraph } from '../../graph/runnable-graph.ts';
import type { History } from '../../history/history.ts';
import type { RunName } from '../../history/read/references.ts';
import { parsePath } from '../../history/read/state-path.ts';
import type { StateAt } from '../../history/read/state-at.ts';
import {
  checkOptions,
  type AnyAnswers,
  type BeginOptions,
  type BranchOptions,
  type CompileOptions,
  type ContinueOptions,
  type GraphParts,
  type InvokeOptions,
  type PreviewedOptions,
  type RunTarget,
  type SignalledOptions,
  type StreamOptions,
  createDefaultEngine,
} from './run-options.ts';

/** Emitted by `stream` when a checkpoint was saved: in the store of the engine, or in the checkpoint store passed to `compile`. */
export interface CheckpointSaved extends CheckpointRef {
  readonly type: 'checkpoint_saved';
  /** The checkpoint's id, with which `resume`, `fork` and a checkpoint store find it. */
  readonly checkpointId: string;
}

function savedEvent({ runId, seq, checkpointId }: RunEvent): CheckpointSaved {
  return { type: 'checkpoint_saved', runId, seq, checkpointId };
}

/**
 * Where a run stands: completed, failed, paused at `waits`, or cancelled, as `status` says. Failing and waiting are reported here, never as
 * exceptions.
 */
export interface GraphResult<State> extends Omit<RunResult, 'state'> {
  readonly state: State;
}

/** A state as the history returns it: failures are plain data, and what the run had cost so far is included. */
export type RecordedState<State> = Omit<State, 'failures'> & Pick<StateAt, 'failures' | 'spent' | 'saved'>;

/** What a run gives as a whole, by what its methods return: what a workflow returns, the outputs of a flow, the artifacts of a graph. */
type GivenBy<Result extends GraphResult<unknown>> = Result extends { readonly output?: infer Output }
  ? unknown extends Output
    ? ArtifactsOf<Result>
    : Output
  : Result extends { readonly nodes: infer Nodes }
    ? { readonly [Name in keyof Nodes]?: Nodes[Name] extends { readonly output?: infer Output } ? Output : never }
    : ArtifactsOf<Result>;
type ArtifactsOf<Result> = Result extends { readonly state: { readonly artifacts: infer Artifacts } }
  ? Artifacts
  : unknown;

/** Removals after runs of a graph: one at a time, and of runs that end meanwhile the last one counts. */
class Expiry {
  readonly #rules: RetentionRules;
  #working: Promise<void> | undefined;
  #next: string | undefined;

  constructor(rules: RetentionRules) {
    this.#rules = rules;
  }

  after(engine: Engine, runId: string): void {
    this.#next = runId;
    this.#working ??= this.#work(engine).finally(() => {
      this.#working = undefined;
    });
  }

  /** Resolves when none is under way. */
  async done(): Promise<void> {
    await this.#working;
  }

  /** What goes wrong here touches no run: the next removal tries again. */
  async #work({ ports }: Engine): Promise<void> {
    const { store, tenant, clock } = ports;
    const { expireSome } = await import('../../history/retention/apply-retention.ts');
    const place = { store, tenant, now: () => clock.now(), isWorkerDead: () => undefined };
    for (let runId = this.#next; runId !== undefined; runId = this.#next) {
      this.#next = undefined;
      try {
        const run = await store.readRun({ tenant, runId });
        if (run !== undefined) await expireSome(place, run, this.#rules);
      } catch (error) {
        if (!CairnError.is(error)) throw error;
      }
    }
  }
}

/** Turns a result of the engine, and the names of the nodes that are completed, into what the methods of a compiled graph return. */
type Present<Result> = (result: RunResult, completed: readonly string[]) => Result;

/**
 * A graph that can be run. Every method also works on runs that other or earlier processes started. Every method throws CONFIG_INVALID,
 * before it does anything, for an unknown option or an option of the wrong type.
 */
export class CompiledGraph<
  Input = unknown,
  Result extends GraphResult<unknown> = RunResult,
  Answers = AnyAnswers,
> implements RunnableGraph<Input, Result['state'], GivenBy<Result>> {
  declare readonly '~types'?: NonNullable<RunnableGraph<Input, Result['state'], GivenBy<Result>>['~types']>;
  readonly graph: Graph;
  readonly #makeEngine: () => Engine;
  readonly #ownsEngine: boolean;
  #engine: Engine | undefined;
  /** Which of its runs that ended are kept, as `compile` was told. Absent: all. */
  readonly retention?: RetentionSettings;
  readonly #expiry: Expiry | undefined;
  readonly #present: Present<Result>;

  /**
   * @param build - makes the graph from the parts passed to `compile`
   * @param present - turns the engine's result into what the methods return
   * @throws CONFIG_INVALID an unknown option, an option of the wrong type, or both an engine and settings for one
   */
  constructor(build: (parts: GraphParts) => Graph, options: CompileOptions, present: Present<Result>) {
    checkOptions('compile', options);
    const { tools = {}, renamed, migrations, version, retention, engine, ...settings } = options;
    if (engine !== undefined) refuseSettings(settings);
    const graph = build({
      tools,
      ...(renamed !== undefined && { renamed }),
      ...(migrations !== undefined && { migrations }),
      ...(version !== undefined && { version }),
    });
    this.graph = graph;
    if (retention !== undefined) {
      this.retention = retention;
      this.#expiry = new Expiry(readRetention(retention));
    }
    this.#present = present;
    this.#ownsEngine = engine === undefined;
    this.#engine = engine;
    engine?.know(graph);
    this.#makeEngine = () =>
      createDefaultEngine({ findGraph: (id) => (id === graph.id ? graph : undefined), ...settings });
  }

  /** The engine passed to `compile`, or one that is created at first use. A module that only exports its graph therefore creates none. */
  get engine(): Engine {
    return (this.#engine ??= this.#makeEngine());
  }

  /**
   * Starts a run and waits until it has ended or is paused.
   * @returns where the run stands then
   * @throws INPUT_INVALID, RUN_EXISTS, ID_INVALID
   */
  async invoke(input: Input, options: InvokeOptions = {}): Promise<Result> {
    checkOptions('invoke', options);
    return this.#finish(await this.#begin(input, options), options.signal);
  }

  /**
   * Starts a run and returns as soon as the run is recorded.
   * @throws INPUT_INVALID, RUN_EXISTS, ID_INVALID
   */
  async start(input: Input, options: BeginOptions = {}): Promise<RunHandle> {
    checkOptions('start', options);
    return this.#begin(input, options);
  }

  async #begin(
    input: Input,
    { runId, meta, detach, schedule, traceparent, budget, by, door, as }: BeginOptions,
  ): Promise<RunHandle> {
    const handle = await this.engine.start(this.graph, input, {
      ...(runId === undefined ? {} : { runId }),
      ...(meta === undefined ? {} : { meta }),
      ...(detach === undefined ? {} : { detach }),
      ...(schedule === undefined ? {} : { schedule }),
      ...(traceparent === undefined ? {} : { traceparent }),
      ...(budget === undefined ? {} : { budget }),
      ...(by === undefined ? {} : { by }),
      ...(door === undefined ? {} : { door }),
      ...(as === undefined ? {} : { as }),
    });
    return detach === true ? handle : this.#expireAfter(handle);
  }

  /** Removes some of what expired once the run has come to rest here. */
  #expireAfter(handle: RunHandle): RunHandle {
    const expiry = this.#expiry;
    if (expiry !== undefined)
      handle.result().then(
        () => expiry.after(this.engine, handle.runId),
        () => undefined,
      );
    return handle;
  }

  /** Starts a run and yields its events until it ends or is paused. Leaving the loop early does not stop the run. */
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
        // A checkpoint event is sent when the checkpoint is durable. With a checkpoint store that is when it is saved there.
        if (event.type === 'checkpoint') yield savedEvent(event);
      }
    } finally {
      stopListening();
    }
  }

  /**
   * Goes on with a run from where it stands. If `target` names a checkpoint that is not the newest, the run is forked there, because a
   * history is never rewritten. If there are answers, a checkpoint only identifies its run, because an answer belongs to its wait (H1).
   * @param target - default: the newest run of this graph that is not completed
   * @throws RUN_NOT_FOUND, CLAIM_TAKEN, RUN_GRAPH_CHANGED, RUN_CANCELLED, WAIT_NOT_FOUND, WAIT_CLOSED, ANSWER_INVALID
   */
  async resume(target?: RunTarget, options: ContinueOptions<Answers> = {}): Promise<Result> {
    checkOptions('resume', options);
    const { answers, roles, ...rest } = options;
    const { by, door, as } = options;
    const named = target === undefined ? await this.#latestOpen() : target;
    const runId = answers === undefined ? await this.#runToResume(named, by) : await this.#runOf(named);
    await this.#answerAll(runId, answers ?? {}, { by, roles, door, as, stays: true });
    return this.#finish(this.#expireAfter(await this.engine.resume(runId, { ...rest, graph: this.graph })));
  }

  /**
   * Makes a new run that continues from a checkpoint, by default the newest. `resume` the new run to advance it.
   * @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED
   */
  async fork(from: RunTarget, options: BranchOptions<Answers> = {}): Promise<CheckpointRef> {
    checkOptions('fork', options);
    return this.engine.fork(await this.#refOf(from), this.#forkOptions(options));
  }

  /** Says what a resume or a fork with these options would restore, replay and run. Nothing is run. */
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
   * Answers an open wait, named as in `resume`. The answer is durable when the promise resolves. The run then goes on in the background;
   * `resume` joins it and returns where it comes to rest. If the engine's `wakes` is false, it goes on at the next `resume`.
   */
  async answer<Wait extends keyof Answers & string>(
    run: RunTarget,
    wait: Wait,
    value: Answers[Wait],
    options: Acting = {},
  ): Promise<void> {
    checkOptions('answer', options);
    await this.#answerAll(await this.#runOf(run), { [wait]: value }, options);
  }

  /** Answers several open waits, named as in `resume`, all or none: no answer is recorded unless each fits its question. */
  async answerAll(
    run: RunTarget,
    answers: NonNullable<ContinueOptions<Answers>['answers']>,
    options: Acting = {},
  ): Promise<void> {
    checkOptions('answer', options);
    await this.#answerAll(await this.#runOf(run), answers, options);
  }

  /**
   * Sends a signal that a node waits for now or will wait for later.
   * @throws RUN_NOT_FOUND, RUN_FINISHED, SIGNAL_INVALID a node waits for it, and it does not fit its schema; VALUE_UNSTORABLE
   */
  async signal(
    run: RunTarget,
    name: string,
    value: unknown,
    options: Omit<SignalOptions, 'stays'> = {},
  ): Promise<void> {
    checkOptions('signal', options);
    await this.engine.signal(await this.#runOf(run), name, value, options);
  }

  /**
   * Sends a signal to the run of an id, and starts it first with `input` if there is none, in one write. Under one `id` it is one signal.
   * @throws RUN_ENDED the run has ended, and nothing is recorded; RUN_EXISTS it is of another graph; INPUT_INVALID, SIGNAL_INVALID, ID_INVALID,
   * VALUE_UNSTORABLE
   */
  async signalWithStart(
    runId: string,
    input: Input,
    name: string,
    value: unknown,
    options: SignalledOptions = {},
  ): Promise<RunHandle> {
    checkOptions('signalWithStart', options);
    return this.engine.signalWithStart(this.graph, runId, input, name, value, options);
  }

  /**
   * Cancels a run, named by its id or key. Its history stays. If the graph has an `onCancel` node, that runs next, and the run is
   * `cancelling` until it has ended.
   * @throws RUN_NOT_FOUND, RUN_FINISHED
   */
  async cancel(run: RunName, options: CancelOptions = {}): Promise<void> {
    checkOptions('cancel', options);
    await this.engine.cancel((await this.history.find(run)).runId, options);
  }

  /**
   * Where a run stands, or stood at the named checkpoint. The run is not advanced.
   * @throws RUN_NOT_FOUND, CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED
   */
  async inspect(target: RunTarget): Promise<Result> {
    const { runId, seq, isHead } = await this.engine.locate(target);
    return this.#presented(await this.engine.inspect(runId, isHead ? undefined : seq));
  }

  /**
   * A run at its newest checkpoint or the one named, as one value: its state, the result of each node that completed, what was passed
   * by, and where it goes on. It reads the history up to there. @throws as {@link CompiledGraph.inspect}
   */
  async checkpoint(target: RunTarget): Promise<WholeCheckpoint<RecordedState<Result['state']>>> {
    const { runId, seq } = await this.engine.locate(target);
    const whole: WholeCheckpoint<unknown> = await this.engine.checkpoint(runId, seq);
    return whole as WholeCheckpoint<RecordedState<Result['state']>>;
  }

  /** Events of a run, whichever process started it. Ends when the run is paused or has ended. */
  events(run: RunTarget, options: { readonly after?: number } = {}): AsyncIterable<StreamEvent> {
    checkOptions('events', options);
    return this.#eventsOf(run, options);
  }

  async *#eventsOf(run: RunTarget, options: { readonly after?: number }): AsyncGenerator<StreamEvent, void, undefined> {
    yield* this.engine.events(await this.#runOf(run), options);
  }

  /**
   * The histories of this graph's runs and of all others in the same store: list, log, show, compare, name, verify, shorten and move them.
   */
  get history(): History<RecordedState<Result['state']>> {
    return this.engine.history as unknown as History<RecordedState<Result['state']>>;
  }

  /** Closes the engine if `compile` created it. Unfinished runs can be resumed by another engine. */
  async close(): Promise<void> {
    await this.#expiry?.done();
    if (this.#ownsEngine) await this.#engine?.close();
  }

  async #finish(handle: RunHandle, signal?: AbortSignal): Promise<Result> {
    const stopListening = this.#cancelOnAbort(handle.runId, signal);
    try {
      return this.#presented(await handle.result());
    } finally {
      stopListening();
    }
  }

  #presented(result: RunResult): Result {
    return this.#present(result, completedNodes(result));
  }

  #cancelOnAbort(runId: string, signal: AbortSignal | undefined): () => void {
    // If cancelling is refused, the run has ended; its result says how.
    const cancel = (): void => void this.engine.cancel(runId).catch(() => undefined);
    if (signal?.aborted === true) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    return () => signal?.removeEventListener('abort', cancel);
  }

  /** @throws RUN_NOT_FOUND each run of this graph is completed, or there is none */
  async #latestOpen(): Promise<string> {
    const { id } = this.graph;
    const run = await this.history.latest(id, { status: ['running', 'paused', 'cancelling', 'failed', 'cancelled'] });
    if (run !== undefined) return run.runId;
    const hint = `No run of ${id} is left to go on with. Begin one with invoke(), or name a completed one to fork it.`;
    throw new CairnError('RUN_NOT_FOUND', { runId: `of ${id}`, hint });
  }

  async #runToResume(target: RunTarget, by: string | undefined): Promise<string> {
    const { runId, seq, isHead } = await this.engine.locate(target);
    if (isHead) return runId;
    return (await this.engine.fork({ runId, seq }, { graph: this.graph, ...(by !== undefined && { by }) })).runId;
  }

  /** Gives all answers or none, so that a misspelt name or an answer that does not fit leaves nothing half done. */
  async #answerAll(
    runId: string,
    answers: Readonly<Record<string, unknown>>,
    {
      stays = false,
      ...who
    }: { readonly [Name in keyof Acting]: Acting[Name] | undefined } & { readonly stays?: boolean },
  ): Promise<void> {
    const names = Object.keys(answers);
    if (names.length === 0) return;
    const waits = await this.engine.waits(runId);
    // Names that match no open wait are passed on as they are: the engine knows whether such a wait was closed already.
    const found = names.map((name) => {
      const recorded = recordedKey(this.graph, name);
      return [findWait(waits, runId, recorded)?.waitId ?? recorded, answers[name]] as const;
    });
    const known = Object.fromEntries(Object.entries(who).filter(([, value]) => value !== undefined)) as Acting;
    await this.engine.answerAll(runId, found, { stays, ...known });
  }

  async #runOf(target: RunTarget): Promise<string> {
    return (await this.engine.locate(target)).runId;
  }

  /**
   * Resolves a name to a checkpoint. A run's id alone means its newest.
   * @throws CONFIG_INVALID it names no run
   */
  async #refOf(target: RunTarget): Promise<CheckpointRef> {
    const { runId, seq } = await this.engine.locate(target);
    return { runId, seq };
  }

  #forkOptions({ set, graph, answers, ...same }: BranchOptions<Answers>): ForkOptions {
    return {
      ...same,
      ...(answers === undefined ? {} : { answers: recordedKeys(this.graph, answers as AnyAnswers) }),
      graph: graph ?? this.graph,
      ...(set === undefined ? {} : { set: asPatches(set).map((patch) => recordedPatch(this.graph, patch)) }),
    };
  }
}

function asPatches(set: Readonly<Record<string, unknown>> | readonly Patch[]): readonly Patch[] {
  if (Array.isArray(set)) return set as readonly Patch[];
  return Object.entries(set).map(([path, value]) => ({ path: parsePath(path), value }));
}

/** A name for a wait: of its node, or of both. A node that was renamed is found under its recorded id. */
function recordedKey(graph: Graph, name: string): string {
  const whole = recordedIdOf(graph, name);
  const slash = name.indexOf('/');
  return whole !== name || slash < 0 ? whole : recordedIdOf(graph, name.slice(0, slash)) + name.slice(slash);
}

function recordedKeys(graph: Graph, answers: AnyAnswers): AnyAnswers {
  return Object.fromEntries(Object.entries(answers).map(([name, value]) => [recordedKey(graph, name), value]));
}

function recordedPatch(graph: Graph, patch: Patch): Patch {
  const [part, node, ...rest] = patch.path;
  if (part !== 'outputs' || node === undefined) return patch;
  return { ...patch, path: [part, recordedIdOf(graph, node), ...rest] };
}

function refuseSettings(settings: object): void {
  const [path] = Object.keys(settings);
  if (path === undefined) return;
  throw new CairnError('CONFIG_INVALID', { path, reason: 'the engine given has its own settings' });
}
