/** The choices that a question offers: their values and labels (W3). */
import { encodeValue } from '../../state/values/encode.ts';
import type { WaitRecord } from '../../state/tree.ts';

/** One choice. */
export interface Choice {
  readonly value: unknown;
  /** Its own label; without one, the value: a text as it is, anything else as JSON. */
  readonly label: string;
}

/** The choices of a question in order; undefined if it has none. */
export function choicesOf({ choices }: Pick<WaitRecord, 'choices'>): readonly Choice[] | undefined {
  return choices?.map((choice) => {
    const hasValue = typeof choice === 'object' && choice !== null && 'value' in choice;
    const { value, label }: { readonly value: unknown; readonly label?: unknown } = hasValue
      ? choice
      : { value: choice };
    if (typeof label === 'string') return { value, label };
    return { value, label: typeof value === 'string' ? value : encodeValue(value) };
  });
}

/** What may be decided about an effect in doubt, as a person is offered it. */
export const doubtDecisions: readonly Choice[] = [
  { value: 'happened', label: 'it happened' },
  { value: 'run again', label: 'run it again' },
  { value: 'fail', label: 'let it fail' },
];

/** The decision that an effect happened, with what somebody typed as its output: JSON, or a text as it is; nothing: it is empty. */
export function happenedWith(typed: string): unknown {
  return typed.trim() === '' ? 'happened' : { decision: 'happened', output: jsonOrText(typed) };
}

/** Whether an answer to a doubt says that the effect happened, and not what it gave. */
export function isEmptyHappened(answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null) return answer === 'happened';
  const { decision, output } = answer as { readonly decision?: unknown; readonly output?: unknown };
  return decision === 'happened' && output === undefined;
}

function jsonOrText(typed: string): unknown {
  try {
    return JSON.parse(typed) as unknown;
  } catch {
    return typed;
  }
}
