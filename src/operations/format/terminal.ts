/**
 * What goes to a terminal passes here: what a value holds never moves the cursor, hides or rewrites a line. Every door that prints uses
 * these, and no other file writes to standard output or error: test/security/terminal.test.ts.
 */

// C0 and C1 controls, DEL, line separators, the marks that turn the direction of writing, and what is not seen. A joiner stays where
// pictures or a script need it.
const unsafe =
  /(?![\p{Join_Control}\p{Variation_Selector}])[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]|(?<!\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?|[\p{sc=Arab}\p{sc=Deva}\p{sc=Beng}\p{sc=Guru}\p{sc=Gujr}\p{sc=Orya}\p{sc=Taml}\p{sc=Telu}\p{sc=Knda}\p{sc=Mlym}\p{sc=Sinh}]\p{M}*)\p{Join_Control}/gu;

const names: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = (digits: number): string => code.toString(16).padStart(digits, '0');
  return names[character] ?? (code < 0x100 ? `\\x${hex(2)}` : code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`);
}

/** As `unsafe`, without what lays text out. */
const moving = new RegExp(`(?![\\t\\n])(?:${unsafe.source})`, 'gu');

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
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value, null, indent).replace(moving, (character) => character.split('').map(escaped).join(''));
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
