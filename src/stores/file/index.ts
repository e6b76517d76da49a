/** The entry point of the file store. */

export { openFileStore, type FileStoreOptions } from './file-store.ts';
export { openFileMemories } from './file-memories.ts';
