/** Titles of runs: a line by which people tell runs of one graph apart. */

/** Makes the title of a run from its input, in which values under names of secrets are masked. It is called once, at the start. */
export type RunTitle = (of: { readonly input: Readonly<Record<string, unknown>> }) => string;

const titleCharsMax = 120;

/** A title as it is kept and shown: one line of at most 120 characters. Undefined if the value is no text, or an empty one. */
export function titleLine(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  // What is far beyond the bound is not looked at.
  const line = value
    .slice(0, 10 * titleCharsMax)
    .replace(/[\p{Cc}\p{Cs}\p{Bidi_Control}\s]+/gu, ' ')
    .trim();
  const chars = Array.from(line);
  return line === ''
    ? undefined
    : chars.length <= titleCharsMax
      ? line
      : `${chars.slice(0, titleCharsMax - 1).join('')}…`;
}

/** The title of a run with this input; undefined if there is none, or what makes it throws. */
export function titleOf(title: RunTitle | undefined, input: unknown): string | undefined {
  if (title === undefined) return undefined;
  try {
    const made: unknown = title({ input: (input ?? {}) as Readonly<Record<string, unknown>> });
    // An async function makes no title, and its error is nobody's.
    if (made instanceof Promise) made.catch(() => undefined);
    return titleLine(made);
  } catch {
    return undefined;
  }
}
