/** The recorded lists of a composed node: what each call of `ctx.append` added (X4). */
import type { Activation } from '../live-run/loop.ts';
import { type RunCore, never } from '../live-run/run-core.ts';
import { ensureSteps } from './step-record.ts';
import { recordPathOf } from './node-path.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { Admitted } from '../../state/values/admit.ts';
import type { ListCursor } from '../live-run/open-calls.ts';
import { offloadForm } from '../validate/offload.ts';

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

/** Whether the n-th call of a list is on record as the original's, in a fork that went on otherwise. */
export function isLeftCall({ frameRun, node }: Activation, list: string, n: number): boolean {
  return n <= (ownOf(frameRun.openRecordOf(node)?.listsLeft, list) ?? 0);
}

/** Removes the calls of a list after the first `count`. Large items stay in the blob store. */
export async function dropCalls(core: RunCore, activation: Activation, list: string, count: number): Promise<void> {
  const { generation } = activation;
  const retained = callsOf(activation, list).slice(0, count);
  const forms = await Promise.all(retained.map((items) => offloadForm(core, items)));
  if (activation.generation !== generation || activation.phase !== 'running') return never();
  const at = recordPathOf(activation.path);
  core.draft.set([...at, 'lists', list], retained, encodeValue(forms));
  // What follows is the fork's own.
  if (isLeftCall(activation, list, 1)) core.draft.delete([...at, 'listsLeft', list]);
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
