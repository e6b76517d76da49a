/** What the calls of a compiled graph may be given. */
import type { Engine, ForkOptions, Patch, PreviewOptions, ResumeOptions, RunMeta } from '../../engine/api.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { Graph } from '../../graph/graph.ts';
import type { CheckpointName } from '../../history/read/references.ts';
import type { Schedule } from '../../ports/schedule.ts';
import type { Tools } from '../../graph/tool.ts';
import type { EngineSettings } from './default-engine.ts';

/** What a graph is completed with. */
export interface GraphParts {
  /** Tools by the names that `toolNode('name')` calls them by. */
  readonly tools?: Tools;
}

/** What `compile` takes: the graph's parts, and an engine that is there already, or what to make one of. */
export type CompileOptions = GraphParts &
  (
    | (EngineSettings & { readonly engine?: never })
    /** Keeps runs of several graphs in one place. `close` leaves such an engine open. */
    | ({ readonly engine: Engine } & { readonly [Setting in keyof EngineSettings]?: never })
  );

/**
 * A run, or a checkpoint of it: `{ runId, seq }`, which every durable event and every result is, or a name: a run's id or its key,
 * `RUN@12`, `RUN@tag`, `RUN@head~2`, or a checkpoint's id. Beginnings of ids are refused: those of a program's runs may begin
 * alike, and `engine.locate(name, { byPrefix: true })` finds what a person means.
 */
export type RunTarget = CheckpointName;

/** Answers by name; nothing is known of the names. */
export type AnyAnswers = Readonly<Record<string, unknown>>;

export interface InvokeOptions {
  /** Default: a fresh one. Invoking twice with one id is the same run (E2). */
  readonly runId?: string;
  readonly meta?: RunMeta;
  /** W3C trace context that the run belongs to; recorded. Default: what the telemetry says. */
  readonly traceparent?: string;
  /** What the run may spend, by unit, in place of what the graph says: `{ usd: 5 }`. */
  readonly budget?: Amounts;
  /** Cancels the run when it is aborted. */
  readonly signal?: AbortSignal;
}

/** What `start` takes. With `detach` the run is only recorded, for another process to advance. */
export interface BeginOptions extends Omit<InvokeOptions, 'signal'> {
  readonly detach?: boolean;
  /** When workers take a detached run up, and from which queue. */
  readonly schedule?: Schedule;
}

export interface StreamOptions extends InvokeOptions {
  /** Durable events after this seq. Default: all. */
  readonly after?: number;
  /** Also events that are never stored: started, emitted, retrying. Default true. */
  readonly live?: boolean;
}

export interface ContinueOptions<Answers = AnyAnswers> extends Omit<ResumeOptions, 'graph'> {
  /** Answers to open waits, by wait id, by question name, or by the id or path (`a/b`) of the node that asks. */
  readonly answers?: Answers;
}

export interface BranchOptions<Answers = AnyAnswers> extends Omit<ForkOptions, 'set' | 'graph' | 'answers'> {
  /** Other answers to questions that the run was asked, named as in `resume`. */
  readonly answers?: Answers;
  /** Changes of state: `{ 'scratch.confidence': 0.95 }`, or patches, where a key has a dot in it. */
  readonly set?: Readonly<Record<string, unknown>> | readonly Patch[];
  /** Go on under another graph. Default: this one. */
  readonly graph?: Graph;
}

/** What is previewed: a fork, or a resume with its options. */
export type PreviewedOptions<Answers = AnyAnswers> = BranchOptions<Answers> & Omit<PreviewOptions, keyof ForkOptions>;
