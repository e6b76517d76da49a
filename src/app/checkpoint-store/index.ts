/** The door `cairn-workflows/checkpoint`: checkpoint stores, of which each checkpoint is whole. */
export { checkpointStoreOver } from './checkpoint-store-over.ts';
export { InMemoryCheckpointStore } from './in-memory-checkpoint-store.ts';
export type {
  Checkpoint,
  CheckpointKeeper,
  CheckpointMetadata,
  GraphState,
  ICheckpointStore,
  MemorySnapshot,
  NodeResult,
} from '../../ports/checkpoint-store.ts';
