/** The door `cairn-workflows/checkpoint`: checkpoint stores, of which each checkpoint is whole. */
export { InMemoryCheckpointStore } from './in-memory-checkpoint-store.ts';
export type {
  Checkpoint,
  CheckpointKeeper,
  CheckpointMetadata,
  GraphState,
  ICheckpointStore,
  NodeResult,
} from '../../ports/checkpoint-store.ts';
