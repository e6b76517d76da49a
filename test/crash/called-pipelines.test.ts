/** Workflows in YAML whose blocks run pipelines in DOT, killed at every point at which a process can die (P1, P2). */
import { expect, test } from 'vitest';
import { checkCalledDot } from '../../src/dialects/dot/read-dot.ts';
import type { StageHandler, StageOutcome } from '../../src/dialects/dot/index.ts';
import { readWorkflow } from '../../src/dialects/yaml/index.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import type { CrashCase } from '../../src/testing/crash-kit/process-life.ts';
import { crashEverywhere, crashFree } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { box, digraph } from '../dot-kit.ts';
import { sampleCrashes, scale } from '../support/scale.ts';

const files: Readonly<Record<string, string>> = {
  'asks.dot': digraph(
    `start -> a -> gate\ngate [shape=hexagon, label="Ship $who?"]\ngate -> b [label=Yes]\ngate -> exit [label=No]\nb -> exit\n${box('a', 'b')}`,
    'graph [params="who=it"]',
  ),
  'forks.dot': digraph(
    `start -> p\np [shape=component]\np -> a -> j\np -> b -> j\nj [shape=tripleoctagon]\nj -> h -> exit\nh [shape=house, stack.child_dotfile="asks.dot"]\n${box('a', 'b')}`,
  ),
  'restarts.dot': digraph(
    `start -> a -> b\nb -> a [label=again, loop_restart=true]\nb -> exit [label=done]\n${box('a', 'b')}`,
  ),
  'retries.dot': digraph(`start -> a -> tries -> exit\na [prompt=x]\ntries [prompt=x, retry_target=a]`),
};

const handler = ({ oracle }: Parameters<CrashCase['graph']>[0]): StageHandler => ({
  effect: 'external',
  isIdempotent: ({ id }) => id === 'tries',
  run: ({ ctx, parts: { stage }, value, step }) => {
    const count = (key: string): number => Number(value(key) ?? 0);
    const outcome: StageOutcome = {
      status: stage.id === 'tries' && count('tries') < 2 ? 'fail' : 'success',
      preferredLabel: count('internal.restart_count') < 1 ? 'again' : 'done',
      ...(stage.id === 'a' && { contextUpdates: { tries: count('tries') + 1 } }),
    };
    oracle.apply({
      key: step?.idempotencyKey ?? '',
      place: `visit ${ctx.visit} of ${ctx.nodePath.join('/')}`,
      promise: stage.id === 'tries' ? 'repeatable' : 'once',
      output: outcome,
      fails: outcome.status === 'fail',
    });
    return outcome;
  },
});

const caseOf = (blocks: string): CrashCase => ({
  input: {},
  answer: () => 'Yes',
  graph: (process) => {
    const handlers = { codergen: handler(process) };
    return readWorkflow(`name: w\nblocks:\n${blocks}\n`, {
      nodeTypes: [],
      workflows: { get: (name) => ({ text: files[`${name}.dot`] ?? '', source: `${name}.dot` }), names: () => [] },
      readOther: ({ text, source }) => checkCalledDot(text, { handlers, source, readFile: (path) => files[path] }),
    }).graph;
  },
});

const run = (id: string, name: string, more = ''): string =>
  `  - { id: ${id}, type: Workflow, inputs: { workflow: ${name} }${more} }`;

test.each([
  ['that asks', run('c', 'asks'), '"total_blocks":5'],
  ['for each of two items', run('c', 'asks', ', for_each: [x, y]'), '"count":2'],
  ['with branches, and a child of its own', run('c', 'forks'), '"total_blocks":5'],
  ['that restarts', run('c', 'restarts'), '"restarts":1'],
  ['that goes back, beside another one', [run('c', 'retries'), run('d', 'restarts')].join('\n'), '"led_to":"a"'],
  ['behind another one', [run('c', 'retries'), run('d', 'asks', ', depends_on: [c]')].join('\n'), '"led_to":"a"'],
])(
  'P1 P2 Y11 a block that runs a pipeline %s, killed at every point, ends as if it never was',
  async (_, blocks, told) => {
    const open = (now: () => number): { readonly store: ReturnType<typeof createMemoryStore> } => ({
      store: createMemoryStore({ now }),
    });
    const quiet = await crashFree(caseOf(blocks), { open });
    expect(quiet.summary.status).toBe('completed');
    expect(quiet.summary.state).toContain(told);
    const report = await crashEverywhere(caseOf(blocks), { open, choose: sampleCrashes(6) });
    expect(report.trials).toBeGreaterThan(scale(5, 10));
    expect(report.faults).toEqual([]);
  },
);
