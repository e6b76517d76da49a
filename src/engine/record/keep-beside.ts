/** What a composed node has beside its steps, made a part of where its function goes on from: by a save, and when calls are retired (X4). */
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';
import { book } from './account.ts';
import { keepLists } from './list-record.ts';
import { keepEvents } from './told-events.ts';

/** Costs, lists and events: calls that come after count on. */
export function keepBeside(core: RunCore, activation: Activation): void {
  book(core, core.ledger.ownOf(activation));
  keepLists(core, activation);
  keepEvents(core, activation);
}
