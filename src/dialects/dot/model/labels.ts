/** Labels of edges as choices: `[K] Label`, `K) Label` and `K - Label` name a key to press beside what they say. */

const marked = /^\s*(?:\[([^\]\s]{1,10})\]\s*|([^\s)\]]{1,10})\)\s+|([^\s-]{1,3})\s+-\s+)(\S[^]*)$/u;

/** The key of a choice: what its mark names, else its first character. */
export function acceleratorOf(label: string): string {
  const [, bracketed, closed, dashed] = marked.exec(label) ?? [];
  return (bracketed ?? closed ?? dashed ?? Array.from(label.trim())[0] ?? '').toUpperCase();
}

/** What a label says, without its mark. */
export function sayingOf(label: string): string {
  return (marked.exec(label)?.[4] ?? label).trim();
}

/** Labels that differ in letter case, in space around them or in their marks are the same. */
export function normalLabel(label: string): string {
  return sayingOf(label).toLowerCase();
}
