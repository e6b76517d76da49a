/** Finds where a character of a text is in the file. */
import type { Scalar } from 'yaml';

/** Offset in the source of the `offset`-th character of a scalar's value. Exact for one-line scalars and `|` blocks. */
export function offsetInScalar(source: string, node: Scalar.Parsed, offset: number): number {
  const [start, end] = node.range;
  const { type } = node;
  if (type === 'PLAIN') return Math.min(start + offset, end);
  if (type === 'QUOTE_SINGLE') return inQuotes(source, start, end, offset, (at) => (source[at] === "'" ? 2 : 1));
  if (type === 'QUOTE_DOUBLE') return inQuotes(source, start, end, offset, (at) => escapeLength(source, at));
  return inBlock(source, node, offset);
}

function inQuotes(
  source: string,
  start: number,
  end: number,
  offset: number,
  lengthAt: (at: number) => number,
): number {
  let at = start + 1;
  for (let count = 0; count < offset && at < end; count += 1) at += lengthAt(at);
  return Math.min(at, end);
}

/** Length of the escape sequence at this place. */
function escapeLength(source: string, at: number): number {
  if (source[at] !== '\\') return 1;
  return { x: 4, u: 6, U: 10 }[source[at + 1] ?? ''] ?? 2;
}

/** In a `|` block, lines are those of the source without indentation. In a `>` block lines are joined, so only the line is right. */
function inBlock(source: string, node: Scalar.Parsed, offset: number): number {
  const [start, end] = node.range;
  const first = source.indexOf('\n', start) + 1;
  if (first === 0 || first >= end) return start;
  const before = typeof node.value === 'string' ? node.value.slice(0, offset) : '';
  const skipped = before.split('\n').length - 1;
  let at = first;
  for (let line = 0; line < skipped; line += 1) {
    const next = source.indexOf('\n', at) + 1;
    if (next === 0 || next >= end) return at;
    at = next;
  }
  const indent = /^ */.exec(source.slice(first, end))?.[0].length ?? 0;
  return Math.min(at + indent + (offset - (before.lastIndexOf('\n') + 1)), end);
}
