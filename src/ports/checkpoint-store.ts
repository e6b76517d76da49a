/** A store of whole checkpoints, as people already have one: each checkpoint is saved alone and can be read alone. */
import type { EffectClass } from '../graph/contracts/node-contract.ts';

/** The partitions of a run's state. */
export interface GraphState {
  readonly input: unknown;
  readonly scratch: unknown;
  readonly artifacts: unknown;
  readonly diagnostics: unknown;
}

/** What became of a node that has completed. */
export interface NodeResult<Output = unknown> {
  readonly effectClass: EffectClass;
  readonly output: Output;
  /** 0 where it was less than one, or is not known. */
  readonly durationMs: number;
}

/** What a run had read of its memory and was about to write into it. */
export interface MemorySnapshot {
  readonly reads: readonly { readonly traceId: string; readonly content: string; readonly strength: number }[];
  readonly pendingWrites: readonly { readonly type: string; readonly content: string; readonly scope: string }[];
}

/** A run at one of its checkpoints: all that is needed to go on from it. Plain JSON. */
export interface Checkpoint {
  readonly id: string;
  readonly graphId: string;
  readonly runId: string;
  /** The node at whose boundary it was made; `__start__` before any. */
  readonly nodeId: string;
  /** Epoch ms. */
  readonly timestamp: number;
  readonly state: GraphState;
  /** Of runtimes that take one; Cairn does not. */
  readonly memorySnapshot?: MemorySnapshot;
  /** By node id. */
  readonly nodeResults: Readonly<Record<string, NodeResult>>;
  readonly visitedNodes: readonly string[];
  readonly skippedNodes?: readonly string[];
  /** Edges that fired, `from->to`, to nodes that have not settled since. */
  readonly pendingEdges: readonly string[];
  /** The run's history up to here, as `cairn export` writes it. What a resume goes on from; kept as it is by a store's `fork`. */
  readonly history?: string;
}

/** What a list shows of a checkpoint. */
export interface CheckpointMetadata {
  readonly id: string;
  readonly graphId: string;
  readonly runId: string;
  readonly nodeId: string;
  readonly timestamp: number;
  /** Of the state as JSON, in characters. */
  readonly stateSize: number;
  readonly hasMemorySnapshot: boolean;
}

/**
 * Where whole checkpoints are kept. It knows no claims and no messages: two processes that go on with one run at the same time are not
 * kept apart, and an answer is safe only when the run has taken it in.
 *
 * @typeParam Saved - what the checkpoints hold, where it is more than is named here
 */
export interface ICheckpointStore<Saved extends Checkpoint = Checkpoint> {
  /** Replaces one of the same id. A run goes on only when it has resolved. */
  save(checkpoint: Saved): Promise<void>;
  /** Null: there is none of this id. */
  get(checkpointId: string): Promise<Saved | null>;
  /** The newest of a run, or of a run at a node. */
  load(runId: string, nodeId?: string): Promise<Saved | null>;
  latest(runId: string): Promise<Saved | null>;
  /** Newest first. */
  list(graphId: string, options?: { readonly limit?: number; readonly runId?: string }): Promise<CheckpointMetadata[]>;
  delete(checkpointId: string): Promise<void>;
  /** Saves a copy under a new run id, which it returns, with other values in some partitions. Nothing else is changed. */
  fork(checkpointId: string, patchState?: Partial<GraphState>): Promise<string>;
}

/** What a graph asks of one. Without `get`, a process that does not have a run finds it by the run's id only. */
export type CheckpointKeeper = Pick<ICheckpointStore, 'save' | 'latest'> & Partial<Pick<ICheckpointStore, 'get'>>;
