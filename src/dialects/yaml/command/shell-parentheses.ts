/** Tells `$((1 + 2))` from `$((a; b); c)`: the shell reads both as far as the end to know. */

/**
 * Whether what follows two opening parentheses is commands rather than arithmetic: the two that close are not side by side.
 * @param offset - after the opening ones
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
