/** What a question offers: the values of its choices, and the texts they go by (W3). */
import { encodeValue } from '../../state/values/codec.ts';
import type { WaitRecord } from '../../state/tree.ts';

/** An answer that a question offers. */
export interface Choice {
  readonly value: unknown;
  /** Its own, else the value: a text as it is, anything else as JSON. */
  readonly label: string;
}

/** What a question offers, in its order; undefined: it has no choices. */
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
