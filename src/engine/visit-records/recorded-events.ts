/** Recorded events on their way into the history (E11). An event waits for the function's next recorded call, or for the end of the attempt, and is written in the same checkpoint. If the attempt dies before, nothing of the event remains, so a repeated function does not tell it twice. */
import type { Activation } from '../live-run/loop.ts';
import type { RunCore } from '../live-run/run-core.ts';
import { ensureSteps } from './step-record.ts';
import { recordPathOf } from './node-path.ts';
import { book } from './account.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { RecordedEvent } from '../live-run/open-calls.ts';
import { enterDraws, forgetDraws } from './drawn-values.ts';
import { visitOf } from './visit-part.ts';
import { keepLists } from './list-record.ts';

/** Keeps an event until it can be written. An event that was written before the function was repeated is skipped. */
export function tellEvent(activation: Activation, event: RecordedEvent): void {
  const { frameRun, node } = activation;
  const record = frameRun.openRecordOf(node);
  activation.eventCounts ??= new Map(Object.entries(record?.eventsFrom ?? {}));
  const count = (activation.eventCounts.get(event.name) ?? 0) + 1;
  activation.eventCounts.set(event.name, count);
  const entered = new Map(Object.entries(record?.events ?? {})).get(event.name) ?? 0;
  if (count > entered) (activation.events ??= []).push(event);
}

/** Writes the waiting events, and the values drawn, together with a recorded call. A repeated function does not emit them again. */
export function enterEvents(core: RunCore, activation: Activation): void {
  enterDraws(core, activation);
  const { events } = activation;
  if (events === undefined) return;
  const entered = new Map(Object.entries(ensureSteps(activation).events ?? {}));
  for (const { name } of events) entered.set(name, (entered.get(name) ?? 0) + 1);
  core.draft.set([...recordPathOf(activation.path), 'events'], Object.fromEntries(entered));
  noteEvents(core, activation);
}

/** Writes the waiting events together with the end of their attempt. Another attempt emits its own. */
export function noteEvents(core: RunCore, activation: Activation): void {
  const { events = [], attempt } = activation;
  activation.events = undefined;
  for (const { name, detail } of events)
    core.draft.note({
      kind: 'event',
      node: activation.path,
      name,
      detail,
      ...(attempt > 1 ? { attempt } : {}),
      ...visitOf(activation),
    });
}

/** Makes the emitted events part of the state from which the function goes on after a save. */
function keepEvents(core: RunCore, activation: Activation): void {
  enterEvents(core, activation);
  if (activation.eventCounts === undefined) return;
  const counts = Object.fromEntries(activation.eventCounts);
  for (const field of ['events', 'eventsFrom'])
    core.draft.set([...recordPathOf(activation.path), field], { ...counts }, encodeValue(counts));
}

/** Saves costs, lists and events, so that later calls continue counting from there. Drawn values are counted anew. */
export function keepBeside(core: RunCore, activation: Activation): void {
  forgetDraws(core, activation);
  book(core, core.ledger.ownOf(activation));
  keepLists(core, activation);
  keepEvents(core, activation);
}
