/** Finds where a character of a text is in the file. */
import type { Scalar } from 'yaml';

/** Offsets in the source by offset in a scalar's value, for each scalar that was looked up: many faults may stand in one long text. */
const known = new WeakMap<Scalar.Parsed, Int32Array>();

/** Offset in the source of the `offset`-th character of a scalar's value. Exact for one-line scalars and `|` blocks. */
export function offsetInScalar(source: string, node: Scalar.Parsed, offset: number): number {
  const [start, end] = node.range;
  if (node.type === 'PLAIN') return Math.min(start + offset, end);
  const offsets = known.get(node) ?? offsetsIn(source, node);
  known.set(node, offsets);
  return Math.min(offsets[Math.min(offset, offsets.length - 1)] ?? start, end);
}

function offsetsIn(source: string, node: Scalar.Parsed): Int32Array {
  const length = typeof node.value === 'string' ? node.value.length : 0;
  const offsets = new Int32Array(length + 1);
  if (node.type === 'QUOTE_SINGLE') fillQuoted(offsets, node, (at) => (source[at] === "'" ? 2 : 1));
  else if (node.type === 'QUOTE_DOUBLE') fillQuoted(offsets, node, (at) => escapeLength(source, at));
  else fillBlock(offsets, source, node);
  return offsets;
}

function fillQuoted(
  offsets: Int32Array,
  { range: [start, end] }: Scalar.Parsed,
  lengthAt: (at: number) => number,
): void {
  let at = start + 1;
  for (let count = 0; count < offsets.length; count += 1) {
    offsets[count] = at;
    if (at < end) at += lengthAt(at);
  }
}

/** Length of the escape sequence at this place. */
function escapeLength(source: string, at: number): number {
  if (source[at] !== '\\') return 1;
  return { x: 4, u: 6, U: 10 }[source[at + 1] ?? ''] ?? 2;
}

/** In a `|` block, lines are those of the source without indentation. In a `>` block lines are joined, so only the line is right. */
function fillBlock(offsets: Int32Array, source: string, { range: [start, end], value }: Scalar.Parsed): void {
  const text = typeof value === 'string' ? value : '';
  const first = source.indexOf('\n', start) + 1;
  if (first === 0 || first >= end) {
    offsets.fill(start);
    return;
  }
  let indent = 0;
  while (source[first + indent] === ' ') indent += 1;
  let line = first;
  let isLast = false;
  let lineStart = 0;
  for (let count = 0; count < offsets.length; count += 1) {
    // The block may have fewer lines than its value: then its last line stands for the others.
    offsets[count] = isLast ? line : Math.min(line + indent + count - lineStart, end);
    if (text[count] !== '\n' || isLast) continue;
    const next = source.indexOf('\n', line) + 1;
    isLast = next === 0 || next >= end;
    if (!isLast) line = next;
    lineStart = count + 1;
  }
}
