/** Two long texts side by side: what differs, and not the equal beginning that would hide it. */
import { fit, widthOf } from './width.ts';

/** Words that are equal on both sides, shown around what differs. */
const wordsAround = 3;

/** The words of a text, each with the blanks before it. */
function wordsOf(text: string): readonly string[] {
  return text.match(/\s*\S+|\s+$/gu) ?? [];
}

/** How many words the two begin with alike. */
function commonStart(a: readonly string[], b: readonly string[]): number {
  const end = Math.min(a.length, b.length);
  let count = 0;
  while (count < end && a[count] === b[count]) count += 1;
  return count;
}

/**
 * Each text from its first word that differs to its last, with a few words around, and `…` for what is left out.
 * Those that fit into the width stay whole.
 */
export function differing(before: string, after: string, width: number): readonly [string, string] {
  const texts = [before, after] as const;
  if (texts.every((text) => widthOf(text) <= width)) return texts;
  const [a, b] = [wordsOf(before), wordsOf(after)];
  const start = commonStart(a, b);
  const end = commonStart(a.slice(start).toReversed(), b.slice(start).toReversed());
  const from = Math.max(0, start - wordsAround);
  const show = (words: readonly string[]): string => {
    const to = Math.min(words.length, words.length - end + wordsAround);
    const shown = words.slice(from, to).join('');
    return fit(`${from > 0 ? '… ' : ''}${from > 0 ? shown.trimStart() : shown}${to < words.length ? ' …' : ''}`, width);
  };
  return [show(a), show(b)];
}
