/**
 * Recorded events on their way into the history (E11). What a function tells waits for its next recorded call, or for the end of its
 * attempt, and enters with that in one checkpoint: an attempt that dies before leaves nothing of it, and is not there to tell it twice.
 */
import { encodeValue } from '../../state/values/codec.ts';
import type { Activation, ToldEvent } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';
import { ensureSteps } from './step-record.ts';
import { recordPathOf } from './tree-path.ts';
import { visitOf } from './visit-part.ts';

/** Keeps an event until it can enter; one that entered before the function was repeated is passed over. */
export function tellEvent(activation: Activation, event: ToldEvent): void {
  const { frameRun, node } = activation;
  const record = frameRun.openRecordOf(node);
  activation.eventCounts ??= new Map(Object.entries(record?.eventsFrom ?? {}));
  const count = (activation.eventCounts.get(event.name) ?? 0) + 1;
  activation.eventCounts.set(event.name, count);
  const entered = new Map(Object.entries(record?.events ?? {})).get(event.name) ?? 0;
  if (count > entered) (activation.events ??= []).push(event);
}

/** Enters what was told, together with a call that is recorded: a function that is repeated does not tell it again. */
export function enterEvents(core: RunCore, activation: Activation): void {
  const { events } = activation;
  if (events === undefined) return;
  const entered = new Map(Object.entries(ensureSteps(activation).events ?? {}));
  for (const { name } of events) entered.set(name, (entered.get(name) ?? 0) + 1);
  core.draft.set([...recordPathOf(activation.path), 'events'], Object.fromEntries(entered));
  noteEvents(core, activation);
}

/** Enters what was told, together with the end of its attempt: another attempt tells its own. */
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

/** Makes what was told a part of where the function goes on from after a save. */
export function keepEvents(core: RunCore, activation: Activation): void {
  enterEvents(core, activation);
  if (activation.eventCounts === undefined) return;
  const told = Object.fromEntries(activation.eventCounts);
  for (const field of ['events', 'eventsFrom'])
    core.draft.set([...recordPathOf(activation.path), field], { ...told }, encodeValue(told));
}
