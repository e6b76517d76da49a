/** Drives a run to its end as its users would: starts or resumes it, answers its questions, and sends its signals. */
import type { Engine, OpenQuestion, RunResult } from '../../engine/api.ts';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { EffectEntry } from './effect-oracle.ts';

/** The users of a run. Their answers depend on the question only, so that a crash does not change them. */
export interface CrashUsers {
  /** Answers a question; undefined leaves it open until its deadline. Default: all questions are left open. */
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
  let handle = (await options.isThere())
    ? await engine.resume(runId, { graph, retryFailed: false })
    : await engine.start(graph, options.input, { runId });
  for (let resumes = 0; resumes < resumesMost; resumes += 1) {
    const result = await handle.result();
    if (result.status !== 'paused' && result.status !== 'running') return result;
    await attend(options, result.waits);
    handle = await engine.resume(runId, { graph, retryFailed: false });
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
