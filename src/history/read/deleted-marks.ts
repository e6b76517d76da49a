/** Marks of deleted checkpoints, which are kept as tags that users do not see. */
import type { RunKey, Store, TagRow } from '../../ports/store.ts';

/**
 * Marks of checkpoints that were deleted while a fork may still take over what they recorded (D6). They are tags whose names no user can
 * give: the row stays, and lists and names pass it over.
 */
const deletedMark = '.deleted.';

/** The tags of a run that users gave. */
export async function readUserTags(store: Store, run: RunKey): Promise<readonly TagRow[]> {
  return (await store.readTags(run)).filter(({ name }) => !isDeletedMark(name));
}

export function isDeletedMark(tag: string): boolean {
  return tag.startsWith(deletedMark);
}

/** Marks a checkpoint as deleted. */
export async function markDeleted(store: Store, run: RunKey, seq: number): Promise<void> {
  await store.tagCheckpoint(run, { name: `${deletedMark}${seq}`, seq });
}

/** Removes the marks of rows that are about to go. */
export async function removeMarks(store: Store, run: RunKey, seqs: readonly number[]): Promise<void> {
  const going = new Set(seqs);
  for (const { name, seq } of await store.readTags(run))
    if (isDeletedMark(name) && going.has(seq)) await store.removeTag(run, name);
}
