/** Makes any text safe to print: what a value holds never moves the cursor, hides or rewrites a line. */

// C0 and C1 controls, DEL, line separators, and the marks that turn the direction of writing.
// oxlint-disable-next-line no-control-regex
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Cs}/gu;

const names: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeCharacter(character: string): string {
  const code = character.charCodeAt(0);
  return (
    names[character] ??
    (code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`)
  );
}

/** The text on one line, with control characters written as escapes. */
export function printable(text: string): string {
  return text.replace(unsafe, escapeCharacter);
}

/** The same, but line breaks stay. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(printable).join('\n');
}
