/** Names of files. Letters of both cases would be one file on some systems. */
import { hash } from 'node:crypto';

const nameBytesMost = 120;

/**
 * The text as the name of a file: small letters, digits, `-` and `_` as they are, all else as `%xx`; the hash in place of a long one's
 * rest.
 */
export function fileNameOf(text: string): string {
  const name = text.replaceAll(/[^a-z\d_-]/gu, (sign) =>
    [...Buffer.from(sign)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  );
  return name.length <= nameBytesMost ? name : `${name.slice(0, 80)}~${hash('sha256', text, 'hex').slice(0, 32)}`;
}

/** The text of a name; a long one's is not known, and its name stands for it. */
export function textOfFileName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
