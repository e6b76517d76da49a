/** Finds faults in the effects that arrived: repeated, missing or unexpected effects, and keys that do not identify them (P2). */
import { isRunOver } from '../../state/tree.ts';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Reconciliation } from '../../graph/contracts/node-contract.ts';
import type { Engine, OpenQuestion, RunResult } from '../../engine/api.ts';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';

// A receiver of effects outside of the engine, which remembers every effect (P2).

/**
 * What is promised about an effect. `once`: it happens exactly once, whatever crashes, because it can be reconciled or a person is asked.
 * `repeatable`: it was declared idempotent and may be sent again.
 */
export type EffectPromise = 'once' | 'repeatable';

/** One effect that arrived. */
export interface EffectEntry {
  /** The idempotency key that was sent with it (X1). */
  readonly key: string;
  /** The activation or step that sent it. Each place has one key, and each key one place. */
  readonly place: string;
  readonly promise: EffectPromise;
  /** The result of the effect, as JSON. */
  readonly output: unknown;
  /** Whether the sender reports a failure although the effect happened. A person who is asked then answers `fail`. */
  readonly fails?: boolean;
  /** For a watched call: it has begun, and its end is not known. */
  readonly isBegun?: boolean;
}

/** Thrown when a killed process tries to reach the outside. */
export class ProcessKilled extends Error {
  constructor() {
    super('this process was killed');
    this.name = 'ProcessKilled';
  }
}

/** Remembers effects in the order of their arrival. */
export interface EffectOracle {
  /** Lets the effect happen. It is recorded when this returns; an oracle in a file records it durably. */
  apply(entry: EffectEntry): void;
  readonly entries: readonly EffectEntry[];
  /** The first effect that arrived with this key. */
  find(key: string): EffectEntry | undefined;
  /** The answer for a node's `reconcile`. */
  reconcile(key: string): Reconciliation;
}

function createOracle(read: () => readonly EffectEntry[], apply: (entry: EffectEntry) => void): EffectOracle {
  const find = (key: string): EffectEntry | undefined =>
    read().find((entry) => entry.key === key && entry.isBegun !== true);
  return {
    apply,
    get entries() {
      return read();
    },
    find,
    reconcile: (key) => {
      const entry = find(key);
      return entry === undefined ? { happened: false } : { happened: true, output: entry.output };
    },
  };
}

/** Makes an oracle in memory, for engines in this process. */
export function createEffectOracle(): EffectOracle {
  const entries: EffectEntry[] = [];
  return createOracle(
    () => entries,
    (entry) => void entries.push(entry),
  );
}

/**
 * Opens an oracle in a file, for processes that are killed. Each effect is one line, appended and synced before `apply` returns.
 * @param path - created if it does not exist
 */
