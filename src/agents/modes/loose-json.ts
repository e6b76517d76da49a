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

/** The text of the first complete object or list. */
function valueIn(text: string): string | undefined {
  const start = text.search(/[[{]/u);
  if (start < 0) return undefined;
  let depth = 0;
  for (const { character, at, isText } of charactersOf(text, start)) {
    if (isText) continue;
    if (character === '{' || character === '[') depth += 1;
    if (character === '}' || character === ']') depth -= 1;
    if (depth === 0) return text.slice(start, at + 1);
  }
  return undefined;
}

const escapes: Readonly<Record<string, string>> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` };

/** Escapes line ends inside strings, and removes trailing commas. */
function mend(text: string): string {
  const closing = /\s*[}\]]/uy;
  const mended: string[] = [];
  for (const { character, at, isText } of charactersOf(text, 0)) {
    closing.lastIndex = at + 1;
    if (!isText && character === ',' && closing.test(text)) continue;
    mended.push(isText ? (escapes[character] ?? character) : character);
  }
  return mended.join('');
}

/** Yields the characters of a JSON text, each with whether it is inside a string. */
function* charactersOf(
  text: string,
  start: number,
): Generator<{ readonly character: string; readonly at: number; readonly isText: boolean }> {
  let isText = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at] as string;
    if (isText && character === '\\') {
      yield { character, at, isText };
      at += 1;
      if (at < text.length) yield { character: text[at] as string, at, isText };
      continue;
    }
    if (character === '"') isText = !isText;
    yield { character, at, isText: isText && character !== '"' };
  }
}
