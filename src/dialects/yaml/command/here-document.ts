/** Here-documents of a shell: where they end, and which quoted ones may be written as ones that the shell expands. */

export interface Document {
  readonly delimiter: string;
  readonly isQuoted: boolean;
  /** It is quoted in the author's text, and not in what is written. */
  readonly isUnquoted: boolean;
  readonly isIndented: boolean;
  /** What reads it runs it. */
  readonly isRun: boolean;
}

/** A line that pipes something into a shell. */
export const intoShell: RegExp = /\|[ \t]*(?:sudo +)?(?:ba|da|k|z|a)?sh\b[^|\n]*\n$/;

/** What the shell does not take literally in a document whose delimiter is not quoted. */
export const expandable = '\\$`';

/** A quoted delimiter that means the same without its quotes. */
const plain = /(?:'([\w.-]+)'|"([\w.-]+)"|\\([\w.-]+))(?=[ \t\n;&|()<>]|$)/y;

/** The delimiter at a place as it is written and without its quotes, if it is a plain word in quotes. */
export function readPlainDelimiter(
  text: string,
  at: number,
): { readonly written: string; readonly delimiter: string } | undefined {
  plain.lastIndex = at;
  const [written, ...words] = plain.exec(text) ?? [];
  const delimiter = words.find((word) => word !== undefined);
  return written === undefined || delimiter === undefined ? undefined : { written, delimiter };
}

/** Where the line is that ends a document; the end of what is read if there is none. */
export function documentEnd(
  text: string,
  end: number,
  from: number,
  { delimiter, isIndented }: Pick<Document, 'delimiter' | 'isIndented'>,
): number {
  for (let line = from; line < end;) {
    const next = text.indexOf('\n', line);
    const lineEnd = next < 0 || next > end ? end : next;
    const written = text.slice(line, lineEnd);
    if ((isIndented ? written.replace(/^\t+/, '') : written) === delimiter) return line;
    line = lineEnd + 1;
  }
  return end;
}
