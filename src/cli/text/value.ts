/** Values of a run as text for people. */
import { toJson } from '../../operations/contract/to-json.ts';
import { inlineValue } from '../../operations/format/story-words.ts';
import { printable } from '../../operations/format/terminal.ts';

export { toJson };

/** A value on one line: text in quotes only where it could be mistaken. */
export function formatInline(value: unknown): string {
  return printable(inlineValue(value));
}

/** A value over several lines, as indented JSON; a text as it is. */
export function formatBlock(value: unknown): string {
  if (value === undefined) return 'undefined';
  const plain = toJson(value);
  const text = typeof plain === 'string' ? plain : JSON.stringify(plain, null, 2);
  return text.split('\n').map(printable).join('\n');
}
