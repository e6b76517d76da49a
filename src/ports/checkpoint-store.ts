/**
 * The port of stores that keep each checkpoint whole: a checkpoint can be saved and read by itself. For projects that have such a store
 * already.
 */
import type { EffectClass } from '../graph/contracts/node-contract.ts';

/** The partitions of a run's state. */
export interface GraphState {
  readonly input: unknown;
  readonly scratch: unknown;
  readonly artifacts: unknown;
  readonly diagnostics: unknown;
}

/** The recorded result of a node that has completed. */
export interface NodeResult<Output = unknown> {
  readonly effectClass: EffectClass;
  readonly output: Output;
  /** How long the node ran; 0 if less than 1 ms or not known. */
  readonly durationMs: number;
}

/** What a run had read of its memory and was about to write into it. */
export interface MemorySnapshot {
  readonly reads: readonly { readonly traceId: string; readonly content: string; readonly strength: number }[];
  readonly pendingWrites: readonly { readonly type: string; readonly content: string; readonly scope: string }[];
}

/** A run at one of its checkpoints: everything needed to go on from it, as plain JSON. */
export interface Checkpoint {
  readonly id: string;
  readonly graphId: string;
  readonly runId: string;
  /** Id of the node after which the checkpoint was made; `__start__` for the first. */
  readonly nodeId: string;
  /** When it was made, in epoch ms. */
  readonly timestamp: number;
  readonly state: GraphState;
  /** What the run has read of its memories so far, with a record of it (`snapshot` and `journaled`). Absent if it has read none. */
  readonly memorySnapshot?: MemorySnapshot;
  /** Results of the completed nodes, by node id. */
  readonly nodeResults: Readonly<Record<string, NodeResult>>;
  readonly visitedNodes: readonly string[];
  readonly skippedNodes?: readonly string[];
  /** Edges that fired (`from->to`) and whose target has not settled since. */
  readonly pendingEdges: readonly string[];
  /** The run's history up to this checkpoint, as `cairn export` writes it. A resume needs it; `fork` of a store must keep it unchanged. */
  readonly history?: string;
}

/** Description of a checkpoint in a list. */
export interface CheckpointMetadata {
  readonly id: string;
  readonly graphId: string;
  readonly runId: string;
  readonly nodeId: string;
  readonly timestamp: number;
  /** Length of the state as JSON, in characters. */
  readonly stateSize: number;
  readonly hasMemorySnapshot: boolean;
}

/**
 * Stores whole checkpoints. It knows neither claims nor messages: it does not stop two processes from advancing one run at the same time,
 * and an answer is safe only when the run has taken it in.
 *
 * @typeParam Saved - the type of the checkpoints, if they hold more than {@link Checkpoint}
 */
export interface ICheckpointStore<Saved extends Checkpoint = Checkpoint> {
  /** Saves a checkpoint; replaces one with the same id. The run goes on only after the promise has resolved. */
  save(checkpoint: Saved): Promise<void>;
  /** The checkpoint with this id, or null. */
  get(checkpointId: string): Promise<Saved | null>;
  /** The newest checkpoint of a run, or of a run at one node; null if there is none. */
  load(runId: string, nodeId?: string): Promise<Saved | null>;
  latest(runId: string): Promise<Saved | null>;
  /** Checkpoints of a graph, newest first. */
  list(graphId: string, options?: { readonly limit?: number; readonly runId?: string }): Promise<CheckpointMetadata[]>;
  delete(checkpointId: string): Promise<void>;
  /**
   * Saves a copy of a checkpoint under a new run id and returns that id. `patchState` replaces partitions of the state; all else is copied
   * unchanged.
   */
  fork(checkpointId: string, patchState?: Partial<GraphState>): Promise<string>;
}

/** The methods that a graph needs. Without `get`, a process can find a run of another process by the run's id only. */
export type CheckpointKeeper = Pick<ICheckpointStore, 'save' | 'latest'> & Partial<Pick<ICheckpointStore, 'get'>>;
