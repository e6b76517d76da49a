/** Asks open questions in the terminal. */
import { isAnswerable, nodeNameOf, type OpenWaitView } from '../operations/find-wait.ts';
import { readAnswer } from './read-answer.ts';
import { printable, printableLines } from './text/printable.ts';
import { choicesOf, type Choice } from './wait-text.ts';

const doubtChoices: readonly Choice[] = [
  { value: 'happened', label: 'it happened' },
  { value: 'run again', label: 'run it again' },
  { value: 'fail', label: 'let it fail' },
];

function messageOf(wait: OpenWaitView): string {
  return printableLines(
    wait.prompt ?? (wait.kind === 'doubt' ? `Did the effect of ${nodeNameOf(wait)} happen?` : nodeNameOf(wait)),
  );
}

/** What a person answers to one question; undefined: they would rather not. */
async function askOne(wait: OpenWaitView): Promise<{ readonly value: unknown } | undefined> {
  const { confirm, isCancel, select, text } = await import('@clack/prompts');
  const message = messageOf(wait);
  const choices = choicesOf(wait) ?? (wait.kind === 'doubt' ? doubtChoices : undefined);
  const { type } = (wait.schema ?? {}) as { readonly type?: unknown };
  if (choices !== undefined && choices.length > 0) {
    const picked = await select({
      message,
      options: choices.map(({ label }, index) => ({ value: index, label: printable(label) })),
    });
    return isCancel(picked) ? undefined : { value: choices[picked]?.value };
  }
  if (type === 'boolean') {
    const isYes = await confirm({ message });
    return isCancel(isYes) ? undefined : { value: isYes };
  }
  const typed = await text({ message, ...(type === 'object' || type === 'array' ? { placeholder: 'JSON' } : {}) });
  return isCancel(typed) ? undefined : { value: readAnswer(wait, typed ?? '') };
}

/**
 * Asks the questions that are open, one after another; one whose answer does not fit is asked again.
 *
 * @param answer - gives the answer to the engine
 * @param refused - is told why an answer did not fit; returns whether the question may be asked again
 * @returns whether any was answered
 */
export async function askQuestions(
  waits: readonly OpenWaitView[],
  answer: (wait: OpenWaitView, value: unknown) => Promise<void>,
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
