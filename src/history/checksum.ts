/** Integrity of history (C6): what a checksum covers, and how it is computed without copying more than once. */
import { hash } from 'node:crypto';

const checksumBytes = 32;
const headerRoom = 128;
const scratchLimitBytes = 4 * 1024 * 1024;
/** From this length on, counting bytes is cheaper than reserving the most they could take. */
const countedFromChars = 64 * 1024;

/** Reused between calls, all of which are synchronous: a fresh buffer for each row costs more than its hash. */
let scratch = Buffer.allocUnsafeSlow(64 * 1024);

function reserve(sizeBytes: number): Buffer {
  if (sizeBytes <= scratch.length) return scratch;
  if (sizeBytes > scratchLimitBytes) return Buffer.allocUnsafeSlow(sizeBytes);
  scratch = Buffer.allocUnsafeSlow(sizeBytes * 2);
  return scratch;
}

function writeHeader(target: Buffer, prefix: string, parent: Uint8Array): number {
  const end = target.write(prefix, 0, 'latin1');
  target.set(parent, end);
  return end + checksumBytes;
}

const toBytes = (binary: string): Uint8Array => Buffer.from(binary, 'latin1');

/** Encodes a text and computes its checksum in one pass over one buffer. The prefix is ASCII and ends with a full stop. */
export function encodeWithChecksum(
  prefix: string,
  parent: Uint8Array,
  text: string,
): { readonly body: Uint8Array; readonly checksum: Uint8Array } {
  const room = text.length < countedFromChars ? text.length * 3 : Buffer.byteLength(text);
  const buffer = reserve(headerRoom + room);
  const start = writeHeader(buffer, prefix, parent);
  const end = start + buffer.write(text, start);
  return {
    body: Buffer.from(buffer.subarray(start, end)),
    checksum: toBytes(hash('sha256', buffer.subarray(0, end), 'binary')),
  };
}

/** The checksum of bytes that are there already. */
export function computeChecksum(prefix: string, parent: Uint8Array, body: Uint8Array): Uint8Array {
  return toBytes(hashBody(prefix, parent, body));
}

/** Whether a stored checksum is that of these bytes. */
export function isChecksumRight(prefix: string, parent: Uint8Array, body: Uint8Array, checksum: Uint8Array): boolean {
  return checksum.length === checksumBytes && hashBody(prefix, parent, body) === asBuffer(checksum).toString('latin1');
}

function hashBody(prefix: string, parent: Uint8Array, body: Uint8Array): string {
  const buffer = reserve(headerRoom + body.length);
  const start = writeHeader(buffer, prefix, parent);
  buffer.set(body, start);
  return hash('sha256', buffer.subarray(0, start + body.length), 'binary');
}

/** A view on the same bytes with Buffer's fast decoders. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** 64 hex digits of a checksum. */
export function toHex(checksum: Uint8Array): string {
  return asBuffer(checksum).toString('hex');
}
