/** Integrity of history (C6): what a checksum covers, computed without copying more than once. */
import { createHash, hash } from 'node:crypto';

const checksumBytes = 32;
const headerRoom = 256;
/** From this size on, copying bytes beside their header costs more than a streamed hash. */
const streamedBytes = 32 * 1024;

/** Reused between calls, all of which are synchronous: a fresh buffer for each row costs as much as its hash. */
const scratch = Buffer.allocUnsafeSlow(headerRoom + streamedBytes);

/** What is hashed before a body: the prefix, which is ASCII, and the parent's checksum in hex. */
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

/** The checksum of bytes that are there already. */
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

/** The checksum of a row beside the checkpoints: 32 bytes over what it is, in a fixed order, and its body. */
export function checksumOfRow(place: readonly (string | number | null)[], body: Uint8Array): Uint8Array {
  return createHash('sha256').update(JSON.stringify(place)).update(body).digest();
}

/** A view on the same bytes with Buffer's fast decoders. */
export function asBuffer(bytes: Uint8Array): Buffer {
  if (bytes instanceof Buffer) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** 64 hex digits of a checksum. */
export function toHex(checksum: Uint8Array): string {
  return asBuffer(checksum).toString('hex');
}