export function openEffectJournal(path: string): EffectOracle {
  const read = (): readonly EffectEntry[] => {
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as EffectEntry);
  };
  return createOracle(read, (entry) => {
    const file = openSync(path, 'a', 0o600);
    try {
      writeSync(file, `${JSON.stringify(entry)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  });
}

/**
 * The faults in what an oracle received, one sentence each; empty if the promises hold (P2).
 * @param expected - the effects of the same run without a crash: none of them may be missing, and there may be no others
 * @param repeatsMost - how often a repeatable effect may arrive with one key
 */
export function findEffectFaults(
  entries: readonly EffectEntry[],
  expected: readonly EffectEntry[] | undefined,
  repeatsMost: number,
): readonly string[] {
  const faults: string[] = [];
  const places = new Map<string, string>();
  const keys = new Map<string, string>();
  for (const { key, place } of entries) {
    const other = places.get(key) ?? place;
    if (other !== place) faults.push(`${place} and ${other} sent the same key; expected: each one of its own`);
    if ((keys.get(place) ?? key) !== key) faults.push(`${place} sent two keys; expected: the same each time`);
    places.set(key, place);
    keys.set(place, key);
  }
  faults.push(...findRepeats(entries, repeatsMost));
  if (expected === undefined) return faults;
  const wanted = new Set(expected.map((entry) => entry.place));
  for (const place of wanted)
    if (!keys.has(place)) faults.push(`${place} was lost; expected: it happens, as without a crash`);
  for (const place of keys.keys())
    if (!wanted.has(place)) faults.push(`${place} happened; expected: it does not, as without a crash`);
  return faults;
}

/**
 * The faults in the calls of nodes and steps, one sentence each. Calls from one place may have several keys, because the name of a step may
 * recur.
 * @param expected - as for {@link findEffectFaults}
 */
export function findCallFaults(
  entries: readonly EffectEntry[],
  expected: readonly EffectEntry[] | undefined,
): readonly string[] {
  const faults = [...findRepeats(entries, Infinity)];
  if (expected === undefined) return faults;
  const [found, wanted] = [countKeys(entries), countKeys(expected)];
  for (const place of new Set([...found.keys(), ...wanted.keys()])) {
    const [had, should] = [found.get(place) ?? 0, wanted.get(place) ?? 0];
    if (had !== should)
      faults.push(`${place} was called under ${had} keys; expected: under ${should}, as without a crash`);
  }
  return faults;
}

function findRepeats(entries: readonly EffectEntry[], repeatsMost: number): readonly string[] {
  const faults: string[] = [];
  const counts = new Map<string, number>();
  for (const { key, place, promise, isBegun } of entries) {
    if (isBegun === true) continue;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    const most = promise === 'once' ? 1 : repeatsMost;
    if (count !== most + 1) continue;
    const times = most === 1 ? 'once' : `at most ${most} times`;
    faults.push(`${place} (${promise}) happened ${count} times under one key; expected: ${times}`);
  }
  return faults;
}

function countKeys(entries: readonly EffectEntry[]): ReadonlyMap<string, number> {
  const keys = new Map<string, Set<string>>();
  for (const { key, place } of entries) keys.set(place, (keys.get(place) ?? new Set()).add(key));
  return new Map([...keys].map(([place, own]) => [place, own.size]));
}

// Drives a run to its end as its users would: starts or resumes it, answers its questions, and sends its signals.

/** The users of a run. Their answers depend on the question only, so that a crash does not change them. */
export interface CrashUsers {
  /** Answers a question; undefined leaves it open until its deadline. Default: all questions stay open. */
  readonly answer?: (question: OpenQuestion) => unknown;
  /** The value of a signal, by name. Default: null. */
  readonly signal?: (name: string) => unknown;
  /**
   * Answers whether an effect in doubt happened, as a person who checks would; may return a promise. If it returns undefined, and by
   * default, the kit answers by what it saw.
   */
  readonly decide?: (question: OpenQuestion) => unknown;
}

export interface DriveOptions {
  readonly engine: Engine;
  readonly graph: Graph;
  readonly runId: string;
  /** Advances it in slices of this many ms; undefined: until it rests. */
  readonly sliceMs?: number | undefined;
  readonly input: unknown;
  /** Whether the run exists already. */
  readonly isThere: () => Promise<boolean>;
  readonly users: CrashUsers;
  /** Finds an effect that happened, by its key. */
  readonly findEffect: (key: string) => EffectEntry | undefined;
  /** Waits on the engine's clock. */
  readonly sleep: (delayMs: number) => Promise<void>;
  /** The longest that it may sleep. Default: any time. */
  readonly sleepMsMost?: number;
  readonly now: () => number;
}

/** A paused run is resumed at most this many times. */
const resumesMost = 500;

/**
 * Drives a run to its end and returns its result. If a run with this id exists, it is resumed.
 * @throws INTERNAL the run does not end
 * @throws USAGE_INVALID the run waits for what nobody gives
 */
export async function driveRun(options: DriveOptions): Promise<RunResult> {
  const { engine, graph, runId } = options;
  if (options.sliceMs !== undefined) return driveSlices(options, options.sliceMs);
  let handle = (await options.isThere())
    ? await engine.resume(runId, { graph, retryFailed: false })
    : await engine.start(graph, options.input, { runId });
  for (let resumes = 0; resumes < resumesMost; resumes += 1) {
    const result = await handle.result();
    if (isRunOver(result.status)) return result;
    await attend(options, result.waits);
    handle = await engine.resume(runId, { graph, retryFailed: false });
  }
  throw new CairnError('INTERNAL', { reason: `run ${runId} does not end` });
}

/** Drives a run to its end in slices of time, as a host does. */
async function driveSlices(options: DriveOptions, forMs: number): Promise<RunResult> {
  const { engine, graph, runId, now, sleep } = options;
  if (!(await options.isThere())) await engine.start(graph, options.input, { runId, detach: true });
  for (let slices = 0; slices < resumesMost; slices += 1) {
    const stand = await engine.advance(runId, { forMs });
    if (stand.status === 'running' || stand.status === 'cancelling') continue;
    if (stand.status === 'held') await sleep(Math.max(1, stand.until - now()));
    else if (stand.status === 'paused') await attend(options, (await engine.inspect(runId)).waits);
    else return engine.inspect(runId);
  }
  throw new CairnError('INTERNAL', { reason: `run ${runId} does not end` });
}

/** Answers the open waits that can be answered. If there are none, waits until the next is due. */
async function attend(options: DriveOptions, waits: readonly OpenQuestion[]): Promise<void> {
  let attended = 0;
  for (const wait of waits) if (await attendOne(options, wait)) attended += 1;
  if (attended > 0) return;
  const due = waits.flatMap(({ dueAt }) => (dueAt === undefined ? [] : [dueAt]));
  if (due.length === 0) throw unanswered(waits);
  const delayMs = Math.max(1, Math.min(...due) - options.now());
  if (delayMs > (options.sleepMsMost ?? Infinity)) throw tooLate(delayMs);
  await options.sleep(delayMs);
}

function tooLate(delayMs: number): CairnError {
  return new CairnError('USAGE_INVALID', {
    reason: `the run waits for ${Math.round(delayMs / 60_000)} minutes, and processes that are really killed wait in real time`,
    hint: 'Try timers of hours and days with crashEverywhere, whose time jumps; or give this case shorter ones.',
  });
}

function unanswered(waits: readonly OpenQuestion[]): CairnError {
  const questions = waits.map(({ node, prompt = '' }) => `${node.join('/')} asks ${JSON.stringify(prompt)}`);
  return new CairnError('USAGE_INVALID', {
    reason: `the run waits, and nothing answers: ${questions.join('; ')}`,
    hint: 'Give the crash case an `answer` that answers it.',
  });
}

async function attendOne({ engine, runId, users, findEffect }: DriveOptions, wait: OpenQuestion): Promise<boolean> {
  if (wait.kind === 'signal') {
    await engine.signal(runId, wait.name, users.signal?.(wait.name) ?? null, { id: wait.waitId });
    return true;
  }
  if (wait.kind !== 'question' && wait.kind !== 'doubt') return false;
  const answer =
    wait.kind === 'doubt' ? ((await users.decide?.(wait)) ?? decideDoubt(findEffect, wait)) : users.answer?.(wait);
  if (answer === undefined) return false;
  try {
    await engine.answer(runId, wait.waitId, answer);
  } catch (error) {
    // The wait was answered before the crash, and the run has not taken the answer yet.
    if (!CairnError.is(error, 'WAIT_CLOSED')) throw error;
  }
  return true;
}

/** The answer of a person who checks at the receiver whether an effect in doubt happened. */
export function decideDoubt(findEffect: DriveOptions['findEffect'], wait: OpenQuestion): unknown {
  const { key } = wait.metadata as { readonly key: string };
  const entry = findEffect(key);
  if (entry === undefined) return 'run again';
  return entry.fails === true ? 'fail' : { decision: 'happened', output: entry.output };
}
