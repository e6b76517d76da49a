/** Converts patterns of older files, which have Python's syntax, to JavaScript's. */

const pieces = /\[(?:\\[\s\S]|[^\]\\])*\]|\\[\s\S]|\(\?P<|\(\?P=(\w+)\)/gu;

/** An escape of a character that needs none. It is an error in JavaScript's Unicode mode. */
const needless = /\\([^\w^$\\.*+?()[\]{}|/-])/gu;

/**
 * A pattern that must match at the beginning of a text, like Python's `re.match`. Python's named groups, `\A`, `\Z` and needless escapes
 * are rewritten. What JavaScript lacks is kept, and makes the pattern invalid.
 */
export function startPattern(pattern: string): string {
  return `^(?:${pattern.replaceAll(pieces, rewrite)})`;
}

function rewrite(piece: string, name: string | undefined): string {
  if (piece === '(?P<') return '(?<';
  if (name !== undefined) return `\\k<${name}>`;
  if (piece === '\\A') return '^';
  if (piece === '\\Z') return '$';
  // Inside a class, `\-` keeps `-` from forming a range. Elsewhere `-` needs no escape, but keeping it would be an error.
  return piece === '\\-' ? '-' : piece.replaceAll(needless, '$1');
}
