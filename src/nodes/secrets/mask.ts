/** Takes secrets out of what a process or a server sends back, before anything is written. */
import { NodeFailure } from '../../graph/node-contract.ts';
import { mapLeaves } from '../draft/map-leaves.ts';

/** Replaces secret values, plain or encoded, by `[secret:NAME]`. */
export interface Mask {
  text(value: string): string;
  /** Every string and all bytes in a value, keys included. */
  all(value: unknown): unknown;
  /** Bytes that hold a secret of ASCII characters are given back with it masked. */
  bytes(value: Uint8Array): Uint8Array;
  /** For text that comes in pieces: a secret cut in two is found. */
  createStream(): MaskStream;
}

export interface MaskStream {
  /** Returns what can be shown; a tail that may be the start of a secret is held back. */
  push(piece: string): string;
  /** Returns what was held back. */
  end(): string;
}

/** @param secrets - values by name */
export function createMask(secrets: ReadonlyMap<string, string>): Mask {
  const names = new Map<string, string>();
  for (const [name, value] of secrets) for (const variant of listVariants(value)) names.set(variant, name);
  // Longer ones first, so that a secret that contains another is masked whole.
  const variants = [...names.keys()].sort((a, b) => b.length - a.length);
  const longest = variants[0]?.length ?? 0;
  const pattern = new RegExp(variants.map(escapePattern).join('|'), 'g');
  const text = (value: string): string =>
    longest === 0 ? value : value.replace(pattern, (found) => `[secret:${names.get(found) ?? ''}]`);
  return {
    text,
    bytes: (value) => (longest === 0 ? value : maskBytes(value, text)),
    all: (value) => (longest === 0 ? value : mapLeaves(value, (leaf) => maskLeaf(leaf, text), text)),
    createStream: () =>
      longest === 0 ? { push: (piece) => piece, end: () => '' } : createMaskStream(pattern, longest, text),
  };
}

/** The forms in which a value is likely to be echoed. */
function listVariants(value: string): readonly string[] {
  if (value === '') return [];
  // The encoded form of a very short value is found in too much innocent text.
  if (value.length < 6) return [value];
  const quoted = JSON.stringify(value).slice(1, -1);
  const base64 = Buffer.from(value).toString('base64');
  return [value, quoted, encodeURIComponent(value.toWellFormed()), base64, base64.replace(/=+$/, '')];
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/** Latin-1 gives every byte one character and back, so that bytes which are no text survive. */
function maskBytes(bytes: Uint8Array, text: (value: string) => string): Uint8Array {
  const characters = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const masked = text(characters);
  return masked === characters ? bytes : new Uint8Array(Buffer.from(masked, 'latin1'));
}

function maskLeaf(leaf: unknown, text: (value: string) => string): unknown {
  if (typeof leaf === 'string') return text(leaf);
  return leaf instanceof Uint8Array ? maskBytes(leaf, text) : leaf;
}

/** The same failure, with nothing secret in what it says. */
export function maskFailure({ message, applied, retryAfterMs, code, data }: NodeFailure, mask: Mask): NodeFailure {
  return new NodeFailure(mask.text(message), {
    applied,
    code,
    data: mask.all(data),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function createMaskStream(pattern: RegExp, longest: number, text: (value: string) => string): MaskStream {
  let held = '';
  return {
    push(piece) {
      held += piece;
      const matches = [...held.matchAll(pattern)];
      const last = matches.at(-1);
      const masked = last === undefined ? 0 : last.index + last[0].length;
      const safe = Math.max(masked, held.length - longest + 1);
      const shown = text(held.slice(0, safe));
      held = held.slice(safe);
      return shown;
    },
    end() {
      const shown = text(held);
      held = '';
      return shown;
    },
  };
}
