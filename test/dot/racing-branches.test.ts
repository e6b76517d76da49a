/** Branches of which the first to end decide, killed at every commit: they end as in one of the orders that an undisturbed run may take. */
import { expect, test } from 'vitest';
import { readDot, type StageHandler } from '../../src/dialects/dot/index.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { driveRun, type EffectEntry } from '../../src/testing/crash-kit/find-effect-faults.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { digraph, dotOptions } from '../dot-kit.ts';
import { dyingEngine, settleDown } from '../dying-engine.ts';
import { afterCrash, createBench } from '../engine-kit.ts';
import { tellFaults } from '../support/smallest.ts';

interface Branch {
  readonly isGood: boolean;
  /** How many turns of the event loop its work takes. */
  readonly turns: number;
}

interface Race {
  readonly places: number;
  readonly needed: number;
  readonly failsFast: boolean;
  readonly branches: readonly Branch[];
}

function drawRace(seed: number): Race {
  const random = createSeededRandom(seed);
  const count = 2 + random.integer(4);
  return {
    places: 2 + random.integer(2),
    needed: 1 + random.integer(2),
    failsFast: random.chance(0.3),
    branches: Array.from({ length: count }, () => ({ isGood: random.chance(0.7), turns: random.integer(6) })),
  };
}

function* smallerRaces(race: Race): Iterable<Race> {
  for (const index of race.branches.keys())
    if (race.branches.length > 2) yield { ...race, branches: race.branches.toSpliced(index, 1) };
}

/** How a race ended: each branch's outcome, and how many of them had begun. They begin in their order. */
interface RaceEnd {
  readonly outcomes: readonly string[];
  readonly begun: number;
}

/** The ends of all orders in which branches that run side by side may end. */
function endsOf({ places, needed, failsFast, branches }: Race): readonly RaceEnd[] {
  const ends: RaceEnd[] = [];
  const go = (done: ReadonlySet<number>, running: ReadonlySet<number>, begun: number): void => {
    const good = [...done].filter((index) => branches[index]?.isGood === true).length;
    const isDecided = good >= needed || (failsFast && good < done.size);
    const next = isDecided ? begun : Math.min(branches.length, begun + places - running.size);
    const all = new Set([...running, ...Array.from({ length: next - begun }, (_, index) => begun + index)]);
    if (isDecided || all.size === 0) {
      const outcomes = branches.map(({ isGood }, at) => (!done.has(at) ? 'skipped' : isGood ? 'success' : 'fail'));
      ends.push({ outcomes, begun: next });
      return;
    }
    for (const index of all) go(new Set([...done, index]), new Set([...all].filter((other) => other !== index)), next);
  };
  go(new Set(), new Set(), 0);
  return ends;
}

/** One process: what its stages do after its death does not happen. */
interface Life {
  isDead: boolean;
}

const nameOf = (index: number): string => `b${index}`;

function graphOf({ places, needed, failsFast, branches }: Race, life: Life, happen: Happen): Graph {
  const policy = `join_policy="${needed}_of_n", error_policy=${failsFast ? 'fail_fast' : 'continue'}, max_parallel=${places}`;
  const lines = branches.map((_, index) => `par -> ${nameOf(index)} -> join\n${nameOf(index)} [prompt=x]`);
  const body = `start -> par\njoin -> exit\npar [shape=component, ${policy}]\njoin [shape=tripleoctagon]\n${lines.join('\n')}`;
  const indexOf = (id: string): number => Number(id.slice(1));
  const codergen: StageHandler = {
    effect: 'external',
    // A person who is asked cannot know how one ended that failed.
    isIdempotent: ({ id }) => branches[indexOf(id)]?.isGood === false,
    run: async ({ parts: { stage }, step }) => {
      const index = indexOf(stage.id);
      const { isGood, turns } = branches[index] as Branch;
      const told = { status: isGood ? 'success' : 'fail' } as const;
      if (!life.isDead) happen({ key: step?.idempotencyKey ?? '', index, output: told });
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return told;
    },
  };
  return readDot(digraph(body), dotOptions({ handlers: { codergen } })).graph;
}

type Happen = (effect: { readonly key: string; readonly index: number; readonly output: object }) => void;

/** Runs a race whose process dies at a commit. The result is undefined if the race ends before. */
async function killedAt(race: Race, commit: number): Promise<RaceEnd | undefined> {
  const effects = new Map<string, Pick<EffectEntry, 'output'>>();
  let begun = 0;
  const happen: Happen = ({ key, index, output }) => {
    begun = Math.max(begun, index + 1);
    effects.set(key, { output });
  };
  const first: Life = { isDead: false };
  const bench = createBench();
  const died = Promise.withResolvers<void>();
  const dying = dyingEngine(bench, commit, () => {
    first.isDead = true;
    died.resolve();
  });
  const handle = await dying.start(graphOf(race, first, happen), {}, { runId: 'r' });
  if ((await Promise.race([handle.result(), died.promise])) !== undefined) return undefined;
  await settleDown();
  const { state } = await driveRun({
    engine: afterCrash(bench),
    graph: graphOf(race, { isDead: false }, happen),
    runId: 'r',
    input: {},
    isThere: () => Promise.resolve(true),
    users: {},
    findEffect: (key) => effects.get(key) as EffectEntry | undefined,
    sleep: (delayMs) => bench.clock.sleep(delayMs),
    now: bench.clock.now,
  });
  const results = (state.scratch['parallel.results'] ?? []) as readonly { readonly outcome: string }[];
  return { outcomes: results.map(({ outcome }) => outcome), begun };
}

const commitsMost = 60;

async function faultsOf(race: Race): Promise<readonly string[]> {
  const ends = endsOf(race);
  const faults: string[] = [];
  for (let commit = 1; commit < commitsMost; commit += 1) {
    const found = await killedAt(race, commit);
    if (found === undefined) break;
    const isPossible = ends.some(
      ({ outcomes, begun }) => String(outcomes) === String(found.outcomes) && found.begun <= begun,
    );
    if (!isPossible)
      faults.push(
        `killed at commit ${commit} it ended with ${found.outcomes.join(', ')}, and ${found.begun} branches began: no order of an undisturbed run does`,
      );
  }
  return faults;
}

test('P1 DOT5 a race of branches that is killed ends as it might have without', { timeout: 300_000 }, async () => {
  const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
  const count = Number(process.env['CAIRN_GRAPHS'] ?? 12);
  const seeds = Array.from({ length: count }, (_, index) => firstSeed + index);
  const describe = (race: Race): string => JSON.stringify(race);
  expect(await tellFaults(seeds, { make: drawRace, smaller: smallerRaces, describe, faultsOf })).toEqual([]);
});
