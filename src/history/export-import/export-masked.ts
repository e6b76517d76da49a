/** Writes a run as text for reading, with values under the names of secrets masked. It cannot be imported (H4.1). */
import { CairnError } from '../../errors.ts';
import type { Schedule } from '../../ports/schedule.ts';
import type { MessageRow, StoredStatus, WaitRow, RunRow, Store, RunKey } from '../../ports/store.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import { shown } from '../../state/secrecy/shown-text.ts';
import { maskWellKnownIn } from '../../state/secrecy/well-known.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { reviveValue } from '../../state/values/revive.ts';
import { readHistory } from '../load/lineage.ts';
import { loadState } from '../load/load.ts';
import { viewState } from '../read/checkpoint-view.ts';
import { isDeepStrictEqual } from 'node:util';
import type { RunTree } from '../../state/tree.ts';
import { type DecodedCheckpoint, readBlobValue, resolveValues } from '../stored/checkpoint.ts';
import type { DecodedSnapshot } from '../stored/chain.ts';
import { metaOf, type StoredMeta } from '../stored/stored-meta.ts';
import { StoredState } from '../stored/stored-state.ts';
import { openWaitRows } from '../stored/wait-row.ts';

// The text format of an exported run: one JSON object a line, version 1 (H4). See docs/spec/history.md.

export const exportVersion = 1;

/** A run in the lineage of the exported history. Runs are listed oldest first. */
export interface ExportedRun {
  readonly runId: string;
  readonly key: string;
  readonly upTo: number;
}

/** The first line. */
export interface HeaderLine {
  readonly cairn: 'export';
  readonly v: number;
  /** Present in a masked export, which is only for reading and cannot be imported. */
  readonly masked?: true;
  readonly runId: string;
  readonly graphId: string;
  readonly graphHash: string;
  /** The code that the run goes on under; absent: that of its hash. */
  readonly code?: string;
  /** The run's status at the last exported checkpoint. */
  readonly status: StoredStatus;
  readonly head: number;
  /** Seq of the first checkpoint. If it is above 0, earlier checkpoints were pruned, and a snapshot of this one comes first. */
  readonly first: number;
  readonly lineage: readonly ExportedRun[];
  /** Encoded meta, in base64. */
  readonly meta: string;
  readonly waits: readonly (Omit<WaitRow, 'body'> & { readonly body: string })[];
  /** Absent in exports made before runs had schedules. */
  readonly schedule?: Schedule;
}

export interface SnapshotLine {
  readonly snapshot: number;
  /** 64 hex digits. */
  readonly checksum: string;
  readonly body: string;
}

export interface BlobLine {
  readonly blob: string;
  /** Base64. */
  readonly bytes: string;
}

export interface CheckpointLine {
  readonly checkpoint: number;
  /** Index of the checkpoint's run in the lineage. */
  readonly run: number;
  readonly at: number;
  /** 64 hex digits. */
  readonly checksum: string;
  readonly body: string;
}

export interface TagLine {
  readonly tag: string;
  readonly seq: number;
}

/** An answer or a signal that no commit had taken yet. */
export interface MessageLine {
  readonly message: MessageRow['kind'];
  readonly name: string;
  /** Base64. */
  readonly body: string;
  readonly at: number;
}

/** The last line. If it is missing, the text was cut off. */
export interface EndLine {
  readonly end: number;
}

export type ExportLine = HeaderLine | SnapshotLine | BlobLine | CheckpointLine | TagLine | MessageLine | EndLine;

/** Parses one line. @throws INPUT_INVALID with the line's number */
export function parseLine(text: string, number: number): ExportLine {
  try {
    const line: unknown = JSON.parse(text);
    if (typeof line === 'object' && line !== null && !Array.isArray(line)) return line as ExportLine;
  } catch (error) {
    throw invalidLine(number, 'it is not JSON', error);
  }
  throw invalidLine(number, 'it is no object');
}

export function invalidLine(number: number, reason: string, cause?: unknown): CairnError {
  return new CairnError('INPUT_INVALID', { path: `line ${number}`, reason }, cause === undefined ? {} : { cause });
}

/** Returns a value that must be a text. @throws INPUT_INVALID */
export function textOf(value: unknown, number: number): string {
  if (typeof value === 'string') return value;
  throw invalidLine(number, 'a field that must be text is not');
}

const opNames = { s: 'set', d: 'delete', a: 'append', t: 'text' } as const;

type StoredOp = readonly [kind: keyof typeof opNames, path: readonly string[], value?: unknown];

