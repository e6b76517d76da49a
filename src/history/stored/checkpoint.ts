/** The stored form of a checkpoint, format version 1: see docs/spec/checkpoints.md (C3, C4, C6, C7). */
import type { BlobStore } from '../../ports/blobs.ts';
import { BlobRef } from '../../state/values/value-codec.ts';
import { decodeJson, reviveValue } from '../../state/values/revive.ts';
import { isPlainObject, setOwn } from '../../state/values/plain-object.ts';
import { hash } from 'node:crypto';
import { CairnError } from '../../errors.ts';
import type { CheckpointRow } from '../../ports/store.ts';
import { computeChecksum, encodeWithChecksum, isChecksumRight, toHex } from './checksum.ts';
import type { Change } from './change.ts';
import { namedByCheckpoint } from './named-blobs.ts';
import { packSmall, unpack } from './packed.ts';
import { elsewhere } from './pace.ts';

// Decodes stored values: type tags are converted, and blobs are read (C2, C5).

/** Occurs in the text of every stored value that contains a type tag. */
export const tagMarker = '"$":';

const decoder = new TextDecoder();

/**
 * The value in a blob, whose bytes are its JSON text.
 * @param parse - default: as values of a state are stored
 * @throws BLOB_NOT_FOUND; BLOB_CORRUPT the bytes are others, also where the blob store did not notice
 */
export async function readBlobValue(
  blobs: BlobStore,
  tenant: string,
  hash: string,
  parse: (text: string) => unknown = decodeJson,
): Promise<unknown> {
  return parseBlob(hash, decoder.decode(await elsewhere(() => blobs.get(tenant, hash))), parse);
}

function parseBlob(hash: string, text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new CairnError('BLOB_CORRUPT', { hash }, { cause: error });
  }
}

/**
 * Decodes a stored value in place, and replaces references to blobs by the blobs' values. Each place gets its own copy.
 * @throws VALUE_UNSTORABLE, BLOB_NOT_FOUND, BLOB_CORRUPT
 */
export async function resolveValues(blobs: BlobStore, tenant: string, stored: unknown): Promise<unknown> {
  const revived = reviveValue(stored);
  const places: BlobPlace[] = [];
  if (revived instanceof BlobRef) return readBlobValue(blobs, tenant, revived.hash);
  findBlobs(revived, places);
  const hashes = [...new Set(places.map(({ blob }) => blob.hash))];
  const texts = new Map(
    await Promise.all(hashes.map(async (hash) => [hash, decoder.decode(await blobs.get(tenant, hash))] as const)),
  );
  for (const { holder, key, blob } of places)
    setOwn(holder, key, parseBlob(blob.hash, texts.get(blob.hash)!, decodeJson));
  return revived;
}

/** The hashes of all blobs that a stored value refers to, those of files included. */
export function listBlobs(stored: unknown, hashes: Set<string> = new Set()): Set<string> {
  if (typeof stored !== 'object' || stored === null) return hashes;
  if (Array.isArray(stored)) {
    for (const item of stored) listBlobs(item, hashes);
    return hashes;
  }
  const hash = blobHash(stored) ?? fileHash(stored);
  if (hash !== undefined) {
    for (const file of listFiles(stored)) hashes.add(file);
    return hashes.add(hash);
  }
  for (const value of Object.values(stored)) listBlobs(value, hashes);
  return hashes;
}

/** The hash, if a stored value is a reference to a blob. */
export function blobHash(stored: unknown): string | undefined {
  return hashOfTag('blob', stored);
}

/** The hash of what a stored value stands for, if that is stored apart: a large value, or a file. */
export function referenceHash(stored: unknown): string | undefined {
  return blobHash(stored) ?? fileHash(stored);
}

/** The hash, if a stored value is a reference to a file. The file's bytes are not part of the state. */
function fileHash(stored: unknown): string | undefined {
  return hashOfTag('file', stored);
}

function hashOfTag(name: string, stored: unknown): string | undefined {
  if (typeof stored !== 'object' || stored === null || !Object.hasOwn(stored, '$')) return undefined;
  const { $: tag, hash } = stored as { readonly $: unknown; readonly hash?: unknown };
  return tag === name && typeof hash === 'string' ? hash : undefined;
}

/** Hashes of files inside a value that is stored as a blob. */
function listFiles(stored: object): readonly string[] {
  const { files } = stored as { readonly files?: readonly string[] };
  return files ?? [];
}

interface BlobPlace {
  readonly holder: object;
  readonly key: string;
  readonly blob: BlobRef;
}

