/** The answer before a prompt: that of the step before it, where this is always the same model. It stands for what a run tells. */
import { type Piece, type Step, type Text, joined } from './outline.ts';

/** Adds the answers. @param getsAnswers - whether the prompt of a step holds the answers before it */
export function withAnswers(steps: readonly Step[], getsAnswers: (id: string) => boolean): readonly Step[] {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const arrivals = Map.groupBy(
    steps.flatMap(({ id, ends }) => ends.map((end) => ({ from: id, ...end }))),
    ({ to }) => to,
  );
  return steps.map((step) => {
    const [only, ...others] = arrivals.get(step.id) ?? [];
    const before = only === undefined || others.length > 0 || only.on !== 'success' ? undefined : byId.get(only.from);
    if (before?.work.kind !== 'model' || before.work.verdict !== undefined || !getsAnswers(step.id)) return step;
    const { work } = step;
    const withBefore = (text: Text): Text => withAnswer(text, before.id);
    if (work.kind === 'model') return { ...step, work: { ...work, prompt: withBefore(work.prompt) } };
    return work.kind === 'command' && work.stdin !== undefined
      ? { ...step, work: { ...work, stdin: withBefore(work.stdin) } }
      : step;
  });
}

/** What stands before a prompt, and the prompt itself. */
export interface Prompt {
  readonly hasGoal: boolean;
  readonly answerOf: string | undefined;
  readonly own: Text;
}

const goalHead = 'Goal:\n';
const answerHead = (id: string): string => `Answer of ${id}:\n`;
const gap = '\n\n';

function withAnswer(text: Text, answerOf: string): Text {
  const { hasGoal, own } = readPrompt(text);
  return writePrompt({ hasGoal, answerOf, own });
}

export function writePrompt({ hasGoal, answerOf, own }: Prompt): Text {
  return joined([
    ...(hasGoal ? [goalHead, { input: 'goal' }, gap] : []),
    ...(answerOf === undefined ? [] : [answerHead(answerOf), { answerOf }, gap]),
    ...own,
  ]);
}

/** Undoes {@link writePrompt}. */
export function readPrompt(text: Text): Prompt {
  let rest = text;
  const take = (head: string, isIt: (piece: Piece | undefined) => boolean): boolean => {
    const [first, value, after] = rest;
    if (first !== head || !isIt(value) || typeof after !== 'string' || !after.startsWith(gap)) return false;
    rest = joined([after.slice(gap.length), ...rest.slice(3)]);
    return true;
  };
  const hasGoal = take(goalHead, (piece) => typeof piece === 'object' && 'input' in piece && piece.input === 'goal');
  // The head of the answer stands in the same string as the end of the goal: it is split off first.
  const [, value] = rest;
  const answerOf = typeof value === 'object' && 'answerOf' in value ? value.answerOf : undefined;
  const hasAnswer = answerOf !== undefined && take(answerHead(answerOf), () => true);
  return { hasGoal, answerOf: hasAnswer ? answerOf : undefined, own: rest };
}
