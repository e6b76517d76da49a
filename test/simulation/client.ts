/** A simulated client: starts a run or forks one, answers its questions, often twice, sends its signals, often early, and may cancel it. */
import type { OpenQuestion } from '../../src/engine/api.ts';
import { CairnError } from '../../src/errors.ts';
import { type CrashUsers, decideDoubt } from '../../src/testing/crash-kit/find-effect-faults.ts';
import type { SeededRandom } from '../../src/ports/seeded-random.ts';
import { isExpected, openProcess, type SimulatedNode, type SimulationWorld } from './worker.ts';

export interface ClientOptions extends CrashUsers {
  readonly runId: string;
  /** Begins the run, unless it is there: called until it is. */
  readonly begin: (process: SimulatedNode) => Promise<unknown>;
  /** Names of signals that are sent before anyone waits for them. */
  readonly earlySignals: readonly string[];
  /** Virtual ms after which the client cancels the run; undefined: never. */
  readonly cancelAfterMs: number | undefined;
}

/** Attends to a run until it has ended; returns its status. Its own process suffers the same faults and is replaced when it dies. */
export async function attendRun(world: SimulationWorld, options: ClientOptions, random: SeededRandom): Promise<string> {
  const { time, store, tenant } = world;
  const { runId } = options;
  let process = openProcess(world, `client-${runId}.0`, random.fork());
  let isBusy = false;
  const sent = new Set<string>();
  const startedAtMs = time.timeMs;
  for (let round = 1; ; round += 1) {
    if (process.isDead) {
      process = openProcess(world, `client-${runId}.${round}`, random.fork());
      isBusy = false;
    }
    const run = await store.readRun({ tenant, runId });
    if (run !== undefined && ['completed', 'failed', 'cancelled'].includes(run.status)) return run.status;
    if (!isBusy) {
      isBusy = true;
      const mustCancel = options.cancelAfterMs !== undefined && time.timeMs - startedAtMs > options.cancelAfterMs;
      void attendOnce(world, process, options, { random, sent, mustCancel, isThere: run !== undefined }).finally(() => {
        isBusy = false;
      });
    }
    await time.sleep(50 + random.integer(500));
  }
}

interface Round {
  readonly random: SeededRandom;
  readonly sent: Set<string>;
  readonly mustCancel: boolean;
  readonly isThere: boolean;
}

async function attendOnce(
  world: SimulationWorld,
  process: SimulatedNode,
  options: ClientOptions,
  round: Round,
): Promise<void> {
  const { engine } = process;
  const { runId, earlySignals } = options;
  const { random, sent } = round;
  try {
    if (!round.isThere) await options.begin(process);
    if (round.mustCancel) await engine.cancel(runId);
    for (const name of earlySignals) {
      if (sent.has(name) || random.chance(0.5)) continue;
      await engine.signal(runId, name, options.signal?.(name) ?? null, { id: name });
      sent.add(name);
    }
    const { waits } = await engine.inspect(runId);
    for (const wait of waits) if (random.chance(0.7)) await attendWait(world, process, options, wait, random);
  } catch (error) {
    if (!isExpected(error) && !CairnError.is(error, 'WAIT_CLOSED') && !CairnError.is(error, 'WAIT_NOT_FOUND')) {
      world.faults.push(`client: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  }
}

async function attendWait(
  world: SimulationWorld,
  { engine }: SimulatedNode,
  options: ClientOptions,
  wait: OpenQuestion,
  random: SeededRandom,
): Promise<void> {
  const { runId } = options;
  if (wait.kind === 'signal') {
    await engine.signal(runId, wait.name, options.signal?.(wait.name) ?? null, { id: wait.name });
    return;
  }
  if (wait.kind !== 'question' && wait.kind !== 'doubt') return;
  const answer = wait.kind === 'doubt' ? decideDoubt((key) => world.oracle.find(key), wait) : options.answer?.(wait);
  if (answer === undefined) return;
  await engine.answer(runId, wait.waitId, answer);
  // The same again is acknowledged; another answer meets the first, or a wait that is closed (W2, O1).
  if (random.chance(0.3)) await expectTaken(world, () => engine.answer(runId, wait.waitId, answer));
  if (random.chance(0.3) && wait.kind === 'question')
    await expectRefused(world, () => engine.answer(runId, wait.waitId, otherAnswer(wait, answer)));
}

/** An answer that fits and is not the first one. */
function otherAnswer({ choices }: OpenQuestion, answer: unknown): unknown {
  if (choices === undefined) return (answer as number) + 1;
  return choices.find((choice) => choice !== answer) ?? answer;
}

async function expectTaken(world: SimulationWorld, post: () => Promise<unknown>): Promise<void> {
  try {
    await post();
  } catch (error) {
    if (!isExpected(error) && !CairnError.is(error, 'WAIT_CLOSED'))
      world.faults.push(`an equal answer was refused: ${String(error)}`);
  }
}

async function expectRefused(world: SimulationWorld, post: () => Promise<unknown>): Promise<void> {
  try {
    await post();
    world.faults.push('a second answer was accepted');
  } catch (error) {
    if (!isExpected(error) && !CairnError.is(error, 'WAIT_CLOSED'))
      world.faults.push(`a second answer met ${String(error)}`);
  }
}
