/** A person stands in for what cannot be said in the other dialect: does the work, or decides, and says so. */
import {
  chose,
  failure,
  finish,
  isStep,
  nextOf,
  type End,
  type Outline,
  type Step,
  type Piece,
  type Target,
  type Text,
  type Work,
} from './outline.ts';

/** Work by hand. @param fails - where a failure leads; unless the run then fails, the person may say that it failed */
export function byHand(what: string, success: Target, fails: Target): Pick<Step, 'work' | 'ends'> {
  const isTaken = fails !== failure;
  return {
    work: {
      kind: 'choice',
      question: [`Do this by hand, then say so: ${what}`],
      choices: isTaken ? ['done', 'failed'] : ['done'],
    },
    ends: [{ on: chose('done'), to: success }, ...(isTaken ? [{ on: chose('failed'), to: fails }] : [])],
  };
}

/** A decision by hand. */
export function decidedBy(question: string, ways: ReadonlyMap<string, Target>): Pick<Step, 'work' | 'ends'> {
  return {
    work: { kind: 'choice', question: [question], choices: [...ways.keys()] },
    ends: [...ways].map(([choice, to]) => ({ on: chose(choice), to })),
  };
}

/** What a step has whose work needs nothing else. */
export const plainStep: Pick<Step, 'title' | 'retry' | 'timeoutMs' | 'isIdempotent' | 'budget'> = {
  title: undefined,
  retry: undefined,
  timeoutMs: undefined,
  isIdempotent: false,
  budget: {},
};

/** A command that fails the run. */
export function stop(id: string, place: string, reason: string): Step {
  const quoted = `'${reason.replaceAll("'", "'\\''")}'`;
  return {
    ...plainStep,
    id,
    place,
    work: { kind: 'command', script: `printf '%s\\n' ${quoted} >&2; exit 1` },
    timeoutMs: 60_000,
    isIdempotent: true,
    ends: [
      { on: 'success', to: finish },
      { on: 'fail', to: failure },
    ],
  };
}

/** An id that is not taken yet. */
export function freeId(wanted: string, taken: { has(id: string): boolean }): string {
  let id = wanted;
  for (let count = 2; taken.has(id); count += 1) id = `${wanted}_${count}`;
  return id;
}

/** Whether a step's own failure, and nothing that it decided, is this end. */
function failsItself({ on }: End, work: Work, hasVerdicts: boolean): boolean {
  return (
    on === 'fail' && work.kind !== 'parallel' && !(hasVerdicts && work.kind === 'model' && work.verdict !== undefined)
  );
}

/**
 * The outline in which only a step's own failure fails the run: any other end that does leads to a command that fails.
 *
 * @param hasVerdicts - whether a verdict of a model is an answer like any other, which cannot fail the run itself
 */
export function withStops(outline: Outline, hasVerdicts: boolean): Outline {
  const taken = new Set(outline.steps.map(({ id }) => id));
  const stops: Step[] = [];
  const stopFor = (step: Step): string => {
    const id = freeId(`${step.id}_stop`, taken);
    taken.add(id);
    stops.push(stop(id, step.place, `${step.id} does not let the run go on`));
    return id;
  };
  const inBranches = stepsInBranches(outline.steps);
  const steps = outline.steps.map((step) => {
    let own: string | undefined;
    if (inBranches.has(step.id)) return step;
    const ends = step.ends.map((end) =>
      end.to !== failure || failsItself(end, step.work, hasVerdicts) ? end : { ...end, to: (own ??= stopFor(step)) },
    );
    return { ...step, ends };
  });
  return { ...outline, steps: [...steps, ...stops] };
}

/** Ids of the steps of branches. */
export function stepsInBranches(steps: readonly Step[]): ReadonlySet<string> {
  const firsts = steps.flatMap(({ work }) => (work.kind === 'parallel' ? work.branches : []));
  return new Set(firsts.flatMap((first) => reachableSteps({ first, steps }).map(({ id }) => id)));
}

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

/** The same text with neighbouring strings as one, and without empty ones. */
export function joined(text: Text): Text {
  const parts: Piece[] = [];
  for (const piece of text) {
    const last = parts.at(-1);
    if (piece === '') continue;
    if (typeof piece === 'string' && typeof last === 'string') parts[parts.length - 1] = last + piece;
    else parts.push(piece);
  }
  return parts;
}
