/** Guesses what was meant by a mistyped word. */

/** Edits (insert, delete, replace, swap of neighbours) from one word to another. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (isSame ? 0 : 1));
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

interface Scored {
  readonly name: string;
  readonly edits: number;
}

function score(word: string, known: readonly string[]): readonly Scored[] {
  const typed = word.slice(0, 40);
  return known
    .map((name) => ({ name, edits: name.startsWith(typed) && typed.length > 1 ? 1 : distance(typed, name) }))
    .toSorted((a, b) => a.edits - b.edits);
}

/** All known words, the nearest to one that is not known first. */
export function nearestFirst(word: string, known: readonly string[]): readonly string[] {
  return score(word, known).map(({ name }) => name);
}

/** The known word nearest to one that is not known, if any is near enough. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const [best] = score(word, known);
  return best !== undefined && best.edits <= Math.max(1, Math.floor(best.name.length / 3)) ? best.name : undefined;
}
