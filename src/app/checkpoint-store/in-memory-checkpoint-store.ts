/** A checkpoint store in memory, for tests, trials, and runs that need not outlive the process. */
import { randomUUID } from 'node:crypto';
import { CairnError } from '../../errors.ts';
import type { Checkpoint, CheckpointMetadata, GraphState, ICheckpointStore } from '../../ports/checkpoint-store.ts';

/** Keeps copies, so later changes to what was saved or read have no effect here. */
export class InMemoryCheckpointStore implements ICheckpointStore {
  /** Oldest first. A checkpoint that is saved again keeps its position. */
  readonly #checkpoints = new Map<string, Checkpoint>();

  save(checkpoint: Checkpoint): Promise<void> {
    this.#checkpoints.set(checkpoint.id, structuredClone(checkpoint));
    return Promise.resolve();
  }

  get(checkpointId: string): Promise<Checkpoint | null> {
    return Promise.resolve(structuredClone(this.#checkpoints.get(checkpointId) ?? null));
  }

  load(runId: string, nodeId?: string): Promise<Checkpoint | null> {
    const found = this.#newestFirst().find(
      (checkpoint) => checkpoint.runId === runId && (nodeId === undefined || checkpoint.nodeId === nodeId),
    );
    return Promise.resolve(structuredClone(found ?? null));
  }

  latest(runId: string): Promise<Checkpoint | null> {
    return this.load(runId);
  }

  list(
    graphId: string,
    { limit, runId }: { readonly limit?: number; readonly runId?: string } = {},
  ): Promise<CheckpointMetadata[]> {
    const found = this.#newestFirst().filter(
      (checkpoint) => checkpoint.graphId === graphId && (runId === undefined || checkpoint.runId === runId),
    );
    const page = limit === undefined || limit === 0 ? found : found.slice(0, limit);
    return Promise.resolve(page.map(describe));
  }

  delete(checkpointId: string): Promise<void> {
    this.#checkpoints.delete(checkpointId);
    return Promise.resolve();
  }

  /** Copies a checkpoint under a new run id. Each partition in the patch replaces that of the checkpoint, whole. @throws CHECKPOINT_NOT_FOUND */
  async fork(checkpointId: string, patchState: Partial<GraphState> = {}): Promise<string> {
    const source = await this.get(checkpointId);
    if (source === null) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: checkpointId });
    const runId = randomUUID();
    const state = { ...source.state, ...patchState };
    await this.save({ ...source, id: randomUUID(), runId, timestamp: Math.max(Date.now(), source.timestamp), state });
    return runId;
  }

  #newestFirst(): readonly Checkpoint[] {
    return [...this.#checkpoints.values()].reverse().sort((a, b) => b.timestamp - a.timestamp);
  }
}

function describe({ id, graphId, runId, nodeId, timestamp, state, memorySnapshot }: Checkpoint): CheckpointMetadata {
  const stateSize = JSON.stringify(state).length;
  return { id, graphId, runId, nodeId, timestamp, stateSize, hasMemorySnapshot: memorySnapshot !== undefined };
}
