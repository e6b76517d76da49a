/** The entry point of the memory store. */

export { createMemoryMemories, createMemoryStore, type MemoryStoreOptions } from './memory-store.ts';
