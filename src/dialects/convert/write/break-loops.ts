/** An outline without ways back, for dialects in which a run comes to each step once. */
import type { Notes } from '../outline/notes.ts';
import { failure, nextOf, type Outline, type Step, type Target } from '../outline/outline.ts';
import { reachableSteps } from '../outline/reachable-steps.ts';

/** Ways back fail the run. Steps are in an order in which each comes before those that it leads to. */
export function withoutLoops(outline: Outline, notes: Notes): Outline {
  const byId = new Map(outline.steps.map((step) => [step.id, step]));
  const back = new Set<string>();
  const order: Step[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const open: { readonly step: Step; readonly next: Target[] }[] = [];
  const enter = (id: string): void => {
    const step = byId.get(id);
    if (step === undefined) return;
    state.set(id, 'open');
    // The last first: what the first end leads to then comes first in the order.
    open.push({ step, next: [...nextOf(step)] });
  };
  enter(outline.first);
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const to = top.next.pop();
    if (to === undefined) {
      state.set(top.step.id, 'done');
      order.push(top.step);
      open.pop();
    } else if (state.get(to) === 'open') back.add(wayOf(top.step.id, to));
    else if (!state.has(to)) enter(to);
  }
  const cut = (step: Step): Step => ({
    ...step,
    ends: step.ends.map((end) => {
      if (!back.has(wayOf(step.id, end.to))) return end;
      notes.lost(
        'LOOP',
        step.place,
        `${step.id} leads back to ${end.to} (${end.on}); here the run fails in its place`,
        'fork the run before that step, or keep this part in a dialect with loops',
      );
      return { ...end, to: failure };
    }),
  });
  const steps = order.toReversed().map(cut);
  return { ...outline, steps: reachableInOrder({ ...outline, steps }) };
}

function reachableInOrder(outline: Outline): readonly Step[] {
  const reached = new Set(reachableSteps(outline).map(({ id }) => id));
  return outline.steps.filter(({ id }) => reached.has(id));
}

const wayOf = (from: string, to: string): string => `${from}\n${to}`;
