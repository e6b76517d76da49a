/** What a checkpoint recorded, as people read it: each value under its path, short ones on one line. */
import type { ShowCheckpointOutput } from '../../operations/checkpoints/show-checkpoint.ts';
import { formatPath } from '../../operations/contract/state-path.ts';
import { formatAmounts } from '../../operations/format/amounts.ts';
import { printable, printableLines } from '../../operations/format/terminal.ts';
import { shortStepName } from '../../operations/format/step-name.ts';
import { formatInline } from './value.ts';
import { fit, widthOf, wrap } from './width.ts';

type Recorded = ShowCheckpointOutput['recorded'];
type Step = Recorded['steps'][number];

/** Longer texts are cut: `cairn state` prints all of one. */
const linesMax = 8;
/** Elements of a list, or fields of an object, that are shown. */
const partsMax = 12;
const indent = '  ';

/** A name and its value: beside it where it fits the line, else below it: a text wrapped, an object by its parts. */
export function formatValue(name: string, value: unknown, width: number, margin: string = indent): readonly string[] {
  const inline = `${margin}${name}: ${formatInline(value)}`;
  if (widthOf(inline) <= width) return [inline];
  const inner = margin + indent;
  if (typeof value === 'string')
    return [`${margin}${name}:`, ...cut(wrap(printableLines(value), width - inner.length), linesMax, inner)];
  const parts = partsOf(value);
  // What lies deeper is printed on a line, as far as it goes.
  if (parts === undefined || margin.length > 2 * indent.length) return [fit(inline, width)];
  const lines = parts.slice(0, partsMax).flatMap(([key, part]) => formatValue(printable(key), part, width, inner));
  const more = parts.length - partsMax;
  return [`${margin}${name}:`, ...lines, ...(more > 0 ? [`${inner}… and ${more} more`] : [])];
}

function cut(lines: readonly string[], most: number, margin: string): readonly string[] {
  const shortened = lines.slice(0, most).map((line) => (margin + line).trimEnd());
  return lines.length > most ? [...shortened, `${margin}… ${lines.length - most} lines more`] : shortened;
}

/** Keys and values of what has such; errors tell what can be stored of them. */
function partsOf(value: unknown): readonly (readonly [string, unknown])[] | undefined {
  if (value instanceof Error) {
    const { name, message, code, data } = value as Error & { readonly code?: unknown; readonly data?: unknown };
    return Object.entries({ name, code, message, data }).filter(([, part]) => part !== undefined);
  }
  if (Array.isArray(value)) return value.map((item, index) => [String(index), item] as const);
  if (typeof value !== 'object' || value === null) return undefined;
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
  return isPlain ? Object.entries(value) : undefined;
}

const kinds: Readonly<Record<Step['kind'], string>> = {
  step: 'step',
  ask: 'question',
  sleep: 'timer',
  signal: 'signal',
  run: 'child run',
  doubt: 'effect in doubt',
  call: 'call',
};

function formatStep({ path, kind, status, value, error, spent }: Step, width: number): readonly string[] {
  const name = `${kinds[kind]} ${printable(path.map(shortStepName).join('/'))}`;
  const cost = spent === undefined ? '' : ` for ${formatAmounts(spent)}`;
  if (error !== undefined) return formatValue(`${name} failed${cost}`, error, width);
  if (status === 'done' && value !== undefined) return formatValue(`${name}${cost}`, value, width);
  return [fit(`${indent}${name}${cost}: ${status === 'done' ? 'done' : status === 'open' ? 'waits' : status}`, width)];
}

/** The lines of all of it; none: nothing was recorded that a person would look for. */
export function formatRecorded({ values, steps }: Recorded, width: number): readonly string[] {
  return [
    ...values.flatMap((difference) => {
      const path = printable(formatPath(difference.path));
      return 'after' in difference
        ? formatValue(path, difference.after, width)
        : [fit(`${indent}${path}: gone`, width)];
    }),
    ...steps.flatMap((step) => formatStep(step, width)),
  ];
}
