/** Imports an exported run into a store (H4). */
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import { isSchedule } from '../../ports/schedule.ts';
import type { RunKey, Store } from '../../ports/store.ts';
import {
  exportVersion,
  invalidLine,
  parseLine,
  textOf,
  type BlobLine,
  type HeaderLine,
  headerMeta,
  ImportedState,
} from './export-masked.ts';
import { checkNewRunId } from '../stored/run-ids.ts';
import { ImportWriter } from './import-writer.ts';
import { ImportedRun } from './imported-run.ts';

export interface ImportOptions {
  readonly tenant: string;
  /** `copy`: a fork with a new id. `move`: the same run under its own id. */
  readonly as: 'copy' | 'move';
  /** Id of the copy; required for `copy`. */
  readonly newRunId?: string;
  /** Id of this worker. It holds a claim on the run until the import is complete. */
  readonly workerId: string;
  /** Whether the run may do what its text says. Default false: it is marked as imported. */
  readonly isTrusted?: boolean;
  /** Default 60,000 ms. */
  readonly leaseMs?: number;
  /** Whether a worker is known to be dead. An import that such a one began is repeated at once, else when its claim has run out. */
  readonly isWorkerDead?: (workerId: string) => boolean | undefined;
}

const defaultLeaseMs = 60_000;

export interface ImportReport {
  readonly runId: string;
  /** Number of checkpoints of the imported run. */
  readonly checkpoints: number;
  readonly head: number;
}

/**
 * Imports an exported run. Every line is verified before it is written. The run shows as cancelled until its last checkpoint is durable, so
 * nobody advances an incomplete run. Repeating an interrupted import continues where it stopped.
 * @param lines - lines of {@link exportRun}, or pieces of them in order
 * @throws INPUT_INVALID a line is not part of an export, the end is missing, or the header contradicts the checkpoints; CHECKPOINT_CORRUPT;
 * CHECKPOINT_VERSION_UNKNOWN; RUN_EXISTS another run has this id; CLAIM_TAKEN; USAGE_INVALID a copy without an id
 */
export async function importRun(
  store: Store,
  blobs: BlobStore,
  lines: AsyncIterable<string>,
  options: ImportOptions,
): Promise<ImportReport> {
  const { tenant, as, newRunId, workerId, isTrusted = false, leaseMs = defaultLeaseMs, isWorkerDead } = options;
  if (as === 'copy' && newRunId === undefined) {
    throw new CairnError('USAGE_INVALID', { reason: 'a copy needs a run id of its own' });
  }
  if (as === 'copy' && newRunId !== undefined) checkNewRunId(newRunId);
  let writer: ImportWriter | undefined;
  let run: ImportedRun | undefined;
  let runId = '';
  let number = 0;
  let isEnded = false;
  try {
    for await (const text of splitLines(lines)) {
      number += 1;
      const line = parseLine(text, number);
      if (isEnded) throw invalidLine(number, 'it follows the end');
      if ('cairn' in line) {
        const header = readHeader(line, number);
        runId = as === 'copy' && newRunId !== undefined ? newRunId : header.runId;
        writer = new ImportWriter(store, header, { tenant, runId, workerId, isTrusted, leaseMs, isWorkerDead });
        run = new ImportedRun(header, writer, new ImportedState(blobs, { tenant, runId }));
      } else if (run === undefined) throw invalidLine(number, 'it comes before the header');
      else if ('end' in line) isEnded = checkEnd(line.end, number);
      else if ('blob' in line) await putBlob(blobs, { tenant, runId }, line, number);
      else await run.take(line, number);
    }
    if (run === undefined || !isEnded) throw invalidLine(number + 1, 'the end is missing');
    return { runId, ...(await run.finish(as === 'copy', number)) };
  } catch (error) {
    await writer?.abandon();
    throw error;
  }
}

/** Longer lines are those of no export: the longest text that a process can hold, and a value or a blob is less. */
const longestLine = 500_000_000;

/**
 * Turns pieces of text into lines, wherever the pieces were cut. Pieces are kept as they are until their line ends, so that a long line
 * costs what its length is. @throws INPUT_INVALID a line is longer than any of an export
 */
async function* splitLines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let kept: string[] = [];
  let length = 0;
  let number = 1;
  for await (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf('\n'); end !== -1; end = piece.indexOf('\n', start)) {
      kept.push(piece.slice(start, end));
      start = end + 1;
      const line = kept.join('');
      kept = [];
      length = 0;
      number += 1;
      if (line !== '') yield line;
    }
    length += piece.length - start;
    if (length > longestLine) throw invalidLine(number, `it is longer than ${longestLine} characters`);
    if (start < piece.length) kept.push(start === 0 ? piece : piece.slice(start));
  }
  if (length > 0) yield kept.join('');
}

const statuses: ReadonlySet<string> = new Set(['running', 'paused', 'cancelling', 'completed', 'failed', 'cancelled']);

function readHeader(line: HeaderLine, number: number): HeaderLine {
  if (number !== 1 || line.cairn !== 'export') throw invalidLine(number, 'it is no header');
  if (line.masked === true) throw new CairnError('EXPORT_MASKED', { runId: line.runId });
  if (line.v !== exportVersion) {
    const data = { checkpoint: `export of run ${line.runId}`, version: line.v, supported: exportVersion };
    throw new CairnError('CHECKPOINT_VERSION_UNKNOWN', data);
  }
  const isComplete =
    typeof line.runId === 'string' &&
    Number.isSafeInteger(line.head) &&
    Number.isSafeInteger(line.first) &&
    Array.isArray(line.lineage) &&
    line.lineage.length > 0 &&
    line.lineage.every(
      (part) => typeof part?.runId === 'string' && typeof part.key === 'string' && Number.isSafeInteger(part.upTo),
    ) &&
    Array.isArray(line.waits) &&
    line.waits.every((wait) => typeof wait?.waitId === 'string' && typeof wait.body === 'string') &&
    typeof line.meta === 'string' &&
    (line.code === undefined || typeof line.code === 'string') &&
    (line.schedule === undefined || isSchedule(line.schedule)) &&
    statuses.has(line.status);
  if (!isComplete) throw invalidLine(number, 'the header is not complete');
  headerMeta(line);
  return line;
}

function checkEnd(counted: unknown, number: number): true {
  if (counted !== number - 1) throw invalidLine(number, 'lines before it are missing');
  return true;
}

async function putBlob(blobs: BlobStore, run: RunKey, { blob, bytes }: BlobLine, number: number): Promise<void> {
  const hash = await blobs.put(run, Buffer.from(textOf(bytes, number), 'base64'));
  if (hash !== blob) throw invalidLine(number, `the bytes are not those of blob ${blob}`);
}
