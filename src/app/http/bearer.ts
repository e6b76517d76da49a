/** Bearer tokens in requests, for the three servers: MCP over HTTP, the HTTP interface, and hosts. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** Tokens are compared by their digests, in constant time whatever their length. */
export const tokenDigest = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Whether an Authorization header carries the token of this digest. */
export function isBearerOf(header: string | null | undefined, expected: Buffer): boolean {
  const token = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? '';
  return timingSafeEqual(tokenDigest(token), expected);
}
