/** Patterns as older files write them, in JavaScript's syntax. */

const pieces = /\[(?:\\[\s\S]|[^\]\\])*\]|\\[\s\S]|\(\?P<|\(\?P=(\w+)\)/gu;

/** An escape of a character that needs none: in the Unicode syntax of JavaScript it is an error. */
const needless = /\\([^\w^$\\.*+?()[\]{}|/-])/gu;

/**
 * A pattern that must match where a text begins, as Python's `re.match` has it. What Python writes otherwise is rewritten: named groups,
 * `\A`, `\Z`, and escapes of characters that need none. What has no like in JavaScript stays, and is no valid pattern there.
 */
export function startPattern(pattern: string): string {
  return `^(?:${pattern.replaceAll(pieces, rewrite)})`;
}

function rewrite(piece: string, name: string | undefined): string {
  if (piece === '(?P<') return '(?<';
  if (name !== undefined) return `\\k<${name}>`;
  if (piece === '\\A') return '^';
  if (piece === '\\Z') return '$';
  // In a class it keeps `-` from making a range; elsewhere `-` stands for itself.
  return piece === '\\-' ? '-' : piece.replaceAll(needless, '$1');
}
