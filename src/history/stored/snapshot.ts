/** The stored form of a snapshot: the whole state of a checkpoint, kept in addition to its delta (C4, C6). */
import type { SnapshotRow } from '../../ports/store.ts';
import { encodeWithChecksum, isChecksumRight, toHex } from './checksum.ts';
import { checkpointId, type CheckpointIdentity } from './checkpoint.ts';
import { CairnError } from '../../errors.ts';
import { packLarge, unpack } from './packed.ts';
import { parseTreeLines, toTreeLines } from './tree-lines.ts';

export const snapshotVersion = 1;

/** What a snapshot holds about its checkpoint. */
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
  return { seq: identity.seq, body: body.length < packedFromBytes ? body : packLarge(body), checksum };
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
