/** Writes texts as string literals of expressions. */
import { TextError } from '../expression/tokens.ts';

// A text that is written from another one, and remembers where its parts came from.

/** The most characters written in addition to what is copied. Some forms write a part twice, and may be nested. */
const addedMax = 200_000;

export class MarkedText {
  text = '';
  #addedCount = 0;
  readonly #marks: { readonly written: number; readonly read: number; readonly isCopy: boolean }[] = [];

  /** Adds text that replaces what is at an offset of the other text. @throws TextError it gets too long */
  add(text: string, offset: number): void {
    this.#addedCount += text.length;
    if (this.#addedCount > addedMax)
      throw new TextError(offset, 'the expressions of this text are too long', 'compute parts of them in blocks');
    this.#marks.push({ written: this.text.length, read: offset, isCopy: false });
    this.text += text;
  }

  /** Copies text from the other text. */
  copy(text: string, offset: number): void {
    this.#marks.push({ written: this.text.length, read: offset, isCopy: true });
    this.text += text;
  }

  /** Removes everything after this many characters. */
  cut(length: number): void {
    this.text = this.text.slice(0, length);
    while ((this.#marks.at(-1)?.written ?? -1) >= length) this.#marks.pop();
  }

  /** Converts an offset in this text to one in the other text. */
  offsetOf(offset: number): number {
    const mark = this.#marks.findLast(({ written }) => written <= offset);
    if (mark === undefined) return 0;
    return mark.isCopy ? mark.read + offset - mark.written : mark.read;
  }
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', "'": "\\'", '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** A text escaped for single quotes, without the quotes. */
export function escapedText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for.
  const escaped = text.replaceAll(/[\\'\u0000-\u001f\u007f]/g, (sign) => {
    return escapes[sign] ?? `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return escaped.replaceAll('${', () => '$${');
}

/** A text as a string literal. */
export function quoted(text: string): string {
  return `'${escapedText(text)}'`;
}
