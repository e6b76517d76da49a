/** The recorded lists of a composed node: what each call of `ctx.append` added (X4). */
import { CairnError } from '../../errors.ts';
import type { DrawnKind, DrawnValue, RunTree, StepRecord } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import { isEffect, type RunCore, never } from '../live-run/run-core.ts';
import { isInsideStepOf } from '../live-run/attempt-scope.ts';
import { ensureSteps, recordIn } from './step-record.ts';
import { recordPathOf } from './node-record.ts';
import { book } from './account.ts';
import { encodeValue, type Admitted } from '../../state/values/codec.ts';
import type { ListCursor, RecordedEvent } from '../live-run/open-calls.ts';
import { offloadForm } from '../validate/admit-outcome.ts';
import type { ChangePart } from '../../history/stored/change.ts';

// Values that a function draws from outside the run: times, random numbers, ids. A repeated function gets what it drew before, so that prompts
// and step inputs made of them stay the same (X4.17). Like recorded events, they are written together with the next recorded call; if the
// attempt dies before, nothing has been recorded that was made of them.

/** The n-th value of its kind in this visit, counted from its last save or retirement. @throws RUN_LIMIT it draws more than allowed */
export function draw<Value extends DrawnValue>(
  core: RunCore,
  activation: Activation,
  kind: DrawnKind,
  make: () => Value,
): Value {
  // A step is recorded as a whole, and a node that is an effect is never repeated unasked.
  if (isEffect(activation.node) || activation.phase !== 'running' || isInsideStepOf(activation)) return make();
  const draws = (activation.draws ??= { made: new Map(), pending: new Map() });
  const recorded = activation.frameRun.openRecordOf(activation.node)?.drawn?.[kind] ?? [];
  const at = draws.made.get(kind) ?? 0;
  draws.made.set(kind, at + 1);
  if (at < recorded.length) return recorded[at] as Value;
  const { steps } = core.env.limits;
  if (at >= steps) throw new CairnError('RUN_LIMIT', { limit: 'steps', value: steps });
  const value = make();
  const pending = draws.pending.get(kind);
  if (pending === undefined) draws.pending.set(kind, [value]);
  else pending.push(value);
  return value;
}

/** Writes the values drawn since the last recorded call. */
export function enterDraws(core: RunCore, activation: Activation): void {
  const pending = activation.draws?.pending;
  if (pending === undefined || pending.size === 0) return;
  const { drawn } = ensureSteps(activation);
  const path = [...recordPathOf(activation.path), 'drawn'];
  if (drawn === undefined) core.draft.set(path, {}, '{}');
  for (const [kind, values] of pending) {
    const json = JSON.stringify(values);
    if (drawn?.[kind] === undefined) core.draft.set([...path, kind], values, json);
    else core.draft.append([...path, kind], values, json);
  }
  pending.clear();
}

/** The place of the times that were drawn since the last recorded call, among all of the visit; nothing if there are none. */
export function timesDrawn({ draws, frameRun, node }: Activation): Pick<StepRecord, 'drew'> {
  const count = draws?.pending.get('now')?.length ?? 0;
  const from = frameRun.openRecordOf(node)?.drawn?.now?.length ?? 0;
  return count === 0 ? {} : { drew: [from, from + count] };
}

/** Forgets the values drawn so far: a function that goes on from what it saved or retired does not draw them again. */
export function forgetDraws(core: RunCore, activation: Activation): void {
  activation.draws = undefined;
  if (ensureSteps(activation).drawn !== undefined) core.draft.delete([...recordPathOf(activation.path), 'drawn']);
}

type Calls = readonly (readonly unknown[])[];

/** The items that the calls of a list added, in call order. */
export function callsOf({ frameRun, node }: Activation, list: string): Calls {
  return ownOf(frameRun.openRecordOf(node)?.lists, list) ?? [];
}

/** The number of calls of a list before the last save. */
export function callsBeforeSave({ frameRun, node }: Activation, list: string): number {
  return ownOf(frameRun.openRecordOf(node)?.listsFrom, list) ?? 0;
}

/** The function's position in a list. After a save it begins behind the calls made before. */
export function cursorOf(activation: Activation, list: string): ListCursor {
  activation.listCursors ??= new Map();
  let cursor = activation.listCursors.get(list);
  if (cursor === undefined) {
    const before = callsBeforeSave(activation, list);
    cursor = { called: before, recorded: before, last: Promise.resolve() };
    activation.listCursors.set(list, cursor);
  }
  return cursor;
}

/** Records one more call. The op contains only the call's own items, however long the list is. */
export function addCall({ draft }: RunCore, activation: Activation, list: string, { value, json }: Admitted): void {
  const { lists } = ensureSteps(activation);
  const path = [...recordPathOf(activation.path), 'lists'];
  if (lists === undefined) draft.set(path, {}, '{}');
  if (ownOf(lists, list) === undefined) draft.set([...path, list], [value], `[${json}]`);
  else draft.append([...path, list], [value], `[${json}]`);
}

