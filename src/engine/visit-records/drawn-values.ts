/** Values that a function draws from outside the run: times, random numbers, ids. A repeated function gets what it drew before, so its branches and step inputs made of them stay the same (X4.17). Like recorded events, they are written together with the next recorded call; if the attempt dies before, nothing has been recorded that was made of them. */
import { CairnError } from '../../errors.ts';
import type { DrawnKind, DrawnValue, StepRecord } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import { isEffect, type RunCore } from '../live-run/run-core.ts';
import { isInsideStepOf } from '../live-run/attempt-scope.ts';
import { ensureSteps } from './step-record.ts';
import { recordPathOf } from './node-path.ts';

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
  const { steps } = core.env.bounds;
  if (at >= steps) throw new CairnError('RUN_LIMIT', { limit: 'steps', value: steps });
  const value = (pastOf(core, activation, kind)[at] as Value | undefined) ?? make();
  const pending = draws.pending.get(kind);
  if (pending === undefined) draws.pending.set(kind, [value]);
  else pending.push(value);
  return value;
}

/** A fork that cannot act gets what was drawn in the record, whatever else of the function has changed (X7). */
function pastOf({ root, replay }: RunCore, activation: Activation, kind: DrawnKind): readonly DrawnValue[] {
  return root.noEffects === undefined ? [] : (replay?.drawnBy(activation, kind) ?? []);
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