/**
 * Writes a header, one line for each checkpoint that was not pruned (why it was made, what it changed), and the state at the last one.
 * @param upTo - seq of the last checkpoint
 * @throws what loading the checkpoint throws
 */
export async function* exportMasked(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  { upTo = run.head }: { readonly upTo?: number } = {},
): AsyncGenerator<string> {
  const { runId, graphId } = run;
  yield lineOf({ cairn: 'export', v: exportVersion, masked: true, runId, graphId, head: upTo });
  for await (const { run: owner, checkpoint } of readHistory(store, run, { from: 0, to: upTo })) {
    const { seq, at, change } = checkpoint;
    const ops = (checkpoint.ops as readonly StoredOp[]).map(([kind, path, value]) => ({
      op: opNames[kind],
      path,
      ...(value !== undefined && { value: reviveValue(value) }),
    }));
    yield lineOf({ checkpoint: seq, run: owner.runId, at, change, ops });
  }
  const { state } = viewState((await loadState(store, blobs, run, upTo)).root);
  yield lineOf({ state });
}

function lineOf(line: object): string {
  return `${JSON.stringify(maskWellKnownIn(JSON.parse(encodeValue(shown(line)))))}\n`;
}

// The state of an imported run, built from its checkpoints. The index rows are derived from it and not from the export's header, which no
// checksum covers (H4, C6).

/** What the index says about a run at its last checkpoint. */
export interface Standing {
  readonly status: StoredStatus;
  readonly graphHash: string;
  readonly waits: readonly WaitRow[];
}

export class ImportedState {
  readonly #blobs: BlobStore;
  readonly #run: RunKey;
  #state: StoredState | undefined;

  /** @param run - the run under its new identity */
  constructor(blobs: BlobStore, run: RunKey) {
    this.#blobs = blobs;
    this.#run = run;
  }

  /** Applies one checkpoint. @throws CHECKPOINT_CORRUPT the delta does not apply; BLOB_NOT_FOUND, BLOB_CORRUPT */
  async apply({ key }: { readonly key: string }, checkpoint: DecodedCheckpoint): Promise<void> {
    this.#state ??= new StoredState({}, false);
    await this.#state.apply(this.#blobs, { key, tenant: this.#run.tenant }, checkpoint);
  }

  /** Starts with the snapshot of the first checkpoint of a pruned history. @throws CHECKPOINT_CORRUPT */
  beginAt(snapshot: DecodedSnapshot): void {
    this.#state = new StoredState(snapshot.parseTree(), snapshot.hasTags);
  }

  /** What the index is to say. @throws INPUT_INVALID the header says something else; BLOB_NOT_FOUND, BLOB_CORRUPT */
  async standing(header: HeaderLine): Promise<Standing> {
    const { status, graphHash, waits, definition } = this.#state!.root;
    const part = await resolveValues(this.#blobs, this.#run.tenant, structuredClone({ status, graphHash, waits }));
    const root = part as RunTree;
    const rows = openWaitRows(this.#run, root);
    const idsOf = (listed: readonly { readonly waitId: string }[]): readonly string[] =>
      listed.map(({ waitId }) => waitId).sort();
    const facts: readonly (readonly [name: keyof HeaderLine, isTrue: boolean])[] = [
      ['status', header.status === root.status],
      ['graphHash', header.graphHash === root.graphHash],
      ['waits', isDeepStrictEqual(idsOf(header.waits), idsOf(rows))],
      ['graphId', definition !== undefined || (await this.#isGraph(header))],
    ];
    const wrong = facts.find(([, isTrue]) => !isTrue)?.[0];
    if (wrong !== undefined) throw invalidLine(1, `its ${wrong} is not that of checkpoint ${header.head}`);
    return { status: root.status, graphHash: root.graphHash, waits: rows };
  }

  /** Whether the exported definition, if there is one, belongs to the graph with this hash. */
  async #isGraph(header: HeaderLine): Promise<boolean> {
    const { structure } = headerMeta(header);
    if (structure === undefined) return true;
    const found = await readBlobValue(this.#blobs, this.#run.tenant, structure, JSON.parse);
    return (found as { readonly id?: unknown }).id === header.graphId;
  }
}

/** The run's meta from the header. @throws INPUT_INVALID */
export function headerMeta({ meta }: Pick<HeaderLine, 'meta'>): StoredMeta {
  try {
    return metaOf({ key: '', meta: Buffer.from(meta, 'base64') });
  } catch (error) {
    throw invalidLine(1, 'what it keeps beside the run cannot be read', error);
  }
}
