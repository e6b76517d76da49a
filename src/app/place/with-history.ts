/** Opens a store and its blobs for commands that read states. */
import { createFileBlobs } from '../../blobs/file-blobs.ts';
import type { HistoryContext } from '../../operations/declare/operation.ts';
import { blobsBeside, openExplainer } from './open-history.ts';
import { type StoreChoice, withReading } from './open-reading.ts';

/** Opens them, calls a function, and closes them. @throws CONFIG_INVALID, STORE_* as the store */
export function withHistory<Result>(
  choice: StoreChoice,
  read: (context: HistoryContext) => Promise<Result>,
): Promise<Result> {
  return withReading(choice, (context, place) => {
    const blobs =
      'url' in place ? blobsBeside(context.store) : createFileBlobs('blobs' in place ? place.blobs : choice.cwd);
    return read({ ...context, blobs, explainChoice: openExplainer });
  });
}
