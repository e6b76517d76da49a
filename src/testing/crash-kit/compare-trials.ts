/** Compares a run that was killed with the same run that was never killed (P1, P2). */
import type { RunResult } from '../../engine/api.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import { decodeCheckpoint, rootChecksum } from '../../history/stored/checkpoint.ts';
import type { CheckpointRow, Store } from '../../ports/store.ts';
import type { CrashCase } from './process-life.ts';
import { type EffectEntry, findCallFaults, findEffectFaults } from './find-effect-faults.ts';

// What is compared of two runs: their end, final state and committed changes. Times and the order of parallel work are not compared (P1).

export interface RunSummary {
  readonly status: string;
  /** The final state as text, with keys and the lists of channels sorted. */
  readonly state: string;
  /** What `inspect` returned, if there is one. */
  readonly outside?: string;
  /** Settled visits and recorded steps, sorted. */
  readonly changes: readonly string[];
  /** Why the run failed, if it did. Only for the report; not compared. */
  readonly error?: string;
}

/**
 * Reads a whole run from its store, verifies every checksum, and summarizes it. @param looks - what to leave out of the state, and what to
 * add from outside
 */
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

/** Checksums of a run's checkpoints by seq, for checking that committed checkpoints do not change. */
export function checksumsOf(rows: readonly CheckpointRow[]): readonly string[] {
  return rows.map(({ seq, checksum }) => `${seq} ${Buffer.from(checksum).toString('hex')}`);
}

/**
 * The line for one part of a change. Lines of steps have no visit, because a wait is closed without one. Answers and early signals give the
 * same line.
 */
function lineOf({ kind, node = [], visit = 1, status = 'completed', step }: ChangePart): string | undefined {
  const place = node.join('/');
  if (kind === 'settle' || kind === 'replay') return `${place}#${visit} ${status}`;
  if ((kind === 'step' || kind === 'answer') && step !== undefined) return `${place} step ${step} ${status}`;
  return undefined;
}

/** The final state as text, with keys and the lists of channels sorted. @param varies - dotted paths to leave out */
export function stateText({ state, failed, skipped }: RunResult, varies: readonly string[] = []): string {
  const partitions = ['input', 'scratch', 'artifacts', 'diagnostics', 'outputs'] as const;
  const pattern = patternOf(varies);
  const texts = partitions.map((name) => {
    const isSorted = name !== 'input' && name !== 'outputs';
    return `${name} ${canonicalText(state[name], { isSorted, path: name, varies: pattern })}`;
  });
  const settled = [
    ['failed nodes', failed],
    ['skipped nodes', skipped],
  ] as const;
  const lists = settled.flatMap(([name, nodes]) => (nodes.length === 0 ? [] : [`${name} ${nodes.toSorted().join()}`]));
  return [...texts, ...lists].join('\n');
}

interface TextPlace {
  /** Whether lists are sorted. */
  readonly isSorted: boolean;
  readonly path: string;
  readonly varies: RegExp | undefined;
}

/** Converts paths to a pattern. A `*` stands for one or more names. */
function patternOf(paths: readonly string[]): RegExp | undefined {
  if (paths.length === 0) return undefined;
  const texts = paths.map((path) => path.replaceAll(/[\\^$.+?()[\]{}|]/gu, '\\$&').replaceAll('*', '.+'));
  return new RegExp(`^(?:${texts.join('|')})$`, 'u');
}

/** Matches dates in HTTP headers, which every server response contains. */
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

/** The differences between two summaries, one sentence each. */
function compareSummaries(expected: RunSummary, found: RunSummary): readonly string[] {
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

/** What is compared of a trial. */
export interface TrialEnd {
  readonly summary: RunSummary;
  /** The effects that reached the oracle. */
  readonly effects: readonly EffectEntry[];
  /**
   * Calls of nodes and steps that may have an effect, with their results, unless the effect was reported to the oracle. Absent if calls
   * were not watched.
   */
  readonly calls?: readonly EffectEntry[];
}

/** The differences between a crashed trial and one without a crash, one sentence each. */
export function compareTrials(
  isScheduleFree: boolean,
  crashes: number,
  expected: TrialEnd,
  found: TrialEnd,
): readonly string[] {
  const wanted = isScheduleFree ? expected : undefined;
  const faults = [
    ...findEffectFaults(found.effects, wanted?.effects, repeatsMost(expected.effects) + crashes),
    ...(found.calls === undefined ? [] : findCallFaults(found.calls, wanted?.calls)),
  ];
  if (isScheduleFree) return [...compareSummaries(expected.summary, found.summary), ...faults];
  const { status, error = '' } = found.summary;
  if (status === expected.summary.status) return faults;
  return [`the run is ${status}${error}; expected: ${expected.summary.status}`, ...faults];
}

/**
 * The fault of a run that does not complete although nothing killed it: it would be compared with a failure, and prove little. Undefined if
 * it completes, or need not.
 */
export function findQuietFault({ status, error = '' }: RunSummary, mayFail = false): string | undefined {
  if (mayFail || status === 'completed') return undefined;
  return `without a crash, the run is ${status}${error}; expected: it completes, or the case says mayFail: true`;
}

/** The most times that a repeatable effect arrives with one key even without a crash. */
function repeatsMost(entries: readonly EffectEntry[]): number {
  const counts = new Map<string, number>();
  for (const { key } of entries) counts.set(key, (counts.get(key) ?? 0) + 1);
  return Math.max(1, ...counts.values());
}
