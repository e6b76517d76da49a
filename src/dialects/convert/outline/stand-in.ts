/** A person stands in for what cannot be said in the other dialect: does the work, or decides, and says so. */
import { chose, failure, type Step, type Target, type Work } from './outline.ts';

type Choice = Extract<Work, { readonly kind: 'choice' }>;

/** The question for work that a person does by hand. @param mayFail - whether the person may answer that it failed */
export function workByHand(what: string, mayFail: boolean): Choice {
  return {
    kind: 'choice',
    question: [`Do this by hand, then say so: ${what}`],
    choices: mayFail ? ['done', 'failed'] : ['done'],
  };
}

/** Work by hand. @param fails - where a failure leads; unless the run then fails, the person may say that it failed */
export function byHand(what: string, success: Target, fails: Target): Pick<Step, 'work' | 'ends'> {
  const mayFail = fails !== failure;
  return {
    work: workByHand(what, mayFail),
    ends: [{ on: chose('done'), to: success }, ...(mayFail ? [{ on: chose('failed'), to: fails }] : [])],
  };
}

/** A decision by hand. @param ways - each choice, and where it leads */
export function decidedBy(
  question: string,
  ways: ReadonlyMap<string, Target>,
): Pick<Step, 'ends'> & { readonly work: Choice } {
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
