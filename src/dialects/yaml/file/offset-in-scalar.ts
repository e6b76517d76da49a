/** Where a character of a text stands in the file that the text was written in. */
import type { Scalar } from 'yaml';

/** The offset in the source of the `offset`-th character of a scalar's value; exact for what stands on one line and for `|` blocks. */
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

/** How long an escape is that stands for one character. */
function escapeLength(source: string, at: number): number {
  if (source[at] !== '\\') return 1;
  return { x: 4, u: 6, U: 10 }[source[at + 1] ?? ''] ?? 2;
}

/** Lines of a `|` block are those of the source, less their indentation; lines of a `>` block are joined, so only the line is right. */
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
