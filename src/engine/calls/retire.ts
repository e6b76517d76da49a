/** `ctx.retire`: removes earlier calls of a composed node from the live state; its function goes on from what it passes (X4). */
import { CairnError } from '../../errors.ts';
import { admitValue } from '../../state/values/admit.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { deepFreeze } from '../../state/values/freeze.ts';
import { checkWritten } from '../validate/checkpoint-size.ts';
import { offloadForm } from '../validate/offload.ts';
import { recountSteps } from '../visit-records/finish-step.ts';
import { callKey, retiredCalls } from '../visit-records/call-keys.ts';
import { keepBeside } from '../visit-records/recorded-events.ts';
import { dropUnmade } from '../visit-records/list-record.ts';
import { visitOf } from '../visit-records/visit-part.ts';
import { ensureSteps } from '../visit-records/step-record.ts';
import { recordPathOf } from '../visit-records/node-path.ts';
import type { Activation } from '../live-run/loop.ts';
import { guardCall, type RunCore } from '../live-run/run-core.ts';

/**
 * Retires calls. What is retired and where the function goes on become one checkpoint. If the process dies before that is durable, the
 * function is repeated with all its calls; after it, from there. In both cases later calls get the same keys.
 *
 * @throws NODE_CALL_REFUSED, VALUE_UNSTORABLE, VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE
 */
export async function retire(
  core: RunCore,
  activation: Activation,
  from: unknown,
  keep: readonly string[],
): Promise<void> {
  const { generation } = activation;
  guardCall(activation, generation, 'retire');
  if (from === undefined) refuse(activation, 'it must say where the function goes on from');
  const path = [...activation.path, 'retired'];
  const admitted = admitValue(from, path, core.env.bounds, core.secrets.intake);
  checkWritten(core, activation, () => [{ path, ...admitted }]);
  const stored = await offloadForm(core, admitted.value);
  await dropUnmade(core, activation);
  guardCall(activation, generation, 'retire');
  if (activation.stepsInFlight + activation.childrenInFlight + activation.openWaits > 0)
    refuse(activation, 'steps or child runs are still under way');
  const calls = retireCalls(core, activation, keep);
  const place = [...recordPathOf(activation.path), 'retired'];
  core.draft.set(place, { from: admitted.value, calls }, encodeValue({ from: stored, calls }));
  activation.knowsRetired = true;
  keepBeside(core, activation);
  core.draft.note({ kind: 'retire', node: activation.path, ...visitOf(activation) });
  core.loop.requestFlush();
}

/**
 * Removes the calls made so far from the record, except those named in `keep`.
 *
 * @returns the number of retired calls of each name
 */
function retireCalls(core: RunCore, activation: Activation, keep: readonly string[]): Readonly<Record<string, number>> {
  const { ordinals = new Map<string, number>() } = activation;
  const unknown = keep.find((name) => !ordinals.has(name));
  if (unknown !== undefined) refuse(activation, `it keeps calls named ${unknown}, and there are none`);
  const record = ensureSteps(activation);
  const counts = new Map(Object.entries(record.retired?.calls ?? {}));
  const keys: string[] = [];
  for (const [name, called] of ordinals) {
    if (keep.includes(name)) continue;
    for (let ordinal = retiredCalls(activation, name) + 1; ordinal <= called; ordinal += 1)
      keys.push(callKey(name, ordinal));
    counts.set(name, called);
  }
  const open = keys.find((key) => ['started', 'open'].includes(record.steps?.[key]?.status ?? 'done'));
  if (open !== undefined) refuse(activation, `nobody knows how ${open} ended`);
  dropFrom(core, activation, 'steps', keys);
  dropFrom(core, activation, 'children', keys);
  recountSteps(record);
  const steps = record.steps ?? {};
  activation.calls = activation.calls?.filter((key) => Object.hasOwn(steps, key));
  return Object.fromEntries(counts);
}

/** Removes keys from a table of the record; all of them with one op. */
function dropFrom(
  core: RunCore,
  { frameRun, node, path }: Activation,
  table: 'steps' | 'children',
  keys: readonly string[],
): void {
  const records = frameRun.openRecordOf(node)?.[table] ?? {};
  const dropped = keys.filter((key) => Object.hasOwn(records, key));
  const place = [...recordPathOf(path), table];
  if (dropped.length > 0 && dropped.length === Object.keys(records).length) core.draft.set(place, {}, '{}');
  else for (const key of dropped) core.draft.delete([...place, key]);
}

/** What the last retirement passed. A function that has read it knows which calls not to repeat. */
export function readRetired(activation: Activation, generation: number): unknown {
  if (activation.generation === generation) activation.knowsRetired = true;
  return deepFreeze(activation.frameRun.openRecordOf(activation.node)?.retired?.from);
}

function refuse({ path }: Activation, reason: string): never {
  throw new CairnError('NODE_CALL_REFUSED', { call: 'retire', node: path.join('/'), reason });
}
