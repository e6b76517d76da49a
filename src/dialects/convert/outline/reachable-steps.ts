/** Which steps of an outline a run can come to. */
import { isStep, nextOf, type Outline, type Step } from './outline.ts';

/** The steps that a run can come to, in the order in which it may come to them. */
export function reachableSteps({ first, steps }: Pick<Outline, 'first' | 'steps'>): readonly Step[] {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const found = new Map<string, Step>();
  const open = [first];
  for (let id = open.shift(); id !== undefined; id = open.shift()) {
    const step = isStep(id) && !found.has(id) ? byId.get(id) : undefined;
    if (step === undefined) continue;
    found.set(id, step);
    open.push(...nextOf(step));
  }
  return [...found.values()];
}

/** Ids of the steps of branches. */
export function stepsInBranches(steps: readonly Step[]): ReadonlySet<string> {
  const firsts = steps.flatMap(({ work }) => (work.kind === 'parallel' ? work.branches : []));
  return new Set(firsts.flatMap((first) => reachableSteps({ first, steps }).map(({ id }) => id)));
}
