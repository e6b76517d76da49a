/** Pipelines killed at every point at which a process can die, on virtual time: each ends as if it never was (P1, P2). */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createAnswers } from '../../examples/pipelines/scripted-answers.ts';
import { describeRepository, makeRepository } from '../../examples/pipelines/small-repository.ts';
import { readDot, type StageHandler, type StageOutcome } from '../../src/dialects/dot/index.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import type { CrashCase } from '../../src/testing/crash-kit/process-life.ts';
import { crashEverywhere, crashFree } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { sampleCrashes } from '../support/scale.ts';
import { box, digraph } from '../dot-kit.ts';

const home = process.cwd();
const folder = mkdtempSync(join(tmpdir(), 'cairn-dot-crashes-'));
process.chdir(folder);
afterAll(() => {
  process.chdir(home);
  rmSync(folder, { recursive: true, force: true });
});

/** An outcome by the stage and by what it sees; the same after a crash, since nothing else is asked. */
type Says = (stage: string, value: (key: string) => unknown) => string | StageOutcome;

/** Stages that apply an effect each, so that one that is done twice is found. */
function pipeline(text: string, says: Says, isIdempotent: boolean): Pick<CrashCase, 'graph' | 'input'> {
  return {
    input: {},
    graph: ({ oracle }) => {
      const codergen: StageHandler = {
        effect: 'external',
        isIdempotent: () => isIdempotent,
        run: ({ ctx, parts: { stage }, value, step }) => {
          const said = says(stage.id, value);
          const outcome = typeof said === 'string' ? ({ status: said } as StageOutcome) : said;
          oracle.apply({
            key: step?.idempotencyKey ?? '',
            place: `visit ${ctx.visit} of ${stage.id} in run ${count(value, 'internal.restart_count')}`,
            promise: isIdempotent ? 'repeatable' : 'once',
            output: outcome,
            fails: outcome.status === 'fail' || outcome.status === 'retry',
          });
          return outcome;
        },
      };
      return readDot(text, { handlers: { codergen } }).graph;
    },
  };
}

const count = (value: (key: string) => unknown, key: string): number => Number(value(key) ?? 0);
const next = (value: (key: string) => unknown, key: string): StageOutcome => ({
  status: 'success',
  contextUpdates: { [key]: count(value, key) + 1 },
});

const cases: readonly (readonly [string, string, Says, Partial<CrashCase>, string])[] = [
  [
    'after a human choice',
    digraph(
      `start -> a -> gate\ngate [shape=hexagon]\ngate -> a [label="[A] Again"]\ngate -> b [label="[O] On"]\nb -> exit\n${box('a', 'b')}`,
    ),
    (_, value) => next(value, 'rounds'),
    { answer: () => 'On' },
    '"human.gate.label":"On"',
  ],
  [
    'inside a parallel block',
    digraph(
      `start -> p\np [shape=component]\np -> a -> a2 -> j\np -> b -> j\np -> c -> j\nj [shape=tripleoctagon]\nj -> after -> exit\n${box('a', 'a2', 'b', 'c', 'after')}`,
    ),
    (stage) => (stage === 'b' ? 'fail' : 'success'),
    {},
    '2 of 3 branches succeeded',
  ],
  [
    'between a gate’s failure and its retry target',
    digraph(
      `start -> a -> gate\ngate -> exit [condition="outcome=fail"]\ngate -> exit\ngate [prompt=x, goal_gate=true, retry_target=a]\n${box('a')}`,
    ),
    (stage, value) => (stage === 'a' ? next(value, 'tries') : count(value, 'tries') < 3 ? 'fail' : 'success'),
    {},
    '"tries":3',
  ],
  [
    'between a failure and its retry target, and while it is tried again',
    digraph(`start -> a -> b -> exit\na [prompt=x]\nb [prompt=x, retry_target=a, max_retries=1]`),
    (stage, value) => (stage === 'a' ? next(value, 'tries') : count(value, 'tries') < 2 ? 'retry' : 'success'),
    {},
    '"tries":2',
  ],
];

test.each(cases)('P1 P2 a pipeline killed %s ends as if it never was', async (_, text, says, users, expected) => {
  // What failed and what is tried again is sent again under its key; whether all else is sent once is asked of the first one.
  for (const isIdempotent of text.includes('hexagon') ? [true, false] : [true]) {
    const crashCase: CrashCase = { ...pipeline(text, says, isIdempotent), ...users };
    const open = (now: () => number) => ({ store: createMemoryStore({ now }) });
    const quiet = await crashFree(crashCase, { open });
    expect(quiet.summary.status).toBe('completed');
    expect(quiet.summary.state).toContain(expected);
    const report = await crashEverywhere(crashCase, { open, choose: sampleCrashes(6) });
    expect(report.points).toBeGreaterThan(10);
    expect(report.faults).toEqual([]);
  }
});

const restarting = digraph(
  `start -> a -> b\nb -> c [label=again, loop_restart=true]\nb -> exit [label=done]\nc -> b\n${box('a', 'b', 'c')}`,
);

test('P1 P2 a pipeline killed in a restart, and between two of them, ends as if it never was', async () => {
  const says: Says = (stage, value) =>
    stage !== 'b'
      ? 'success'
      : { status: 'success', preferredLabel: count(value, 'internal.restart_count') < 2 ? 'again' : 'done' };
  const crashCase: CrashCase = pipeline(restarting, says, false);
  const open = (now: () => number) => ({ store: createMemoryStore({ now }) });
  const quiet = await crashFree(crashCase, { open });
  expect(quiet.summary.state).toContain('"restarts":2');
  const report = await crashEverywhere(crashCase, { open, choose: sampleCrashes(6) });
  expect(report.points).toBeGreaterThan(20);
  expect(report.faults).toEqual([]);
});

const examples = join(import.meta.dirname, '../../examples/pipelines');

test.each(readdirSync(examples).filter((name) => name.endsWith('.dot')))(
  'P1 P2 the example %s, killed at every point on virtual time, ends as if it never was',
  { timeout: 300_000 },
  async (name) => {
    const source = join(examples, name);
    const crashCase: CrashCase = {
      input: {},
      graph: () => readDot(readFileSync(source, 'utf8'), { nodeTypes: createNodeTypes(), source: name }).graph,
      models: () => createAnswers(),
      answer: ({ prompt = '' }) => (prompt.includes('Publish') ? 'Yes' : undefined),
      inspect: () => describeRepository(folder),
    };
    const report = await crashEverywhere(crashCase, {
      choose: sampleCrashes(6),
      open: (now) => {
        for (const left of readdirSync(folder)) rmSync(join(folder, left), { recursive: true });
        makeRepository(folder, name === 'release.dot');
        return { store: createMemoryStore({ now }) };
      },
    });
    expect(report.points).toBeGreaterThan(10);
    expect(report.faults).toEqual([]);
  },
);