/** Removes the calls of a list after the first `count`. Large items stay in the blob store. */
export async function dropCalls(core: RunCore, activation: Activation, list: string, count: number): Promise<void> {
  const { generation } = activation;
  const retained = callsOf(activation, list).slice(0, count);
  const forms = await Promise.all(retained.map((items) => offloadForm(core, items)));
  if (activation.generation !== generation || activation.phase !== 'running') return never();
  core.draft.set([...recordPathOf(activation.path), 'lists', list], retained, encodeValue(forms));
}

/** Makes the present content of the lists part of the state from which the function goes on. */
export function keepLists(core: RunCore, activation: Activation): void {
  const names = Object.keys(activation.frameRun.openRecordOf(activation.node)?.lists ?? {});
  if (names.length === 0) return;
  const from = names.map((list) => [list, callsOf(activation, list).length] as const);
  core.draft.set([...recordPathOf(activation.path), 'listsFrom'], Object.fromEntries(from));
}

/** Removes the recorded calls that the function did not repeat. */
export async function dropUnmade(core: RunCore, activation: Activation): Promise<void> {
  const lists = activation.frameRun.openRecordOf(activation.node)?.lists ?? {};
  for (const [list, calls] of Object.entries(lists)) {
    const { recorded } = cursorOf(activation, list);
    if (calls.length > recorded) await dropCalls(core, activation, list, recorded);
  }
}

/** Whether a call was recorded with the same items. */
export function isSameCall(recorded: readonly unknown[], admitted: Admitted): boolean {
  return encodeValue(recorded) === admitted.json;
}

function ownOf<Value>(table: Readonly<Record<string, Value>> | undefined, key: string): Value | undefined {
  return table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}

// Identifies the visit that a part of a change belongs to: the node's visit, those of the nodes around it and, for a step, the number of
// saves (X1, X2).

/** Absent fields mean the first visit, first visits around it, and no saves. */
export type VisitPart = Pick<ChangePart, 'visit' | 'outer' | 'saves'>;

function visitPart(outer: readonly number[], visit: number, saves: number): VisitPart {
  return {
    ...(visit > 1 ? { visit } : {}),
    ...(outer.some((above) => above > 1) ? { outer } : {}),
    ...(saves > 0 ? { saves } : {}),
  };
}

/** The visit of an activation, and of its next step. */
export function visitOf({ frameRun, node, visit }: Activation): VisitPart {
  return visitPart(frameRun.outerVisits, visit, frameRun.openRecordOf(node)?.saves ?? 0);
}

/** The visit in a node's record in a tree. */
export function visitAt(root: RunTree, nodePath: readonly string[]): VisitPart {
  // Paths alternate between node ids and names of child runs.
  const places = nodePath.map((_, index) => nodePath.slice(0, index + 1)).filter((_, index) => index % 2 === 0);
  const records = places.map((place) => recordIn(root, place));
  const visits = records.map((record) => record?.visits ?? 1);
  return visitPart(visits.slice(0, -1), visits.at(-1) ?? 1, records.at(-1)?.saves ?? 0);
}

/** A key for a visit of a node, or for a step of it, in tables. Records of different visits must not be mixed. */
export function placeOf(path: readonly string[], { visit = 1, outer, saves = 0 }: VisitPart, step?: string): string {
  const node = JSON.stringify(outer === undefined ? [path, visit] : [path, visit, outer]);
  return step === undefined ? node : `${node} ${saves} ${step}`;
}

/** The key of an activation, or of its next step. */
export function placeIn(activation: Activation, step?: string): string {
  return placeOf(activation.path, visitOf(activation), step);
}

// Recorded events on their way into the history (E11). An event waits for the function's next recorded call, or for the end of the attempt,
// and is written in the same checkpoint. If the attempt dies before, nothing of the event remains, so a repeated function does not emit it
// twice.

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
export function keepEvents(core: RunCore, activation: Activation): void {
  enterEvents(core, activation);
  if (activation.eventCounts === undefined) return;
  const counts = Object.fromEntries(activation.eventCounts);
  for (const field of ['events', 'eventsFrom'])
    core.draft.set([...recordPathOf(activation.path), field], { ...counts }, encodeValue(counts));
}

// Saves what a composed node has in addition to steps, when calls are retired or its state is saved (X4).

/** Saves costs, lists and events, so that later calls continue counting from there. Drawn values are counted anew. */
export function keepBeside(core: RunCore, activation: Activation): void {
  forgetDraws(core, activation);
  book(core, core.ledger.ownOf(activation));
  keepLists(core, activation);
  keepEvents(core, activation);
}
