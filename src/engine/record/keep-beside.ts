/** Saves what a composed node has in addition to steps, when calls are retired or its state is saved (X4). */
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';
import { book } from './account.ts';
import { forgetDraws } from './drawn-values.ts';
import { keepLists } from './list-record.ts';
import { keepEvents } from './told-events.ts';

/** Saves costs, lists and events, so that later calls continue counting from there. Drawn values are counted anew. */
export function keepBeside(core: RunCore, activation: Activation): void {
  forgetDraws(core, activation);
  book(core, core.ledger.ownOf(activation));
  keepLists(core, activation);
  keepEvents(core, activation);
}
