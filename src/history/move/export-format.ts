/** The text format of an exported run: one JSON object a line, version 1 (H4). See docs/spec/history.md. */
import { CairnError } from '../../errors.ts';
import type { Schedule } from '../../ports/schedule.ts';
import type { MessageRow, StoredStatus, WaitRow } from '../../ports/store.ts';

export const exportVersion = 1;

/** A run of the exported history's lineage, the oldest first. */
export interface ExportedRun {
  readonly runId: string;
  readonly key: string;
  readonly upTo: number;
}

/** The first line. */
export interface HeaderLine {
  readonly cairn: 'export';
  readonly v: number;
  /** Present in one that is masked: it is for reading, and holds no run. */
  readonly masked?: true;
  readonly runId: string;
  readonly graphId: string;
  readonly graphHash: string;
  /** As of the last checkpoint exported. */
  readonly status: StoredStatus;
  readonly head: number;
  /** Seq of the first checkpoint; over 0: what was before it was pruned, and its snapshot comes first. */
  readonly first: number;
  readonly lineage: readonly ExportedRun[];
  /** Base64. */
  readonly meta: string;
  readonly waits: readonly (Omit<WaitRow, 'body'> & { readonly body: string })[];
  /** Absent in exports from before runs had one. */
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
  /** Index into the lineage. */
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

/** An answer or a signal that had come and was not yet taken. */
export interface MessageLine {
  readonly message: MessageRow['kind'];
  readonly name: string;
  /** Base64. */
  readonly body: string;
  readonly at: number;
}

/** The last line: without it the text was cut off. */
export interface EndLine {
  readonly end: number;
}

export type ExportLine = HeaderLine | SnapshotLine | BlobLine | CheckpointLine | TagLine | MessageLine | EndLine;

/** @throws INPUT_INVALID with the line's number */
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

/** @throws INPUT_INVALID it is no text */
export function textOf(value: unknown, number: number): string {
  if (typeof value === 'string') return value;
  throw invalidLine(number, 'a field that must be text is not');
}
