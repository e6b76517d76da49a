/** A text that is written from another, which remembers where its parts came from. */
import { TextError } from '../expression/expression-tokens.ts';

/** So much may be written beside what is copied: some forms say a part twice, and may stand within each other. */
const addedMax = 200_000;

export class MarkedText {
  text = '';
  #addedCount = 0;
  readonly #marks: { readonly written: number; readonly read: number; readonly isCopy: boolean }[] = [];

  /** Adds what stands for something at an offset of the other text. @throws TextError it gets too long */
  add(text: string, offset: number): void {
    this.#addedCount += text.length;
    if (this.#addedCount > addedMax)
      throw new TextError(offset, 'the expressions of this text are too long', 'compute parts of them in blocks');
    this.#marks.push({ written: this.text.length, read: offset, isCopy: false });
    this.text += text;
  }

  /** Adds what stands in the other text as it is. */
  copy(text: string, offset: number): void {
    this.#marks.push({ written: this.text.length, read: offset, isCopy: true });
    this.text += text;
  }

  /** Takes back what was added after so many characters. */
  cut(length: number): void {
    this.text = this.text.slice(0, length);
    while ((this.#marks.at(-1)?.written ?? -1) >= length) this.#marks.pop();
  }

  /** The offset in the other text of one in this. */
  offsetOf(offset: number): number {
    const mark = this.#marks.findLast(({ written }) => written <= offset);
    if (mark === undefined) return 0;
    return mark.isCopy ? mark.read + offset - mark.written : mark.read;
  }
}
