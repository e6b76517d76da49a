/** Says that a list is empty, and why, if it is because the store does not exist. */
import { missingStore } from '../app/place/open-reading.ts';
import type { Session } from './session.ts';
import { printable } from './text/printable.ts';

/** What to do about a store that does not exist. */
export const namesStore = 'Name the store with --store, or change to the folder it belongs to.';

/** @param words - without a full stop, such as `No runs here` */
export async function noteNone(session: Session, words: string): Promise<void> {
  const missing = await missingStore(session);
  session.screen.note(missing === undefined ? `${words}.` : `${words}: there is no ${printable(missing)}`);
}
