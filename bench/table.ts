/** Prints results as lines of a table. */
import type { Row, Sample } from './group.ts';

export interface Result {
  readonly row: Row;
  /** Median of the repetitions' ratios; undefined: not measured. */
  readonly ratio?: number;
  /** Medians of what was measured. */
  readonly sample?: Sample;
  /** Why it was not measured. */
  readonly reason?: string;
}

const widths = { name: 62, ratio: 7, target: 7, met: 5, ours: 10, floor: 10, unit: 6 } as const;

function formatLine(cells: readonly string[]): string {
  const [name = '', ...rest] = cells;
  const [ratio = '', target = '', met = '', ours = '', floor = '', unit = '', against = ''] = rest;
  return [
    name.padEnd(widths.name),
    ratio.padStart(widths.ratio),
    target.padStart(widths.target),
    ` ${met.padEnd(widths.met)}`,
    ours.padStart(widths.ours),
    floor.padStart(widths.floor),
    unit.padEnd(widths.unit),
    against,
  ].join(' ');
}

export function formatHeader(): string {
  return formatLine(['row', 'ratio', 'target', 'met', 'ours', 'against', 'unit', '']);
}

export function formatResult({ row, ratio, sample, reason }: Result): string {
  const target = row.target?.toString() ?? '-';
  if (ratio === undefined || sample === undefined) {
    return formatLine([row.name, '-', target, 'not measured:', '', '', '', reason ?? '']);
  }
  const digits = (value: number): string => (value >= 1000 ? value.toFixed(0) : value.toPrecision(3));
  return formatLine([
    row.name,
    ratio.toFixed(3),
    target,
    row.target === undefined ? '-' : ratio <= row.target ? 'yes' : 'NO',
    digits(sample.ours),
    digits(sample.floor),
    sample.unit,
    row.against,
  ]);
}
