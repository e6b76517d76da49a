/** The text format of an exported run: one JSON object a line, version 1 (H4). See docs/spec/history.md. */
import { CairnError } from '../../errors.ts';
import type { Schedule } from '../../ports/schedule.ts';
import type { MessageRow, StoredStatus, WaitRow } from '../../ports/store.ts';

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
