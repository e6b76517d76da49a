/** What is compared of two runs: their end, their state and their committed changes; not times, and not the order of parallel work (P1). */
import type { RunResult } from '../../engine/api.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import { decodeCheckpoint, rootChecksum } from '../../history/stored/checkpoint.ts';
import type { CheckpointRow, Store } from '../../ports/store.ts';
import type { CrashCase } from './crash-case.ts';

export interface RunSummary {
  readonly status: string;
  /** The final state as text, keys and channel lists sorted. */
  readonly state: string;
  /** What it left outside, if anybody looked. */
  readonly outside?: string;
  /** What settled and which steps were recorded, sorted. */
  readonly changes: readonly string[];
  /** Why it failed, if it did: for whoever reads of it, and not compared. */
  readonly error?: string;
}

/** Reads a whole run back from its store, verifying every checksum, and sums it up. @param looks - what is left out of the state, and what is added to it from outside */
export async function summariseRun(
  store: Store,
  tenant: string,
  result: RunResult,
  { varies, inspect }: Pick<CrashCase, 'varies' | 'inspect'> = {},
): Promise<RunSummary> {
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
  const { error } = result;
  const outside = JSON.stringify(await inspect?.());
  return {
    status: result.status,
    state: stateText(result, varies),
    ...(outside === undefined ? {} : { outside }),
    changes: [...changes].toSorted(),
    ...(error === undefined ? {} : { error: ` (${error.code}: ${error.message})` }),
  };
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

/** The final state as text, keys and channel lists sorted. @param varies - dotted paths of what is left out */
export function stateText({ state, failed, skipped }: RunResult, varies: readonly string[] = []): string {
  const partitions = ['input', 'scratch', 'artifacts', 'diagnostics', 'outputs'] as const;
  const pattern = patternOf(varies);
  const texts = partitions.map((name) => {
    const isSorted = name !== 'input' && name !== 'outputs';
    return `${name} ${canonicalText(state[name], { isSorted, path: name, varies: pattern })}`;
  });
  return [...texts, `failed ${failed.toSorted().join()}`, `skipped ${skipped.toSorted().join()}`].join('\n');
}

interface TextPlace {
  /** Lists are sorted. */
  readonly isSorted: boolean;
  readonly path: string;
  readonly varies: RegExp | undefined;
}

/** A `*` stands for one name or several. */
function patternOf(paths: readonly string[]): RegExp | undefined {
  if (paths.length === 0) return undefined;
  const texts = paths.map((path) => path.replaceAll(/[\\^$.+?()[\]{}|]/gu, '\\$&').replaceAll('*', '.+'));
  return new RegExp(`^(?:${texts.join('|')})$`, 'u');
}

/** As an HTTP header has it: every answer of a server says when it was sent. */
const httpDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z][a-z] \d{4} \d\d:\d\d:\d\d GMT$/u;

function canonicalText(value: unknown, place: TextPlace): string {
  if (place.varies?.test(place.path) === true) return '(varies)';
  const at = (name: string | number): TextPlace => ({ ...place, path: `${place.path}.${name}` });
  if (value instanceof Map) return `Map${canonicalText([...value], place)}`;
  if (value instanceof Set) return `Set${canonicalText([...value], place)}`;
  if (Array.isArray(value)) {
    const texts = value.map((item, index) => canonicalText(item, at(index)));
    return `[${(place.isSorted ? texts.toSorted() : texts).join()}]`;
  }
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'string' && httpDate.test(value)) return '"(an HTTP date)"';
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return JSON.stringify(value) ?? 'undefined';
  const keys = Object.keys(value).toSorted();
  const texts = keys.map((key) => `${JSON.stringify(key)}:${canonicalText((value as Keyed)[key], at(key))}`);
  return `{${texts.join()}}`;
}

type Keyed = Readonly<Record<string, unknown>>;

/** How two summaries differ, one sentence each. */
export function compareSummaries(expected: RunSummary, found: RunSummary): readonly string[] {
  const faults: string[] = [];
  if (found.status !== expected.status)
    faults.push(`the run is ${found.status}${found.error ?? ''}; expected: ${expected.status}`);
  if (found.state !== expected.state)
    faults.push(`the final state has ${firstDifference(expected.state, found.state)}`);
  const [outside = 'nothing', wantedOutside = 'nothing'] = [found.outside, expected.outside];
  if (outside !== wantedOutside) faults.push(`outside, the run left ${firstDifference(wantedOutside, outside)}`);
  const wanted = new Set(expected.changes);
  const had = new Set(found.changes);
  for (const line of wanted)
    if (!had.has(line)) faults.push(`the history has no "${line}"; expected: it has, as without a crash`);
  for (const line of had)
    if (!wanted.has(line)) faults.push(`the history has "${line}"; expected: it has not, as without a crash`);
  return faults;
}

function firstDifference(expected: string, found: string): string {
  let index = 0;
  while (index < expected.length && expected[index] === found[index]) index += 1;
  const from = Math.max(0, index - 60);
  return `…${found.slice(from, index + 60)}…; expected: …${expected.slice(from, index + 60)}…`;
}
