/** Distinguishes `$((1 + 2))` from `$((a; b); c)`, for which a shell has to read up to the end. */

/**
 * Whether two opening parentheses begin commands and not arithmetic, which is so if the two that close them are not adjacent.
 * @param offset - after the opening parentheses
 */
export function isCommandSubstitution(text: string, offset: number, end: number): boolean {
  let depth = 0;
  for (let at = offset; at < end; at += 1) {
    const sign = text[at];
    if (sign === '\\') at += 1;
    else if (sign === "'" || sign === '"') {
      const close = text.indexOf(sign, at + 1);
      if (close < 0) return false;
      at = close;
    } else if (sign === '(') depth += 1;
    else if (sign === ')') {
      if (depth === 0) return text[at + 1] !== ')';
      depth -= 1;
    }
  }
  return false;
}
