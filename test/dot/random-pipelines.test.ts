/** Random pipelines against a direct interpreter of the rules, and killed at every point of their runs. */
import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import type { EffectEntry } from '../../src/testing/crash-kit/effect-oracle.ts';
import { tellFaults, type Property } from '../support/smallest.ts';
import { drawPlan } from './random/draw-plan.ts';
import { Interpreter } from './random/interpret-plan.ts';
import { describePlan, type PipelinePlan } from './random/pipeline-plan.ts';
import { answerPlan, graphOfPlan, runPlan } from './random/run-plan.ts';
import { isReadable, smallerPlan } from './random/smaller-pipeline.ts';

/** Repeat one pipeline with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
const given = process.env['CAIRN_GRAPHS'];

const property: Omit<Property<PipelinePlan>, 'faultsOf'> = {
  make: (seed) => drawPlan(seed),
  smaller: smallerPlan,
  isSound: isReadable,
  describe: describePlan,
};

/** The first seeds whose pipelines can be read. */
function seedsOf(count: number): readonly number[] {
  const seeds: number[] = [];
  for (let seed = firstSeed; seeds.length < count && seed < firstSeed + 20 * count; seed += 1)
    if (isReadable(drawPlan(seed))) seeds.push(seed);
  return seeds;
}

/** Where two values differ, in short. */
function difference(expected: unknown, found: unknown): string {
  const [wanted, had] = [JSON.stringify(expected) ?? 'none', JSON.stringify(found) ?? 'none'];
  let at = 0;
  while (wanted[at] === had[at]) at += 1;
  const part = (text: string): string => text.slice(Math.max(0, at - 80), at + 120);
  return `by the rules …${part(wanted)}…, in the run …${part(had)}…`;
}

/** What differs between what the rules say and the run. */
async function faultsOf(plan: PipelinePlan): Promise<readonly string[]> {
  const run = await runPlan(plan);
  const interpreter = new Interpreter(run.picks);
  const { result, because = [], history, results } = interpreter.run(plan);
  const restarts = plan.edges.some((edge) => edge.restarts);
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['the tasks that began', interpreter.begun.toSorted(), [...run.begun].toSorted()],
    ['the result', result, run.result],
    ['the stages that ended', restarts ? [] : history, restarts ? [] : run.history],
    ['the results of the branches', restarts ? [] : results, restarts ? [] : run.results],
  ];
  const faults = pairs.flatMap(([what, expected, found]) =>
    JSON.stringify(expected) === JSON.stringify(found)
      ? []
      : [`${what}: ${difference(expected, found)}; ${run.error ?? 'it completed'}`],
  );
  if (because.length > 0 && !because.every((word) => run.error?.includes(word) === true))
    faults.push(`the run failed with ${run.error}; by the rules its reason names ${because.join(' and ')}`);
  return faults;
}

test(
  'DOT4 DOT5 DOT7 DOT9 DOT14 DOT15 DOT18 DOT25 random pipelines do what a direct interpreter of the rules says',
  { timeout: 300_000 },
  async () => {
    const seeds = seedsOf(Number(given ?? 150));
    expect(await tellFaults(seeds, { ...property, faultsOf })).toEqual([]);
  },
);

/** The visit that sent an effect: all its attempts have one key, which also tells apart visits with the same way to them. */
function visitOf({ place, key }: EffectEntry): string {
  return `${place.replace(/, attempt \d+/, '')} ${key}`;
}

test('P1 P2 random pipelines killed at every point end as if they never were', { timeout: 300_000 }, async () => {
  const seeds = seedsOf(Number(given ?? 6));
  const killed = async (plan: PipelinePlan): Promise<readonly string[]> => {
    const report = await crashEverywhere(
      {
        input: {},
        graph: ({ oracle }) => graphOfPlan(plan, (entry) => oracle.apply({ ...entry, place: visitOf(entry) })),
        answer: answerPlan,
        mayFail: true,
      },
      { open: (now) => ({ store: createMemoryStore({ now }) }) },
    );
    return report.faults.map(({ points, faults }) => {
      const at = points.map(({ kind, number, when }) => `${when} ${kind} ${number}`).join(', then ');
      return `killed ${at}: ${faults.join('; ')}`;
    });
  };
  expect(await tellFaults(seeds, { ...property, faultsOf: killed })).toEqual([]);
});
