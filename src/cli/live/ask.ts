/** Asks open questions in the terminal. */
import { watchDeadline } from '../../app/interview/deadline.ts';
import {
  choicesOf,
  isAnswerable,
  nodeNameOf,
  type Choice,
  type OpenQuestion,
} from '../../operations/waits/find-wait.ts';
import { printable, printableLines } from '../text/printable.ts';
import { describeMetadata, describeReplaced } from '../text/wait-text.ts';

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
  const replaced = describeReplaced(wait);
  return [printableLines(text), ...(replaced === undefined ? [] : [replaced]), ...describeMetadata(wait)].join('\n');
}

/** A person's answer to one question; undefined if they do not want to answer, or the signal has ended the prompt. */
async function askOne(wait: OpenQuestion, signal: AbortSignal): Promise<{ readonly value: unknown } | undefined> {
  const { confirm, isCancel, select, text } = await import('@clack/prompts');
  const choices = choicesOf(wait) ?? (wait.kind === 'doubt' ? doubtChoices : undefined);
  const message = messageOf(wait, choices !== undefined);
  const { type } = (wait.schema ?? {}) as { readonly type?: unknown };
  if (choices !== undefined && choices.length > 0) {
    const options = choices.map(({ label }, index) => ({ value: index, label: printable(label) }));
    const other = wait.matching === 'open' ? [{ value: choices.length, label: 'something else …' }] : [];
    const picked = await select({ message, options: [...options, ...other], signal });
    if (isCancel(picked)) return undefined;
    const choice = choices[picked];
    if (choice !== undefined) return { value: choice.value };
  }
  if (type === 'boolean' && choices === undefined) {
    const isYes = await confirm({ message, signal });
    return isCancel(isYes) ? undefined : { value: isYes };
  }
  // After a list, the question is on the screen already. The prompt draws its border only before the first line, so it is added to the
  // others.
  const asked = choices === undefined ? message.replaceAll('\n', '\n│  ') : 'Your answer';
  const typed = await text({
    message: asked,
    signal,
    ...(type === 'object' || type === 'array' ? { placeholder: 'JSON' } : {}),
  });
  // The text is interpreted later, like the text of `cairn answer`.
  return isCancel(typed) ? undefined : { value: typed ?? '' };
}

export interface Asking {
  /** Passes an answer to the engine. */
  readonly answer: (wait: OpenQuestion, value: unknown) => Promise<void>;
  /** Tells why an answer was refused, or throws what is no reason to go on. @returns whether to ask again */
  readonly refused: (error: unknown) => boolean;
  readonly say: (line: string) => void;
}

/** Asks one question until it has an answer that fits. @returns whether it is closed: false if the person leaves it open */
async function askUntilClosed(wait: OpenQuestion, asking: Asking): Promise<boolean> {
  const { signal, release } = watchDeadline(wait.dueAt);
  try {
    for (;;) {
      const given = signal.aborted ? undefined : await askOne(wait, signal);
      if (given === undefined) {
        if (signal.aborted) asking.say(`The time to answer ${nodeNameOf(wait)} is over; the run goes on.`);
        return signal.aborted;
      }
      try {
        await asking.answer(wait, given.value);
        return true;
      } catch (error) {
        if (!asking.refused(error)) return true;
      }
    }
  } finally {
    release();
  }
}

/**
 * Asks the open questions one after another. If an answer does not fit, the question is asked again. A prompt ends when the deadline of
 * its question passes.
 *
 * @returns whether the run can go on: a question was answered, by whomever, or its time is over
 */
export async function askQuestions(waits: readonly OpenQuestion[], asking: Asking): Promise<boolean> {
  let canGoOn = false;
  for (const wait of waits.filter(isAnswerable)) {
    if (!(await askUntilClosed(wait, asking))) return canGoOn;
    canGoOn = true;
  }
  return canGoOn;
}
