/** Words for shells. */
import { printable } from '../../operations/format/terminal.ts';

/** Writes a word so that a shell reads it as it is; control characters as the escapes that shells know. */
export function quote(word: string): string {
  if (printable(word) !== word) return `$'${printable(word.replace(/[\\']/g, String.raw`\$&`))}'`;
  return /^[\w@%+=:,./~-]+$/.test(word) && !word.startsWith('~') ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
