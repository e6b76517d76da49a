/** The choices that a question offers: their values and labels (W3). */
import { encodeValue } from '../../state/values/codec.ts';
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
