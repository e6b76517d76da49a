/** Verifies the chain of checksums that links each checkpoint to the one before it (C6). */
import { applyDelta } from '../../state/delta.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { measureValue } from './measure-value.ts';
import type { SnapshotRow, CheckpointRow } from '../../ports/store.ts';
import { encodeWithChecksum, isChecksumRight, toHex } from './checksum.ts';
import { checkpointId, type CheckpointIdentity, decodeCheckpoint, type DecodedCheckpoint } from './checkpoint.ts';
import { CairnError } from '../../errors.ts';
import { namedByState } from './named-blobs.ts';
import { packLarge, unpack } from './packed.ts';

// Writes a tree as lines of JSON: small parts in the first line, large parts as ops in the lines after it (C4).

/**
 * Target length of a line. Strings above 128 KiB are handled separately by V8, and creating one takes twenty times as long as creating
 * several smaller ones.
 */
const lineBytes = 64 * 1024;

type Path = readonly string[];

/** The lines of a tree, from its JSON text. */
export function toTreeLines(treeJson: string): readonly string[] {
  if (treeJson.length <= lineBytes) return [treeJson];
  const lines = new OpLines();
  const root: unknown = JSON.parse(treeJson);
  if (!isPlainObject(root)) return [treeJson];
  putObject(root, [], lines);
  return ['{}', ...lines.end()];
}

/** Parses lines into a new tree. @throws SyntaxError, TypeError the lines are not those of a tree */
export function parseTreeLines(lines: Iterable<string>): Record<string, unknown> {
  let root: Record<string, unknown> | undefined;
  for (const line of lines) {
    if (root === undefined) root = JSON.parse(line) as Record<string, unknown>;
    else applyDelta(root, JSON.parse(line) as readonly unknown[]);
  }
  if (!isPlainObject(root)) throw new TypeError('a tree has at least one line');
  return root;
}

/** Collects ops into lines of about the target length. */
class OpLines {
  readonly #lines: string[] = [];
  #ops: string[] = [];
  #size = 0;

