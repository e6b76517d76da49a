/** Edge labels as choices: `[K] Label`, `K) Label` and `K - Label` mark a key to press for the choice. */

const marked = /^\s*(?:\[([^\]\s]{1,10})\]\s*|([^\s)\]]{1,10})\)\s+|([^\s-]{1,3})\s+-\s+)(\S[^]*)$/u;

/** The key of a choice: the marked one, or else the first character of the label. */
export function acceleratorOf(label: string): string {
  const [, bracketed, closed, dashed] = marked.exec(label) ?? [];
  return (bracketed ?? closed ?? dashed ?? Array.from(label.trim())[0] ?? '').toUpperCase();
}

/** The label without its mark. */
export function sayingOf(label: string): string {
  return (marked.exec(label)?.[4] ?? label).trim();
}

/** The form in which labels are compared: without the mark, surrounding space and differences in letter case. */
export function normalLabel(label: string): string {
  return sayingOf(label).toLowerCase();
}
