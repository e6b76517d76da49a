/** Computes and verifies checksums of stored history, with as little copying as possible (C6). */
import { createHash, hash } from 'node:crypto';

const checksumBytes = 32;
const headerRoom = 256;
/** From this size on, hashing piece by piece is cheaper than copying the body next to its header. */
const streamedBytes = 32 * 1024;

/** Reused by all calls, which are synchronous. Allocating a buffer for each row would cost as much as hashing it. */
const scratch = Buffer.allocUnsafeSlow(headerRoom + streamedBytes);

/** The bytes hashed before a body: the prefix, which is ASCII, and the parent's checksum in hex. */
const headerOf = (prefix: string, parent: Uint8Array): string => `${prefix}${toHex(parent)}.`;

/** Encodes a text and computes its checksum over one buffer. */
export function encodeWithChecksum(
  prefix: string,
  parent: Uint8Array,
  text: string,
): { readonly body: Uint8Array; readonly checksum: Uint8Array } {
  const header = headerOf(prefix, parent);
  const bytes = Buffer.from(header + text);
  return { body: bytes.subarray(header.length), checksum: Buffer.from(hash('sha256', bytes, 'hex'), 'hex') };
}

/** The checksum of an existing body. */
export function computeChecksum(prefix: string, parent: Uint8Array, body: Uint8Array): Uint8Array {
  return Buffer.from(hashBody(prefix, parent, body), 'hex');
}

/** Whether a stored checksum is that of these bytes. */
export function isChecksumRight(prefix: string, parent: Uint8Array, body: Uint8Array, checksum: Uint8Array): boolean {
  return checksum.length === checksumBytes && hashBody(prefix, parent, body) === toHex(checksum);
}

function hashBody(prefix: string, parent: Uint8Array, body: Uint8Array): string {
  const header = headerOf(prefix, parent);
  if (body.length > streamedBytes || header.length > headerRoom) {
    return createHash('sha256').update(header).update(body).digest('hex');
  }
  const start = scratch.write(header, 0, 'latin1');
  scratch.set(body, start);
  return hash('sha256', scratch.subarray(0, start + body.length), 'hex');
}

/** The checksum of a row other than a checkpoint: 32 bytes over its identifying values, in fixed order, and its body. */
export function checksumOfRow(place: readonly (string | number | null)[], body: Uint8Array): Uint8Array {
  return createHash('sha256').update(JSON.stringify(place)).update(body).digest();
}

/** The same bytes as a Buffer, which has fast decoders. */
export function asBuffer(bytes: Uint8Array): Buffer {
  if (bytes instanceof Buffer) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** A checksum as 64 hex digits. */
export function toHex(checksum: Uint8Array): string {
  return asBuffer(checksum).toString('hex');
}