  add(op: readonly [kind: 's' | 'a', path: Path, value: unknown]): void {
    const json = JSON.stringify(op);
    if (this.#size + json.length > lineBytes) this.#cut();
    this.#ops.push(json);
    this.#size += json.length;
  }

  end(): readonly string[] {
    this.#cut();
    return this.#lines;
  }

  #cut(): void {
    if (this.#ops.length > 0) this.#lines.push(`[${this.#ops.join(',')}]`);
    this.#ops = [];
    this.#size = 0;
  }
}

/** Writes keys in their order, so that the parsed object has them in the same order. */
function putObject(object: Readonly<Record<string, unknown>>, path: Path, lines: OpLines): void {
  for (const key of Object.keys(object)) {
    const value = object[key];
    const place = [...path, key];
    const isLarge = measureValue(value) > lineBytes;
    if (isLarge && isPlainObject(value) && typeof value['$'] !== 'string') {
      lines.add(['s', place, {}]);
      putObject(value, place, lines);
    } else if (isLarge && Array.isArray(value)) {
      putList(value, place, lines);
    } else {
      lines.add(['s', place, value]);
    }
  }
}

/** Writes a list. Items of a list have no path of their own, so a large item stays in one line. */
function putList(items: readonly unknown[], path: Path, lines: OpLines): void {
  lines.add(['s', path, []]);
  let batch: unknown[] = [];
  let size = 0;
  for (const item of items) {
    batch.push(item);
    size += measureValue(item);
    if (size < lineBytes / 2) continue;
    lines.add(['a', path, batch]);
    batch = [];
    size = 0;
  }
  if (batch.length > 0) lines.add(['a', path, batch]);
}

// The stored form of a snapshot: the whole state of a checkpoint, stored in addition to its delta (C4, C6).

const snapshotVersion = 1;

/** What a snapshot contains about its checkpoint. */
export interface SnapshotOf {
  /** What the next checkpoint names as its parent. The snapshot's checksum covers it. */
  readonly link: Uint8Array;
  /** What the snapshot's own checkpoint names as its parent, so that its row can be verified without the row before it. */
  readonly parent: Uint8Array;
}

export interface DecodedSnapshot extends SnapshotOf {
  readonly seq: number;
  /** Size of the tree's JSON text. */
  readonly treeBytes: number;
  /** Whether stored values may contain type tags. */
  readonly hasTags: boolean;
  /** Parses the tree into a new copy, with values in their stored form. @throws CHECKPOINT_CORRUPT */
  parseTree(): Record<string, unknown>;
}

const newline = 10;
const prefixOf = ({ runKey, seq }: CheckpointIdentity): string => `snapshot.${runKey}.${seq}.`;

/** Snapshots of at least this size are compressed. For smaller ones the time would cost more than the space saved is worth. */
const packedFromBytes = 64 * 1024;

/**
 * Makes a snapshot's row. The body is one line of JSON with its metadata, followed by the lines of the tree, compressed if that saves at
 * least a tenth. The checksum covers the uncompressed body.
 */
export function encodeSnapshot(
  identity: CheckpointIdentity,
  of: SnapshotOf,
  treeJson: string,
  hasTags: boolean,
): SnapshotRow {
  const header = { v: snapshotVersion, of: toHex(of.link), parent: toHex(of.parent), tags: hasTags };
  const text = [JSON.stringify(header), ...toTreeLines(treeJson)].join('\n');
  const { body, checksum } = encodeWithChecksum(prefixOf(identity), of.link, text);
  return {
    seq: identity.seq,
    body: body.length < packedFromBytes ? body : packLarge(body),
    checksum,
    ...namedByState(body.subarray(body.indexOf(newline) + 1)),
  };
}

/** The uncompressed text of a snapshot. @throws CHECKPOINT_CORRUPT */
export function readSnapshotText(runKey: string, { seq, body }: SnapshotRow): string {
  return unpackOf({ runKey, seq }, body).toString();
}

/** @throws CHECKPOINT_CORRUPT */
function unpackOf(identity: CheckpointIdentity, body: Uint8Array): Buffer {
  try {
    return unpack(body);
  } catch {
    throw corrupt(identity, 'it cannot be decompressed');
  }
}

/**
 * Verifies and decodes a snapshot. The tree is parsed later, once, by the caller.
 * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN
 */
export function decodeSnapshot(runKey: string, row: SnapshotRow): DecodedSnapshot {
  const identity = { runKey, seq: row.seq };
  const bytes = unpackOf(identity, row.body);
  const end = bytes.indexOf(newline);
  const header = readHeader(identity, bytes.toString('latin1', 0, Math.max(end, 0)));
  const link = Buffer.from(String(header['of']), 'hex');
  const parent = Buffer.from(String(header['parent']), 'hex');
  if (link.length !== 32 || parent.length !== 32 || !isChecksumRight(prefixOf(identity), link, bytes, row.checksum)) {
    throw corrupt(identity, 'its checksum does not fit');
  }
  const { v: version } = header;
  if (version !== snapshotVersion) {
    throw new CairnError('CHECKPOINT_VERSION_UNKNOWN', {
      checkpoint: `${checkpointId(runKey, row.seq)} (snapshot)`,
      version,
      supported: snapshotVersion,
    });
  }
  return {
    seq: row.seq,
    link,
    parent,
    treeBytes: bytes.length - end - 1,
    hasTags: header['tags'] === true,
    parseTree: () => parseTree(identity, bytes, end + 1),
  };
}

function parseTree(identity: CheckpointIdentity, bytes: Buffer, start: number): Record<string, unknown> {
  try {
    return parseTreeLines(linesOf(bytes, start));
  } catch {
    throw corrupt(identity, 'its tree is not readable');
  }
}

function* linesOf(bytes: Buffer, from: number): Generator<string> {
  for (let start = from; start <= bytes.length;) {
    const cut = bytes.indexOf(newline, start);
    const end = cut < 0 ? bytes.length : cut;
    yield bytes.toString('utf8', start, end);
    start = end + 1;
  }
}

function readHeader(identity: CheckpointIdentity, line: string): Readonly<Record<string, unknown>> {
  try {
    const header: unknown = JSON.parse(line);
    if (typeof header === 'object' && header !== null) return header as Readonly<Record<string, unknown>>;
  } catch {
    // Reported below, like any other damage.
  }
  throw corrupt(identity, 'its first line is not readable');
}

function corrupt(identity: CheckpointIdentity, reason: string): CairnError {
  return new CairnError('CHECKPOINT_CORRUPT', {
    checkpoint: checkpointId(identity.runKey, identity.seq),
    reason: `its snapshot: ${reason}`,
  });
}

/** The part of a run's row that checksums depend on. */
export interface KeyedRun {
  readonly key: string;
}

/** Walks rows in order and verifies each against the one before it. */
export class Chain {
  #seq: number;
  #link: Uint8Array | undefined;
  #runKey: string | undefined;

