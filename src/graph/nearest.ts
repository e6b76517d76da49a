/** Finds the known word that is nearest to a mistyped one. */
import { currentBudget } from './expression/expression-budget.ts';

/** Number of edits (insert, delete, replace, swap neighbours) that turn one word into the other. */
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

/** The edits from what was typed to a name. A name that begins with it counts as one edit away. */
function editsTo(typed: string, name: string): number {
  return name.startsWith(typed) && typed.length > 1 ? 1 : distance(typed, name);
}

const maxTyped = 40;

/** All known words, sorted by their distance to a word that is not known. */
export function nearestFirst(word: string, known: readonly string[]): readonly string[] {
  const typed = word.slice(0, maxTyped);
  return known
    .map((name) => ({ name, edits: editsTo(typed, name) }))
    .toSorted((a, b) => a.edits - b.edits)
    .map(({ name }) => name);
}

/**
 * The known word nearest to an unknown one, if it is near enough. The comparing draws on a budget, because a file may hold many mistyped
 * and many known words; when the budget is spent, there are no more guesses.
 */
export function nearest(word: string, ...lists: readonly Iterable<string>[]): string | undefined {
  const budget = currentBudget();
  const typed = word.slice(0, maxTyped);
  let best: { readonly name: string; readonly edits: number } | undefined;
  for (const known of lists) {
    for (const name of known) {
      if (!budget.takeGuess((name.length + 1) * (typed.length + 1))) return undefined;
      const edits = editsTo(typed, name);
      if (best === undefined || edits < best.edits) best = { name, edits };
    }
  }
  return best !== undefined && best.edits <= Math.max(1, Math.floor(best.name.length / 3)) ? best.name : undefined;
}
