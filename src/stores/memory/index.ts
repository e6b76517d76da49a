/** The entry point of the memory store. */

export { createMemoryStore, type MemoryStoreOptions } from './memory-store.ts';
export { createMemoryMemories } from './memory-memories.ts';
