/** SHA-256 hashes of texts, in base64url: 43 characters. */
import { hash } from 'node:crypto';

/** Hash of a text's UTF-8 bytes. */
export function hashText(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** Hash of a list of texts. Each is prefixed with its length, so that different lists give different input. */
export function hashParts(parts: readonly string[]): string {
  let joined = '';
  for (const part of parts) joined += `${part.length}:${part}`;
  return hashText(joined);
}