/** Finds references to blobs. They occur only in objects and lists, because only whole values of the tree are stored as blobs. */
function findBlobs(value: unknown, places: BlobPlace[]): void {
  if (!Array.isArray(value) && !isPlainObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (item instanceof BlobRef) places.push({ holder: value, key, blob: item });
    else if (typeof item === 'object' && item !== null) findBlobs(item, places);
  }
}

export const formatVersion = 1;

/** The content of one checkpoint, without its position in the chain. */
export interface CheckpointContent {
  /** Epoch ms; information only. */
  readonly at: number;
  readonly change: Change;
  /** JSON text of the ops that turn the previous checkpoint's state into this one's. */
  readonly delta: string;
}

/** Identifies a checkpoint: the run's short stable name, and the seq. */
export interface CheckpointIdentity {
  /** 16 hex digits. */
  readonly runKey: string;
  readonly seq: number;
}

/** Marks a row that pruning made of a span of checkpoints: it stands for `after + 1 … seq` (C8). */
export interface Fold {
  /** The checkpoint before the span, on which the delta is based. */
  readonly after: number;
  /** Checksum of the checkpoint that stood here before, which the next checkpoint names as its parent. */
  readonly covers: Uint8Array;
}

export interface DecodedCheckpoint {
  readonly seq: number;
  /** Epoch ms; information only. */
  readonly at: number;
  readonly change: Change;
  /** The ops of the delta, with values in their stored form. */
  readonly ops: readonly unknown[];
  /** The nodes' own updates, by node path, in stored form, where a reducer changed them; undefined if there are none. */
  readonly nodeUpdates: unknown;
  /** How many open waits, failures and unused recorded outcomes a fork from here must consider; undefined if not known. */
  readonly pending?: number;
  /** Whether stored values may contain type tags. If not, they need no decoding. */
  readonly hasTags: boolean;
  readonly fold?: Fold;
  /** Size of the body's text. */
  readonly sizeBytes: number;
  /** What the next checkpoint names as its parent: the row's checksum, or the one that a fold covers. */
  readonly link: Uint8Array;
}

/**
 * The computed parts of a checkpoint's row: its body as text, and its checksum of 32 bytes. {@link storedForm} says how the body is stored.
 */
export type EncodedCheckpoint = Pick<CheckpointRow, 'body' | 'checksum' | 'blobs'>;

/** The parent of the checkpoint with seq 0: 32 zero bytes. */
export const rootChecksum: Uint8Array = new Uint8Array(32);

/** The short stable name of a run in checkpoint ids: 16 hex digits of a hash over tenant and id, each prefixed with its length. */
export function runKeyOf(tenant: string, runId: string): string {
  return hash('sha256', `${tenant.length}:${tenant}${runId.length}:${runId}`, 'hex').slice(0, 16);
}

/** A checkpoint's id: `<run key>.<seq>`. */
export function checkpointId(runKey: string, seq: number): string {
  return `${runKey}.${seq}`;
}

/** What the checksum covers besides the parent's checksum and the body; the same in every format version. */
function prefixOf({ runKey, seq }: CheckpointIdentity, at: number): string {
  return `checkpoint.${runKey}.${seq}.${at}.`;
}

const packedFromBytes = 1024;
const historyBytes = 32 * 1024;

/**
 * A body as it is stored. One that reports an `external` effect is packed: the call out took far longer than packing does. A history that
 * would stay below 64 KiB with checkpoints of this size stays as it is, so that a short run is read without a decompressor.
 * @param changeJson - JSON text of its Change
 */
export function storedForm(seq: number, changeJson: string, text: Uint8Array): Uint8Array {
  const isLong = text.length >= packedFromBytes && text.length * seq >= historyBytes;
  return isLong && changeJson.includes('"effect":"external"') ? packSmall(text) : text;
}

/** The text of a row's body. @throws CHECKPOINT_CORRUPT */
export function checkpointText(runKey: string, { seq, body }: CheckpointRow): string {
  return unpackOf({ runKey, seq }, body).toString();
}

/** @throws CHECKPOINT_CORRUPT */
function unpackOf(identity: CheckpointIdentity, body: Uint8Array): Buffer {
  try {
    return unpack(body);
  } catch (error) {
    throw corrupt(identity, 'it cannot be decompressed', error);
  }
}

/**
 * Makes a row's body and checksum. The body is assembled as text, so a delta is encoded only once.
 * @param parentChecksum - 32 bytes: the `link` of the checkpoint before, or {@link rootChecksum} for the first
 * @param at - epoch ms
 * @param changeJson - JSON text of a Change
 * @param delta - JSON text of the delta's ops
 * @param updatesJson - JSON text of the nodes' own updates, by node path
 * @param pending - see {@link DecodedCheckpoint.pending}
 */
