/**
 * Values that a function draws from outside the run: times, random numbers, ids. A repeated function gets what it drew before, so that prompts
 * and step inputs made of them stay the same (X4.17). Like recorded events, they are written together with the next recorded call; if the
 * attempt dies before, nothing has been recorded that was made of them.
 */
import { CairnError } from '../../errors.ts';
import type { DrawnKind, DrawnValue } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';
import { isEffect } from '../run/effect.ts';
import { isInsideStepOf } from '../run/ledger.ts';
import type { RunCore } from '../run/run-core.ts';
import { ensureSteps } from './step-record.ts';
import { recordPathOf } from './tree-path.ts';

/** The n-th value of its kind in this visit, counted from its last save or retirement. @throws RUN_LIMIT it draws more than allowed */
export function draw<Value extends DrawnValue>(
  core: RunCore,
  activation: Activation,
  kind: DrawnKind,
  make: () => Value,
): Value {
  // A step is recorded as a whole, and a node that is an effect is never repeated unasked.
  if (isEffect(activation.node) || activation.phase !== 'running' || isInsideStepOf(activation)) return make();
  const { draws } = activation;
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
  const { pending } = activation.draws;
  if (pending.size === 0) return;
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

/** Forgets the values drawn so far: a function that goes on from what it saved or retired does not draw them again. */
export function forgetDraws(core: RunCore, activation: Activation): void {
  activation.draws.made.clear();
  activation.draws.pending.clear();
  if (ensureSteps(activation).drawn !== undefined) core.draft.delete([...recordPathOf(activation.path), 'drawn']);
}
