/** Parses JSON as models write it: in a code fence, inside other text, with line ends inside strings, with trailing commas. */

/** The value of a text, or why it has none. */
export type LooseJson = { readonly value: unknown } | { readonly fault: string };

/** Finds and parses the JSON in a text. Only text around it and unambiguous mistakes are corrected. */
export function readLooseJson(text: string): LooseJson {
  const exact = parse(text);
  if ('value' in exact) return exact;
  const fenced = /```[a-z]*[ \t]*\r?\n([\s\S]*?)```/iu.exec(text)?.[1];
  for (const part of [fenced, valueIn(text)]) {
    if (part === undefined) continue;
    const strict = parse(part);
    const read = 'value' in strict ? strict : parse(mend(part));
    if ('value' in read) return read;
  }
  return exact;
}

function parse(text: string): LooseJson {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { fault: `it is no JSON: ${(error as Error).message}` };
  }
}

// An answer may have many megabytes, so what follows makes no object for a character, and leaps over strings.
const codes = { quote: 0x22, comma: 0x2c, backslash: 0x5c } as const;
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** The text of the first complete object or list. */
function valueIn(text: string): string | undefined {
  const start = text.search(/[[{]/u);
  if (start < 0) return undefined;
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) at = endOfString(text, at);
    else if (opening.has(code)) depth += 1;
    else if (closing.has(code) && (depth -= 1) === 0) return text.slice(start, at + 1);
  }
  return undefined;
}

/** Escapes line ends inside strings, and removes trailing commas. */
function mend(text: string): string {
  const closes = /\s*[}\]]/uy;
  const mended: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.quote) {
      const end = endOfString(text, at);
      mended.push(text.slice(from, at), withoutLineEnds(text.slice(at, end)));
      from = at = end;
    } else if (code === codes.comma) {
      closes.lastIndex = at + 1;
      if (!closes.test(text)) continue;
      mended.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return mended.join('') + text.slice(from);
}

/** The place of the quote that ends a string; the text's length if none does. @param start - the place of the quote that begins it */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === codes.backslash) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return text.length;
}

function withoutLineEnds(text: string): string {
  if (!/[\n\r\t]/u.test(text)) return text;
  return text
    .replaceAll(/\n/gu, String.raw`\n`)
    .replaceAll(/\r/gu, String.raw`\r`)
    .replaceAll(/\t/gu, String.raw`\t`);
}
