/** Steps that fail the run in place of ends which, in the dialect that is written, cannot do so themselves. */
import { freeId } from '../outline/free-id.ts';
import { failure, finish, type End, type Outline, type Step } from '../outline/outline.ts';
import { stepsInBranches } from '../outline/reachable-steps.ts';
import { shellWord } from '../outline/shell-word.ts';
import { plainStep } from '../outline/stand-in.ts';

/**
 * The outline in which an end that fails the run, but cannot do so itself, leads to a command that does. Branches are left as they are:
 * where one of them fails, only the branch ends.
 *
 * @param failsRun - whether an end of this step can fail the run by itself
 */
export function withStops(outline: Outline, failsRun: (step: Step, end: End) => boolean): Outline {
  const taken = new Set(outline.steps.map(({ id }) => id));
  const stops: Step[] = [];
  const stopFor = (step: Step): string => {
    const id = freeId(`${step.id}_stop`, taken);
    taken.add(id);
    stops.push(stop(id, step));
    return id;
  };
  const inBranches = stepsInBranches(outline.steps);
  const steps = outline.steps.map((step) => {
    let own: string | undefined;
    if (inBranches.has(step.id)) return step;
    const ends = step.ends.map((end) =>
      end.to !== failure || failsRun(step, end) ? end : { ...end, to: (own ??= stopFor(step)) },
    );
    return { ...step, ends };
  });
  return { ...outline, steps: [...steps, ...stops] };
}

/** A command that fails the run after a step. */
function stop(id: string, { id: before, place }: Step): Step {
  const reason = shellWord(`${before} does not let the run go on`);
  return {
    ...plainStep,
    id,
    place,
    work: { kind: 'command', script: `printf '%s\\n' ${reason} >&2; exit 1` },
    timeoutMs: 60_000,
    isIdempotent: true,
    ends: [
      { on: 'success', to: finish },
      { on: 'fail', to: failure },
    ],
  };
}
