/** A run at a checkpoint as one value, as programs are given it: the same for every dialect (C9). */
import type { NodeResult } from '../../ports/checkpoint-store.ts';
import type { StateAt } from './state-at.ts';

/** The outputs of a state by node id. */
type OutputsOf<State> = State extends { readonly outputs: infer Outputs } ? Outputs : Readonly<Record<string, unknown>>;

/** Where the nodes of a run's own graph stand. */
export interface Positions<Id extends string = string> {
  /** Nodes whose last visit completed. */
  readonly visitedNodes: readonly Id[];
  /** Nodes that a routing decision passed by. */
  readonly skippedNodes: readonly Id[];
  /** Edges that fired, `from->to`, to nodes that have not settled since. */
  readonly pendingEdges: readonly string[];
}

/** A run at one of its checkpoints, in the form that checkpoint stores keep; values are as they were recorded. */
export interface WholeCheckpoint<State = StateAt> extends Positions<keyof OutputsOf<State> & string> {
  readonly id: string;
  readonly graphId: string;
  readonly runId: string;
  /** The node at whose boundary it was made; `__start__` before any. */
  readonly nodeId: string;
  /** Epoch ms. */
  readonly timestamp: number;
  readonly state: State;
  /** Of the nodes that completed, by id. */
  readonly nodeResults: {
    readonly [Id in keyof OutputsOf<State>]?: NodeResult<Exclude<OutputsOf<State>[Id], undefined>>;
  };
}
