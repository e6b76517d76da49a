/** The options of the calls of a compiled graph. */
import type { Engine, ForkOptions, Patch, PreviewOptions, ResumeOptions, RunMeta } from '../../engine/api.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { Graph } from '../../graph/graph.ts';
import type { CheckpointName } from '../../history/read/references.ts';
import type { Schedule } from '../../ports/schedule.ts';
import type { Tools } from '../../graph/tool.ts';
import type { EngineSettings } from './default-engine.ts';

/** Parts that a graph is missing until it is compiled. */
export interface GraphParts {
  /** The tools that the graph's `toolNode('name')` nodes refer to, by name. */
  readonly tools?: Tools;
}

/** Options of `compile`: the graph's parts, and either an existing engine or the settings for a new one. */
export type CompileOptions = GraphParts &
  (
    | (EngineSettings & { readonly engine?: never })
    /** An engine to share among several graphs, so that their runs are kept in one place. `close` does not close it. */
    | ({ readonly engine: Engine } & { readonly [Setting in keyof EngineSettings]?: never })
  );

/**
 * A run or one of its checkpoints. Either `{ runId, seq }` (every durable event and every result has these fields) or a name: a run's id or
 * key, `RUN@12`, `RUN@tag`, `RUN@head~2`, or a checkpoint's id. A prefix of an id is refused, because a program's ids may begin alike. To
 * resolve what a person typed, use `engine.locate(name, { byPrefix: true })`.
 */
export type RunTarget = CheckpointName;

/** Answers by the name of their wait, for graphs whose names are not known to the type checker. */
export type AnyAnswers = Readonly<Record<string, unknown>>;

export interface InvokeOptions {
  /** Id of the new run. Default: a fresh one. Invoking twice with one id is the same run (E2). */
  readonly runId?: string;
  readonly meta?: RunMeta;
  /** W3C trace context that the run belongs to; recorded. Default: the telemetry's current one. */
  readonly traceparent?: string;
  /** What the run may spend, by unit: `{ usd: 5 }`. It replaces the graph's budget. */
  readonly budget?: Amounts;
  /** Aborting it cancels the run. */
  readonly signal?: AbortSignal;
}

/** Options of `start`. With `detach` the run is only recorded, for another process to advance. */
export interface BeginOptions extends Omit<InvokeOptions, 'signal'> {
  readonly detach?: boolean;
  /** Queue, priority and due time, for workers that pick up a detached run. */
  readonly schedule?: Schedule;
}

export interface StreamOptions extends InvokeOptions {
  /** Durable events after this seq. Default: all. */
  readonly after?: number;
  /** Whether to include live events, which are never stored: started, emitted, retrying and the like. Default true. */
  readonly live?: boolean;
}

export interface ContinueOptions<Answers = AnyAnswers> extends Omit<ResumeOptions, 'graph'> {
  /** Answers to open waits. Keys are wait ids, question names, or ids or paths (`a/b`) of the nodes that ask. */
  readonly answers?: Answers;
}

export interface BranchOptions<Answers = AnyAnswers> extends Omit<ForkOptions, 'set' | 'graph' | 'answers'> {
  /** Other answers to questions that the original run was asked. Keys are as in `resume`. */
  readonly answers?: Answers;
  /** Changes of state, by dotted path: `{ 'scratch.confidence': 0.95 }`. Use patches for keys that contain a dot. */
  readonly set?: Readonly<Record<string, unknown>> | readonly Patch[];
  /** A changed graph to go on under. Default: this one. */
  readonly graph?: Graph;
}

/** What to preview: a fork, or a resume with its options. */
export type PreviewedOptions<Answers = AnyAnswers> = BranchOptions<Answers> & Omit<PreviewOptions, keyof ForkOptions>;
