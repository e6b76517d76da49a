/** What is compared of two runs: their end, their state and their committed changes; not times, and not the order of parallel work (P1). */
import type { RunResult } from '../../engine/api.ts';
import type { ChangePart } from '../../history/change.ts';
import { decodeCheckpoint, rootChecksum } from '../../history/checkpoint.ts';
import type { CheckpointRow, Store } from '../../ports/store.ts';

export interface RunSummary {
  readonly status: string;
  /** The final state as text, keys and channel lists sorted. */
  readonly state: string;
  /** What settled and which steps were recorded, sorted. */
  readonly changes: readonly string[];
}

/** Reads a whole run back from its store, verifying every checksum, and sums it up. */
export async function summariseRun(store: Store, tenant: string, result: RunResult): Promise<RunSummary> {
  const key = { tenant, runId: result.runId };
  const run = await store.readRun(key);
  const rows = await store.readCheckpoints(key, { from: 0, to: result.seq });
  const changes = new Set<string>();
  let parent = rootChecksum;
  for (const row of rows) {
    const checkpoint = decodeCheckpoint({ runKey: run?.key ?? '', seq: row.seq }, parent, row);
    parent = checkpoint.link;
    for (const part of checkpoint.change) {
      const line = lineOf(part);
      if (line !== undefined) changes.add(line);
    }
  }
  return { status: result.status, state: stateText(result), changes: [...changes].toSorted() };
}

/** The checksums of a run's checkpoints, by seq: what is committed stays as it was. */
export function checksumsOf(rows: readonly CheckpointRow[]): readonly string[] {
  return rows.map(({ seq, checksum }) => `${seq} ${Buffer.from(checksum).toString('hex')}`);
}

/** A step's line says no visit, as a wait is closed without one; an answer and a signal that came early read alike. */
function lineOf({ kind, node = [], visit = 1, status = 'completed', step }: ChangePart): string | undefined {
  const place = node.join('/');
  if (kind === 'settle' || kind === 'replay') return `${place}#${visit} ${status}`;
  if ((kind === 'step' || kind === 'answer') && step !== undefined) return `${place} step ${step} ${status}`;
  return undefined;
}

/** The final state as text, keys and channel lists sorted. */
export function stateText({ state, failed, skipped }: RunResult): string {
  const { input, scratch, artifacts, diagnostics, outputs } = state;
  const channels = [scratch, artifacts, diagnostics].map((channel) => canonicalText(channel, true));
  return [
    canonicalText(input, false),
    ...channels,
    canonicalText(outputs, false),
    `failed ${failed.toSorted().join()}`,
    `skipped ${skipped.toSorted().join()}`,
  ].join('\n');
}

function canonicalText(value: unknown, isSorted: boolean): string {
  if (value instanceof Map) return `Map${canonicalText([...value], isSorted)}`;
  if (value instanceof Set) return `Set${canonicalText([...value], isSorted)}`;
  if (Array.isArray(value)) {
    const texts = value.map((item) => canonicalText(item, isSorted));
    return `[${(isSorted ? texts.toSorted() : texts).join()}]`;
  }
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return JSON.stringify(value) ?? 'undefined';
  const keys = Object.keys(value).toSorted();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalText((value as Record<string, unknown>)[key], isSorted)}`).join()}}`;
}

/** How two summaries differ, one sentence each. */
export function compareSummaries(expected: RunSummary, found: RunSummary): readonly string[] {
  const faults: string[] = [];
  if (found.status !== expected.status) faults.push(`the run is ${found.status}, not ${expected.status}`);
  if (found.state !== expected.state) faults.push(`the state differs: ${firstDifference(expected.state, found.state)}`);
  const wanted = new Set(expected.changes);
  const had = new Set(found.changes);
  for (const line of wanted) if (!had.has(line)) faults.push(`missing from the history: ${line}`);
  for (const line of had) if (!wanted.has(line)) faults.push(`only in the history after a crash: ${line}`);
  return faults;
}

function firstDifference(expected: string, found: string): string {
  let index = 0;
  while (index < expected.length && expected[index] === found[index]) index += 1;
  const from = Math.max(0, index - 60);
  return `expected …${expected.slice(from, index + 60)}… but found …${found.slice(from, index + 60)}…`;
}
