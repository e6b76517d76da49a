/** A position in a script that is being read and copied. */
import { TextError } from '../expression/template.ts';

const maxDepth = 100;

export class ShellCursor {
  protected readonly text: string;
  protected at = 0;
  /** End of the text to read. A here-document ends before the script does. */
  protected end: number;
  readonly #write: (text: string) => void;
  #depth = 0;

  constructor(text: string, write: (text: string) => void) {
    this.text = text;
    this.end = text.length;
    this.#write = write;
  }

  /** The character here or further on; empty at the end. */
  protected peek(offset = 0): string {
    const index = this.at + offset;
    return index < this.end ? (this.text[index] ?? '') : '';
  }

  protected starts(text: string): boolean {
    return this.at + text.length <= this.end && this.text.startsWith(text, this.at);
  }

  /** Copies characters and returns them. */
  protected copy(length: number): string {
    const text = this.text.slice(this.at, Math.min(this.at + length, this.end));
    this.#write(text);
    this.at += text.length;
    return text;
  }

  /** Writes other text in place of characters. */
  protected put(text: string, length: number): void {
    this.#write(text);
    this.at += length;
  }

  /** Reads a nested part. @throws TextError it is nested too deep */
  protected within<Result>(read: () => Result): Result {
    this.#depth += 1;
    if (this.#depth > maxDepth) {
      throw new TextError(this.at, `a command nested deeper than ${maxDepth}`, 'make it simpler');
    }
    const result = read();
    this.#depth -= 1;
    return result;
  }
}
