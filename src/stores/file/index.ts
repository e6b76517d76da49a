/** The entry point of the file store. */

export { openFileStore } from './file-store.ts';
export { openFileMemories } from './file-memories.ts';
