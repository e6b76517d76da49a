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

/** Matches the part of a prompt that lists choices and says how to answer. It is not needed where a list is shown. */
const wayToAnswer = /\n\n(?:Choices:\n(?:.*\n)*\n)?Respond with (?:'yes' or 'no'|the number of your choice\.)\s*$/;

function messageOf(wait: OpenQuestion, isList: boolean): string {
  const prompt =
    wait.prompt ?? (wait.kind === 'doubt' ? `Did the effect of ${nodeNameOf(wait)} happen?` : nodeNameOf(wait));
  const text = isList ? prompt.replace(wayToAnswer, '') : prompt;
  return [printableLines(text), ...describeMetadata(wait)].join('\n');
}

/** A person's answer to one question; undefined if they do not want to answer. */
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
  // After a list, the question is on the screen already. The prompt draws its border only before the first line, so it is added to the
  // others.
  const asked = choices === undefined ? message.replaceAll('\n', '\n│  ') : 'Your answer';
  const typed = await text({
    message: asked,
    ...(type === 'object' || type === 'array' ? { placeholder: 'JSON' } : {}),
  });
  // The text is interpreted later, like the text of `cairn answer`.
  return isCancel(typed) ? undefined : { value: typed ?? '' };
}

/**
 * Asks the open questions one after another. If an answer does not fit, the question is asked again.
 *
 * @param answer - passes an answer to the engine
 * @param refused - called with the reason if an answer did not fit; returns whether to ask again
 * @returns whether any question was answered
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