  /** @param seq - the checkpoint before the first row. @param link - its link; if undefined, the first row cannot be verified */
  constructor(seq: number, link: Uint8Array | undefined) {
    this.#seq = seq;
    this.#link = link;
  }

  /** Seq of the last verified checkpoint. */
  get seq(): number {
    return this.#seq;
  }

  /** Link of the last verified checkpoint. */
  get link(): Uint8Array | undefined {
    return this.#link;
  }

  /** Id of the last verified checkpoint; undefined if there is none. */
  get intact(): string | undefined {
    return this.#runKey === undefined ? undefined : checkpointId(this.#runKey, this.#seq);
  }

  /**
   * Verifies the next row.
   * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN
   */
  verify(run: KeyedRun, row: CheckpointRow): DecodedCheckpoint {
    const checkpoint = this.#decode(run, row);
    const before = checkpoint.fold?.after ?? row.seq - 1;
    if (before !== this.#seq) throw missingError(run, this.#seq + 1, this.intact);
    this.#seq = row.seq;
    this.#link = checkpoint.link;
    this.#runKey = run.key;
    return checkpoint;
  }

  /**
   * Starts a chain at the checkpoint of a verified snapshot. The snapshot holds the link of that checkpoint's parent, so the row can be
   * verified without reading the parent. A folded row has another parent by now; of it, only its range is checked.
   * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN
   */
  static from(run: KeyedRun, row: CheckpointRow, snapshot: DecodedSnapshot): Chain {
    if (row.seq !== snapshot.seq) throw missingError(run, snapshot.seq, undefined);
    const identity = { runKey: run.key, seq: row.seq };
    const isFolded = decodeOrNothing(run, row)?.fold !== undefined;
    const { link } = decodeCheckpoint(identity, isFolded ? undefined : snapshot.parent, row);
    const chain = new Chain(row.seq, link);
    if (Buffer.compare(link, snapshot.link) !== 0) throw chain.#corrupt(run, row.seq, 'its snapshot is of another one');
    chain.#runKey = run.key;
    return chain;
  }

  #decode(run: KeyedRun, row: CheckpointRow): DecodedCheckpoint {
    try {
      return decodeCheckpoint({ runKey: run.key, seq: row.seq }, this.#link, row);
    } catch (error) {
      if (!CairnError.is(error, 'CHECKPOINT_CORRUPT')) throw error;
      // A row after a gap does not fit either. The missing checkpoint is then the better explanation.
      const isGap = row.seq > this.#seq + 1 && decodeOrNothing(run, row)?.fold?.after !== this.#seq;
      if (isGap) throw missingError(run, this.#seq + 1, this.intact);
      throw this.#corrupt(run, row.seq, String(error.data['reason']), error.cause);
    }
  }

  #corrupt(run: KeyedRun, seq: number, reason: string, cause?: unknown): CairnError {
    const data = { checkpoint: checkpointId(run.key, seq), reason };
    const { intact } = this;
    return new CairnError(
      'CHECKPOINT_CORRUPT',
      intact === undefined ? data : { ...data, intact },
      cause === undefined ? {} : { cause },
    );
  }
}

/** The error for a checkpoint that must exist but does not. */
export function missingError(run: KeyedRun, seq: number, intact: string | undefined): CairnError {
  const data = { checkpoint: checkpointId(run.key, seq), reason: 'it is missing' };
  return new CairnError('CHECKPOINT_CORRUPT', intact === undefined ? data : { ...data, intact });
}

/** Decodes a row without verifying it against its parent; undefined if it cannot be read. */
export function decodeOrNothing(run: KeyedRun, row: CheckpointRow): DecodedCheckpoint | undefined {
  try {
    return decodeCheckpoint({ runKey: run.key, seq: row.seq }, undefined, row);
  } catch {
    return undefined;
  }
}
