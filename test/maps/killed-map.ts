/** Runs a map in processes that die at given commits, and tells what came of it. */
import type { OpenQuestion, RunResult } from '../../src/engine/api.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { driveRun } from '../../src/testing/crash-kit/find-effect-faults.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { dyingEngine, settleDown } from '../dying-engine.ts';
import { createBench, testIds, type Bench } from '../engine-kit.ts';
import { mixNumber } from '../random-graph/mix-number.ts';
import { graphOfMap, type Life, type World } from './map-graphs.ts';
import type { Said } from './map-orders.ts';
import type { MapPlan } from './map-plan.ts';

/** What can be seen of a map that has ended. */
export interface MapEnd {
  readonly result: RunResult;
  readonly world: World;
  readonly said: Said;
}

/** A run of a map over several processes. Its person answers each question about an effect once, at random. */
class MapRun {
  readonly #plan: MapPlan;
  readonly bench: Bench = createBench();
  readonly #world: World = new Set();
  readonly #said = new Map<string, 'happened' | 'fail'>();
  #processes = 0;

  constructor(plan: MapPlan) {
    this.#plan = plan;
  }

  /** Lets a process work until the run has ended, or until it dies at a commit, which gives undefined. */
  async work(commits: number): Promise<MapEnd | undefined> {
    const life: Life = { isDead: false };
    const died = Promise.withResolvers<undefined>();
    const ids = testIds(
      `worker-${(this.#processes += 1)}`,
      Array.from({ length: this.#processes - 1 }, (_, index) => `worker-${index + 1}`),
    );
    const options = { ...this.bench.options, ids };
    const die = (): void => {
      life.isDead = true;
      died.resolve(undefined);
    };
    const engine = commits === Infinity ? createEngine(options) : dyingEngine({ ...this.bench, options }, commits, die);
    const graph = graphOfMap(this.#plan, life, this.#world);
    const { clock } = this.bench;
    const isThere = this.#processes > 1;
    const driven = driveRun({
      engine,
      graph,
      runId: 'r',
      input: {},
      isThere: () => Promise.resolve(isThere),
      users: { answer: () => 'yes', decide: (question) => this.#decide(question) },
      findEffect: () => undefined,
      sleep: (delayMs) => clock.sleep(delayMs),
      now: clock.now,
    });
    const result = await Promise.race([driven, died.promise]);
    if (result === undefined) await settleDown();
    return result && { result, world: this.#world, said: this.#said };
  }

  /** That it did not happen is said only of what did not. */
  #decide({ node, name }: OpenQuestion): unknown {
    const place = `${node.join('/')} ${name}`;
    const item = /\bi(\d+)/.exec(place)?.[1];
    const at = /\bop(\d+)/.exec(place)?.[1] ?? this.#plan.items[Number(item)]?.calls.indexOf('act');
    const call = `${item}:${at}`;
    const random = createSeededRandom(mixNumber(this.#plan.seed, Number(item), Number(at)));
    const word = random.pick(['happened', 'fail', 'run again'] as const);
    if (word === 'run again') return word;
    this.#said.set(call, word);
    return word;
  }
}

/** How a map ends whose process dies at a commit, and the next one at another. Undefined: it ended before. */
export async function killedAt(plan: MapPlan, commits: readonly number[]): Promise<MapEnd | undefined> {
  const run = new MapRun(plan);
  for (const [index, commit] of commits.entries()) {
    const end = await run.work(commit);
    if (end !== undefined) return index === 0 ? undefined : end;
  }
  return run.work(Infinity);
}