export function encodeCheckpoint(
  identity: CheckpointIdentity,
  parentChecksum: Uint8Array,
  at: number,
  changeJson: string,
  delta: string,
  updatesJson?: string,
  pending = 0,
): EncodedCheckpoint {
  const tail =
    (updatesJson === undefined ? '' : `,"given":${updatesJson}`) + (pending === 0 ? '' : `,"pending":${pending}`);
  const text = `{"v":${formatVersion},"change":${changeJson},"delta":${delta}${tail}}`;
  return withNamed(encodeWithChecksum(prefixOf(identity, at), parentChecksum, text));
}

/** Like {@link encodeCheckpoint}, for a row that stands for a pruned span. */
export function encodeFold(
  identity: CheckpointIdentity,
  parentChecksum: Uint8Array,
  content: CheckpointContent,
  fold: Fold,
): EncodedCheckpoint {
  const change = JSON.stringify(content.change);
  const mark = `"fold":{"after":${fold.after},"covers":"${toHex(fold.covers)}"}`;
  const text = `{"v":${formatVersion},"change":${change},"delta":${content.delta},${mark}}`;
  return withNamed(encodeWithChecksum(prefixOf(identity, content.at), parentChecksum, text));
}

/** With the blobs that it names, if there are any. */
function withNamed(encoded: EncodedCheckpoint): EncodedCheckpoint {
  const { blobs } = namedByCheckpoint(encoded.body);
  return blobs === undefined ? encoded : { ...encoded, blobs };
}

/** Computes the checksum of an existing body for another identity or parent; used by imports. */
export function sealBody(
  identity: CheckpointIdentity,
  parentChecksum: Uint8Array,
  at: number,
  body: Uint8Array,
): Uint8Array {
  return computeChecksum(prefixOf(identity, at), parentChecksum, body);
}

/**
 * Verifies and decodes a row.
 * @param parentChecksum - the `link` of the checkpoint before; if undefined, the checksum is not verified
 * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN
 */
export function decodeCheckpoint(
  identity: CheckpointIdentity,
  parentChecksum: Uint8Array | undefined,
  row: CheckpointRow,
): DecodedCheckpoint {
  if (row.seq !== identity.seq) throw corrupt(identity, `the row says that it is ${row.seq}`);
  const bytes = unpackOf(identity, row.body);
  if (
    parentChecksum !== undefined &&
    !isChecksumRight(prefixOf(identity, row.at), parentChecksum, bytes, row.checksum)
  ) {
    throw corrupt(identity, 'its checksum does not fit');
  }
  const text = bytes.toString();
  const body = parseBody(identity, text);
  const fold = readFold(identity, body['fold']);
  return {
    seq: row.seq,
    at: row.at,
    change: body['change'] as Change,
    ops: body['delta'] as readonly unknown[],
    nodeUpdates: body['given'],
    hasTags: text.includes(tagMarker),
    ...(fold === undefined ? { pending: Number(body['pending'] ?? 0) } : { fold }),
    sizeBytes: bytes.length,
    link: fold?.covers ?? row.checksum,
  };
}

function parseBody(identity: CheckpointIdentity, text: string): Readonly<Record<string, unknown>> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw corrupt(identity, 'it is not JSON', error);
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw corrupt(identity, 'it is no object');
  const fields = body as Readonly<Record<string, unknown>>;
  const version = fields['v'];
  if (!Number.isSafeInteger(version) || (version as number) < 1) throw corrupt(identity, 'it names no format version');
  if ((version as number) > formatVersion) {
    throw new CairnError('CHECKPOINT_VERSION_UNKNOWN', {
      checkpoint: checkpointId(identity.runKey, identity.seq),
      version,
      supported: formatVersion,
    });
  }
  if (!Array.isArray(fields['change'])) throw corrupt(identity, 'it has no change');
  if (!Array.isArray(fields['delta'])) throw corrupt(identity, 'it has no delta');
  return fields;
}

function readFold(identity: CheckpointIdentity, value: unknown): Fold | undefined {
  if (value === undefined) return undefined;
  const { after, covers } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isRight =
    Number.isSafeInteger(after) &&
    (after as number) < identity.seq &&
    typeof covers === 'string' &&
    /^[0-9a-f]{64}$/.test(covers);
  if (!isRight) throw corrupt(identity, 'its fold mark is wrong');
  return { after: after as number, covers: Buffer.from(covers, 'hex') };
}

function corrupt(identity: CheckpointIdentity, reason: string, cause?: unknown): CairnError {
  return new CairnError(
    'CHECKPOINT_CORRUPT',
    { checkpoint: checkpointId(identity.runKey, identity.seq), reason },
    cause === undefined ? {} : { cause },
  );
}
