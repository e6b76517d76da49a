/** A run at a checkpoint as one value, for programs; the same for every dialect (C9). */
import type { NodeResult } from '../../ports/checkpoint-store.ts';
import type { StateAt } from './state-at.ts';

/** How far a run is: nodes settled, and the wave it works on. */
export interface RunProgress {
  /** Ids of all nodes that the author wrote, in the order of the definition. */
  readonly nodes: readonly string[];
  /** Ids of the nodes that completed, in the order of the definition. */
  readonly completed: readonly string[];
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** The wave of the first node that is not settled, counted from 0; as many as there are waves: all are. */
  readonly wave: number;
  readonly waveCount: number;
  /** Nodes settled of all, 0 to 100. */
  readonly percent: number;
}

/** The outputs of a state by node id. */
type OutputsOf<State> = State extends { readonly outputs: infer Outputs } ? Outputs : Readonly<Record<string, unknown>>;

/** How far the nodes of a run's own graph have come. */
export interface Positions<Id extends string = string> {
  /** Nodes whose last visit completed. */
  readonly visitedNodes: readonly Id[];
  /** Nodes that routing decisions skipped. */
  readonly skippedNodes: readonly Id[];
  /** Edges that fired (`from->to`) and whose target has not settled since. */
  readonly pendingEdges: readonly string[];
}

/** A run at one of its checkpoints, in the form that checkpoint stores keep, with values as they were recorded. */
export interface WholeCheckpoint<State = StateAt> extends Positions<keyof OutputsOf<State> & string> {
  readonly id: string;
  readonly graphId: string;
  readonly runId: string;
  /** Id of the node after which the checkpoint was made; `__start__` for the first. */
  readonly nodeId: string;
  /** Epoch ms. */
  readonly timestamp: number;
  readonly state: State;
  /** Results of the nodes that completed, by node id. */
  readonly nodeResults: {
    readonly [Id in keyof OutputsOf<State>]?: NodeResult<Exclude<OutputsOf<State>[Id], undefined>>;
  };
  readonly progress: RunProgress;
}
