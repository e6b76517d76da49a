/** Here-documents of a shell: where they end, and which quoted ones can be written as unquoted ones, which the shell expands. */

export interface Document {
  readonly delimiter: string;
  readonly isQuoted: boolean;
  /** Whether its delimiter is quoted in the author's text, but not in the written one. */
  readonly isUnquoted: boolean;
  readonly isIndented: boolean;
  /** Whether its reader runs it as a script. */
  readonly isRun: boolean;
}

/** Matches a line that pipes something into a shell. */
export const intoShell: RegExp = /\|[ \t]*(?:sudo +)?(?:ba|da|k|z|a)?sh\b[^|\n]*\n$/;

/** Characters that the shell interprets in a document with an unquoted delimiter. */
export const expandable = '\\$`';

/** Matches a quoted delimiter that means the same without quotes. */
const plain = /(?:'([\w.-]+)'|"([\w.-]+)"|\\([\w.-]+))(?=[ \t\n;&|()<>]|$)/y;

/** The delimiter at a place, as written and without quotes, if it is a simple word in quotes. */
export function readPlainDelimiter(
  text: string,
  at: number,
): { readonly written: string; readonly delimiter: string } | undefined {
  plain.lastIndex = at;
  const [written, ...words] = plain.exec(text) ?? [];
  const delimiter = words.find((word) => word !== undefined);
  return written === undefined || delimiter === undefined ? undefined : { written, delimiter };
}

/** Offset of the line that ends a document; the end of the text if there is none. */
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
