/** Texts of an outline in their plainest form. */
import type { Piece, Text } from './outline.ts';

/** The same text with neighbouring strings as one, and without empty ones. */
export function joined(text: Text): Text {
  const parts: Piece[] = [];
  for (const piece of text) {
    const last = parts.at(-1);
    if (piece === '') continue;
    if (typeof piece === 'string' && typeof last === 'string') parts[parts.length - 1] = last + piece;
    else parts.push(piece);
  }
  return parts;
}
