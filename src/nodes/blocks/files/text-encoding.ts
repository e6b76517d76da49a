/** Encodings of text files. */
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import { choiceOption, type Option } from '../fields.ts';

const encodings = ['utf-8', 'utf8', 'utf-16le', 'latin1', 'ascii'] as const;
export type Encoding = (typeof encodings)[number];

export const encodingOption: Option<Encoding> = choiceOption('encoding', 'How text stands in the file.', encodings);

/** The most bytes of one file that a block reads into memory. */
export const fileLimitBytes: number = 32 * 1024 * 1024;

/** Encodes a text. @throws NodeFailure ENCODING a character does not exist in the encoding */
export function encodeText(text: string, encoding: Encoding): Buffer {
  const bytes = Buffer.from(text, encoding);
  const isLossy = encoding === 'ascii' ? /[^\0-\x7f]/.test(text) : bytes.toString(encoding) !== text;
  if (isLossy) refuse(`the text cannot be written as ${encoding}`);
  return bytes;
}

/** Decodes bytes. @throws NodeFailure ENCODING the bytes are not valid in the encoding */
export function decodeBytes(bytes: Buffer, encoding: Encoding): string {
  const text = bytes.toString(encoding);
  const isLossy = encoding === 'ascii' ? bytes.some((byte) => byte > 127) : !Buffer.from(text, encoding).equals(bytes);
  if (isLossy) refuse(`the file is no ${encoding}`);
  return text;
}

function refuse(reason: string): never {
  throw new NodeFailure(reason, { code: 'ENCODING', applied: 'no' });
}
