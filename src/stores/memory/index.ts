/** The entry point of the memory store. */

export { createMemoryMemories } from './memory-memories.ts';
export { createMemoryStore, type MemoryStoreOptions } from './memory-store.ts';
