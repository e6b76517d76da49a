/** Random pipelines against a direct interpreter of the rules, and killed at every point of their runs. */
import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import type { EffectEntry } from '../../src/testing/crash-kit/find-effect-faults.ts';
import { scale } from '../support/scale.ts';
import { tellFaults, type Property } from '../support/smallest.ts';
import { drawOverseer, drawPlan } from './random/draw-plan.ts';
import { Interpreter } from './random/interpret-plan.ts';
import { describePlan, type PipelinePlan } from './random/pipeline-plan.ts';
import { answerPlan, graphOfPlan, modelsOfPlan, runPlan } from './random/run-plan.ts';
import { isReadable, smallerPlan } from './random/smaller-pipeline.ts';

/** Repeat one pipeline with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
const given = process.env['CAIRN_GRAPHS'];

const property: Omit<Property<PipelinePlan>, 'faultsOf'> = {
  make: (seed) => drawPlan(seed),
  smaller: smallerPlan,
  isValid: isReadable,
  describe: describePlan,
};

/** How large a pipeline may be that is killed at every point: each of these is a run of its own. */
const killedStagesMax = scale(12, 16);

/** The first seeds whose pipelines can be read, and have no more stages than this. */
function seedsOf(count: number, draw = drawPlan, stagesMax = Infinity): readonly number[] {
  const seeds: number[] = [];
  for (let seed = firstSeed; seeds.length < count && seed < firstSeed + 20 * count; seed += 1) {
    const plan = draw(seed);
    if (countStages(plan) <= stagesMax && isReadable(plan)) seeds.push(seed);
  }
  return seeds;
}

function countStages({ stages, children }: PipelinePlan): number {
  return [{ stages }, ...Object.values(children)].reduce((sum, each) => sum + each.stages.length, 0);
}

/** Where two values differ, in short. */
function difference(expected: unknown, found: unknown): string {
  const [wanted, had] = [JSON.stringify(expected) ?? 'none', JSON.stringify(found) ?? 'none'];
  let at = 0;
  while (wanted[at] === had[at]) at += 1;
  const part = (text: string): string => text.slice(Math.max(0, at - 80), at + 120);
  return `by the rules …${part(wanted)}…, in the run …${part(had)}…`;
}

function sorted(context: object): object {
  return Object.fromEntries(Object.entries(context).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** What differs between what the rules say and the run. */
async function faultsOf(plan: PipelinePlan): Promise<readonly string[]> {
  const run = await runPlan(plan);
  const interpreter = new Interpreter(run.picks);
  const { result, because = [], history, context, tookMs } = interpreter.interpret(plan);
  const { shortfall: _, ...left } = context;
  const restarts = plan.edges.some((edge) => edge.restarts);
  // Where branches wait for a place, they take longer than the interpreter knows.
  const isQueued = plan.stages.some(({ attributes }) => attributes['max_parallel'] === 2);
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['the tasks that began', interpreter.begun.toSorted(), [...run.begun].toSorted()],
    ['the result', result, run.result],
    ['the stages that ended', restarts ? [] : history, restarts ? [] : run.history],
    ['the context', restarts ? {} : sorted(left), restarts ? {} : sorted(run.context)],
    ['the milliseconds that it took', isQueued ? 0 : tookMs, isQueued ? 0 : run.tookMs],
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
    const seeds = seedsOf(Number(given ?? scale(16, 150)));
    expect(await tellFaults(seeds, { ...property, faultsOf })).toEqual([]);
  },
);

/** The visit that sent an effect: all its attempts have one key, which also tells apart visits with the same way to them. */
function visitOf({ place, key }: EffectEntry): string {
  return `${place.replace(/, attempt \d+/, '')} ${key}`;
}

/** What differs where the run is killed at each point in turn. */
async function killed(plan: PipelinePlan): Promise<readonly string[]> {
  const report = await crashEverywhere(
    {
      input: {},
      graph: ({ oracle }) =>
        graphOfPlan(plan, { arrive: (entry) => oracle.apply({ ...entry, place: visitOf(entry) }) }),
      models: () => modelsOfPlan(plan),
      answer: answerPlan,
      mayFail: true,
    },
    { open: (now) => ({ store: createMemoryStore({ now }) }) },
  );
  return report.faults.map(({ points, faults }) => {
    const at = points.map(({ kind, number, when }) => `${when} ${kind} ${number}`).join(', then ');
    return `killed ${at}: ${faults.join('; ')}`;
  });
}

test('P1 P2 random pipelines killed at every point end as if they never were', { timeout: 300_000 }, async () => {
  const seeds = seedsOf(Number(given ?? scale(1, 6)), drawPlan, killedStagesMax);
  expect(await tellFaults(seeds, { ...property, faultsOf: killed })).toEqual([]);
});

const overseers: Omit<Property<PipelinePlan>, 'faultsOf'> = { ...property, make: (seed) => drawOverseer(seed) };

test('DOT25 random pipelines that are overseen do what the interpreter says', { timeout: 300_000 }, async () => {
  const seeds = seedsOf(Number(given ?? scale(16, 150)), drawOverseer);
  expect(await tellFaults(seeds, { ...overseers, faultsOf })).toEqual([]);
});

test('DOT25 P1 P2 killed at every point they end as if they never were', { timeout: 300_000 }, async () => {
  const seeds = seedsOf(Number(given ?? scale(1, 6)), drawOverseer, killedStagesMax);
  expect(await tellFaults(seeds, { ...overseers, faultsOf: killed })).toEqual([]);
});
