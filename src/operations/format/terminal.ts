/**
 * What goes to a terminal passes here: what a value holds never moves the cursor, hides or rewrites a line. Every door that prints uses
 * these, and no other file writes to standard output or error: test/security/terminal.test.ts.
 */

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

/** As `unsafe`, without what lays text out. */
// oxlint-disable-next-line no-control-regex
const moving = /(?![\t\n])[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Cs}/gu;

/** The colours that we paint with ourselves. */
// oxlint-disable-next-line no-control-regex
const painted = /(\u001b\[(?:1|2|22|31|32|33|39)m)/u;

/**
 * A text for a terminal, whoever made it: only our own colours reach it as they are. Texts from outside are made printable where
 * they are put into a line; this is the last gate, and the only one for a file that is shown as it is.
 */
export function forTerminal(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .split(painted)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(moving, escapeCharacter)))
    .join('');
}

/** JSON that a terminal may show: JSON itself escapes the controls below a space, and no others. */
export function jsonText(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(
    moving,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
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

/** Writes lines for the operator of a server to standard error, as a terminal may have them. */
export function writeLog(...lines: readonly string[]): void {
  process.stderr.write(forTerminal(lines.map((line) => `${line}\n`).join('')));
}

/** The same for what was thrown, with its stack. */
export function writeFault(thrown: unknown): void {
  writeLog(process.getBuiltinModule('node:util').inspect(thrown));
}
