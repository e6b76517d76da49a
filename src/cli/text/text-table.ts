/** Rows of text in columns that fit the screen. */
import { fit, pad, widthOf } from './width.ts';
import type { Tone, Paint } from './tone.ts';

/** A cell: printable text without colours, and the tone it is painted in. */
export type Cell = string | { readonly text: string; readonly tone: Tone };

export interface Column {
  readonly title: string;
  /** Whether it gives way when the rows are too wide; the widest such column gives way first. */
  readonly canShrink?: boolean;
  readonly isRight?: boolean;
}

const gap = 2;
const narrowest = 8;

function textOf(cell: Cell | undefined): string {
  return typeof cell === 'object' ? cell.text : (cell ?? '');
}

function measure(columns: readonly Column[], rows: readonly (readonly Cell[])[], width: number): readonly number[] {
  const widths = columns.map(({ title }, index) =>
    rows.reduce((widest, row) => Math.max(widest, widthOf(textOf(row[index]))), widthOf(title)),
  );
  let excess = widths.reduce((sum, each) => sum + each + gap, -gap) - width;
  while (excess > 0) {
    const shrinkable = widths
      .map((each, index) => ({ each, index }))
      .filter(({ each, index }) => columns[index]?.canShrink === true && each > narrowest)
      .toSorted((a, b) => b.each - a.each);
    const [widest, next] = shrinkable;
    if (widest === undefined) break;
    const floor = Math.max(narrowest, Math.min(next?.each ?? narrowest, widest.each - 1));
    const reduction = Math.min(excess, widest.each - floor);
    widths[widest.index] = widest.each - reduction;
    excess -= reduction;
  }
  return widths;
}

/** The lines of a table with a head, none wider than a row may be as far as columns can shrink. */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { rowWidth, paint }: { readonly rowWidth: number; readonly paint: Paint },
): readonly string[] {
  const widths = measure(columns, rows, rowWidth);
  const line = (cells: readonly Cell[]): string => {
    const parts = columns.map(({ isRight }, index) => {
      const cell = cells[index];
      const size = widths[index] ?? 0;
      const text = fit(textOf(cell), size);
      const isLast = index === columns.length - 1;
      const space = ' '.repeat(Math.max(0, size - widthOf(text)));
      const painted = typeof cell === 'object' ? paint(cell.tone, text) : text;
      if (isRight === true) return space + painted;
      return isLast ? painted : painted + space;
    });
    return parts.join(' '.repeat(gap)).trimEnd();
  };
  return [line(columns.map(({ title }) => ({ text: title, tone: 'dim' as const }))), ...rows.map(line)];
}

/** Two columns without a head: a name and what is to be said about it, wrapped by the caller. */
export function formatPairs(pairs: readonly (readonly [string, string])[], indent: string): readonly string[] {
  const widest = Math.max(...pairs.map(([name]) => widthOf(name)));
  return pairs.map(([name, text]) => `${indent}${pad(name, widest)}  ${text}`);
}
