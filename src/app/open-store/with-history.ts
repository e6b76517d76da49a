/** Opens a store and its blobs for commands that read states. */
import type { HistoryContext } from '../../operations/contract/operation.ts';
import { blobsOf } from './open-blobs.ts';
import { openExplainer } from './open-history.ts';
import { type StoreChoice, withReading } from './open-reading.ts';

/** Opens them, calls a function, and closes them. @throws CONFIG_INVALID, STORE_* as the store */
export function withHistory<Result>(
  choice: StoreChoice,
  read: (context: HistoryContext) => Promise<Result>,
): Promise<Result> {
  return withReading(choice, (context, blobsUrl) =>
    read({ ...context, blobs: blobsOf(context.store, blobsUrl), explainChoice: openExplainer }),
  );
}
