/** Words for shells, colours, and rows of text in columns. */
import { printable } from '../../operations/format/terminal.ts';
import { fit, pad, widthOf } from './width.ts';

/** Names of files that are programs: their graphs are loaded, and not read. */
const module = /\.[cm]?[jt]s$/i;

export const isModule = (file: string): boolean => module.test(file);

/** Writes a word so that a shell reads it as it is; control characters as the escapes that shells know. */
export function quote(word: string): string {
  if (printable(word) !== word) return `$'${printable(word.replace(/[\\']/g, String.raw`\$&`))}'`;
  return /^[\w@%+=:,./~-]+$/.test(word) && !word.startsWith('~') ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

// Colours, where they are wanted.

export type Tone = 'good' | 'bad' | 'warn' | 'dim' | 'strong' | 'plain';

const codes: Readonly<Record<Exclude<Tone, 'plain'>, readonly [number, number]>> = {
  good: [32, 39],
  bad: [31, 39],
  warn: [33, 39],
  dim: [2, 22],
  strong: [1, 22],
};

/** Paints a text in a tone; the identity where colours are off. */
export type Paint = (tone: Tone, text: string) => string;

export const plain: Paint = (_tone, text) => text;

export const coloured: Paint = (tone, text) => {
  if (tone === 'plain' || text === '') return text;
  const [on, off] = codes[tone];
  return `\u001b[${on}m${text}\u001b[${off}m`;
};

const tones: Readonly<Record<string, Tone>> = {
  completed: 'good',
  failed: 'bad',
  'in doubt': 'bad',
  cancelled: 'warn',
  cancelling: 'warn',
  paused: 'warn',
  waiting: 'warn',
  running: 'strong',
  'not ended': 'warn',
  skipped: 'dim',
  success: 'good',
  partial_success: 'warn',
  fail: 'bad',
  retry: 'bad',
};

/** The tone of a status of a run or a node, or of what a stage of a pipeline says of itself. */
export function toneOf(status: string): Tone {
  return tones[status] ?? 'plain';
}

// Rows of text in columns that fit the screen.

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
