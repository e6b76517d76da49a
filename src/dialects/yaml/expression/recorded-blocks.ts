/** Writes the recorded ids of blocks into texts, in place of those that the file has for them now (G15). */
import { readExpression, readReference, TextError, type Token } from './tokens.ts';

/** The recorded ids of renamed blocks, by those in the file, and the names that inputs have: a name alone means the input. */
export interface RecordedBlocks {
  readonly blocks: ReadonlyMap<string, string>;
  readonly inputs: readonly string[];
}

interface Edit {
  readonly at: number;
  readonly length: number;
  readonly text: string;
}

/** A value of a file with the recorded ids in all its texts. It is what is hashed, so that a rename changes no other block. */
export function withRecordedBlocks(value: unknown, names: RecordedBlocks): unknown {
  if (typeof value === 'string') return recordedText(value, names);
  if (Array.isArray(value)) return value.map((item) => withRecordedBlocks(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withRecordedBlocks(item, names)]));
}

/** A condition, which is an expression as a whole, with the recorded ids. */
export function recordedCondition(text: string, names: RecordedBlocks): string {
  return edited(
    text,
    editsOrNone(() => editsIn(readExpression(text), text, names)),
  );
}

function recordedText(text: string, names: RecordedBlocks): string {
  const edits: Edit[] = [];
  for (let at = text.indexOf('${'); at >= 0; at = text.indexOf('${', at)) {
    let next = at + 2;
    if (at === 0 || text[at - 1] !== '$')
      edits.push(
        ...editsOrNone(() => {
          const { tokens, end } = readReference(text, at);
          next = end;
          return editsIn(tokens, text, names);
        }),
      );
    at = next;
  }
  return edited(text, edits);
}

/** What cannot be read is the shell's, or was reported. */
function editsOrNone(read: () => readonly Edit[]): readonly Edit[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof TextError) return [];
    throw error;
  }
}

function edited(text: string, edits: readonly Edit[]): string {
  return edits.reduceRight(
    (whole, { at, length, text: own }) => whole.slice(0, at) + own + whole.slice(at + length),
    text,
  );
}

const isSign = (token: Token | undefined, sign: string): boolean => token?.kind === 'operator' && token.text === sign;

function editsIn(tokens: readonly Token[], text: string, names: RecordedBlocks): readonly Edit[] {
  return tokens.flatMap((token, index): readonly Edit[] => {
    if (token.kind === 'template')
      return token.parts.flatMap((part) => (typeof part === 'string' ? [] : editsIn(part, text, names)));
    if (token.kind === 'group' || token.kind === 'reference') {
      const inner = token.tokens[0];
      const isKey = token.kind === 'group' && token.open === '[' && isBlocks(tokens, index - 1);
      if (isKey && inner?.kind === 'string') return keyEdit(inner, names);
      return editsIn(token.tokens, text, names);
    }
    if (token.kind !== 'word') return [];
    const isOfBlocks = isSign(tokens[index - 1], '.') && isBlocks(tokens, index - 2);
    if (!isOfBlocks && isSign(tokens[index - 1], '.')) return [];
    const found = [...names.blocks.keys()].find((name) => isAt(text, token.start, name));
    if (found === undefined || (!isOfBlocks && names.inputs.includes(found))) return [];
    return [{ at: token.start, length: found.length, text: names.blocks.get(found) ?? found }];
  });
}

/** Whether the token at an index is the namespace of blocks. */
function isBlocks(tokens: readonly Token[], index: number): boolean {
  const token = tokens[index];
  return token?.kind === 'word' && token.text === 'blocks' && !isSign(tokens[index - 1], '.');
}

function keyEdit(
  { text, start }: Extract<Token, { readonly text: string }>,
  { blocks }: RecordedBlocks,
): readonly Edit[] {
  const [, quote = '', key = ''] = /^("|')(.*)\1$/su.exec(text) ?? [];
  const recorded = blocks.get(key);
  return recorded === undefined ? [] : [{ at: start + quote.length, length: key.length, text: recorded }];
}

/** Whether a whole name stands at an offset. */
function isAt(text: string, offset: number, name: string): boolean {
  return text.startsWith(name, offset) && !/[\w-]/u.test(text[offset + name.length] ?? '');
}
