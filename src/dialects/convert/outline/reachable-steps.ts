/** Which steps of an outline a run can come to. */
import { isStep, nextOf, type Outline, type Step, type Target } from './outline.ts';

/** The steps that a run can come to, in the order in which it may come to them. */
export function reachableSteps({ first, steps }: Pick<Outline, 'first' | 'steps'>): readonly Step[] {
  return reachableFrom([first], new Map(steps.map((step) => [step.id, step])));
}

/** The same from several steps at once, among steps by id. */
export function reachableFrom(
  firsts: readonly Target[],
  byId: ReadonlyMap<string, Step>,
  nextFrom: (step: Step) => readonly Target[] = nextOf,
): readonly Step[] {
  const found = new Map<string, Step>();
  const open = [...firsts];
  // The list grows while it is read: taking from its front would move all that is behind.
  for (const id of open) {
    const step = isStep(id) && !found.has(id) ? byId.get(id) : undefined;
    if (step === undefined) continue;
    found.set(id, step);
    open.push(...nextFrom(step));
  }
  return [...found.values()];
}

/** Ids of the steps of branches. */
export function stepsInBranches(steps: readonly Step[]): ReadonlySet<string> {
  const firsts = steps.flatMap(({ work }) => (work.kind === 'parallel' ? work.branches : []));
  return new Set(reachableFrom(firsts, new Map(steps.map((step) => [step.id, step]))).map(({ id }) => id));
}
