/** Asks open questions in the terminal. */
import {
  choicesOf,
  isAnswerable,
  nodeNameOf,
  type Choice,
  type OpenQuestion,
} from '../../operations/waits/find-wait.ts';
import { printable, printableLines } from '../text/printable.ts';
import { describeMetadata } from '../text/wait-text.ts';

const doubtChoices: readonly Choice[] = [
  { value: 'happened', label: 'it happened' },
  { value: 'run again', label: 'run it again' },
  { value: 'fail', label: 'let it fail' },
];

/** What a prompt says of choices and of how to answer, for those who have no list before them. */
const wayToAnswer = /\n\n(?:Choices:\n(?:.*\n)*\n)?Respond with (?:'yes' or 'no'|the number of your choice\.)\s*$/;

function messageOf(wait: OpenQuestion, isList: boolean): string {
  const prompt =
    wait.prompt ?? (wait.kind === 'doubt' ? `Did the effect of ${nodeNameOf(wait)} happen?` : nodeNameOf(wait));
  const text = isList ? prompt.replace(wayToAnswer, '') : prompt;
  return [printableLines(text), ...describeMetadata(wait)].join('\n');
}

/** What a person answers to one question; undefined: they would rather not. */
async function askOne(wait: OpenQuestion): Promise<{ readonly value: unknown } | undefined> {
  const { confirm, isCancel, select, text } = await import('@clack/prompts');
  const choices = choicesOf(wait) ?? (wait.kind === 'doubt' ? doubtChoices : undefined);
  const message = messageOf(wait, choices !== undefined);
  const { type } = (wait.schema ?? {}) as { readonly type?: unknown };
  if (choices !== undefined && choices.length > 0) {
    const options = choices.map(({ label }, index) => ({ value: index, label: printable(label) }));
    const other = wait.matching === 'open' ? [{ value: choices.length, label: 'something else …' }] : [];
    const picked = await select({ message, options: [...options, ...other] });
    if (isCancel(picked)) return undefined;
    const choice = choices[picked];
    if (choice !== undefined) return { value: choice.value };
  }
  if (type === 'boolean' && choices === undefined) {
    const isYes = await confirm({ message });
    return isCancel(isYes) ? undefined : { value: isYes };
  }
  // A list was before it: the question stands there already. The prompt draws its rule beside the first line only.
  const asked = choices === undefined ? message.replaceAll('\n', '\n│  ') : 'Your answer';
  const typed = await text({
    message: asked,
    ...(type === 'object' || type === 'array' ? { placeholder: 'JSON' } : {}),
  });
  // It is read where it is given, as what is typed at a command is.
  return isCancel(typed) ? undefined : { value: typed ?? '' };
}

/**
 * Asks the questions that are open, one after another; one whose answer does not fit is asked again.
 *
 * @param answer - gives the answer to the engine
 * @param refused - is told why an answer did not fit; returns whether the question may be asked again
 * @returns whether any was answered
 */
export async function askQuestions(
  waits: readonly OpenQuestion[],
  answer: (wait: OpenQuestion, value: unknown) => Promise<void>,
  refused: (error: unknown) => boolean,
): Promise<boolean> {
  let isAnyAnswered = false;
  for (const wait of waits.filter(isAnswerable)) {
    let isOpen = true;
    while (isOpen) {
      const given = await askOne(wait);
      if (given === undefined) return isAnyAnswered;
      try {
        await answer(wait, given.value);
        isAnyAnswered = true;
        isOpen = false;
      } catch (error) {
        if (!refused(error)) throw error;
      }
    }
  }
  return isAnyAnswered;
}
