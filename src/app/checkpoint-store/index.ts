/** Checkpoint stores, which keep each checkpoint whole: the entry point `cairn-workflows/checkpoint`. */
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
