/** Titles of runs, in each dialect and at each door (E2.6). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { openApp, type App } from '../src/app/open-app.ts';
import { perform } from '../src/operations/contract/perform.ts';
import * as operations from '../src/operations/table.ts';
import { AgentGraph, END, flow, START, workflow } from '../src/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-titles-'));
const apps: App[] = [];
afterAll(async () => {
  for (const app of apps) await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function openHere(): Promise<App> {
  const app = await openApp({ cwd: folder, storeUrl: 'memory:' });
  apps.push(app);
  return app;
}

const yaml = `name: refund
title: "Refund of \${inputs.order} for \${inputs.customer.name}"
inputs: { order: { type: number, required: true }, customer: { type: object, required: true } }
blocks:
  - { id: say, type: EchoBlock, inputs: { message: done } }
`;

const dot = `digraph refund {
  graph [goal="pay back", params="order=7", title="$goal: order $order, not $other"]
  start [shape=Mdiamond]
  exit [shape=Msquare]
  say [shape=parallelogram, tool_command="echo done"]
  start -> say -> exit
}`;

test.each([
  ['refund.yaml', yaml, { order: 7, customer: { name: 'Ann' } }, 'Refund of 7 for Ann'],
  ['refund.dot', dot, { order: '8' }, 'pay back: order 8, not $other'],
])('E2.6 the title of %s is made of the input', async (name, text, input, title) => {
  writeFileSync(join(folder, name), text);
  const app = await openHere();
  const { runId } = await perform(operations.run, app, { file: name, runId: 'r', input });
  expect(await perform(operations.inspect, app, { run: runId })).toMatchObject({ title });
  const { runs } = await perform(operations.listRuns, app, {});
  expect(runs.map((run) => run.title)).toEqual([title]);
});

test.each([
  ['title: "${blocks.say.message}"', 'no block'],
  ['title: "${inputs.non}"', 'non'],
  ['title: [a]', '`title` is'],
])('E2.6 in YAML %s is refused by name', async (line, words) => {
  const app = await openHere();
  const checked = await perform(operations.check, app, { text: yaml.replace(/title:.*/u, () => line) });
  expect(JSON.stringify(checked)).toContain(words);
});

type Title = (of: { readonly input: Readonly<Record<string, unknown>> }) => string;
const echo = (): string => 'done';
const input = z.record(z.string(), z.unknown());
const dialects = {
  graph: (title: Title) =>
    new AgentGraph({ input }, { id: 'g', title }).addNode('a', echo).addEdge(START, 'a').addEdge('a', END),
  workflow: (title: Title) => workflow('w', { title }).input(input).step('a', echo).returns(z.string()),
  flow: (title: Title) => flow('f', { a: { run: echo } }, { input, title }),
};

async function titleOf(kind: keyof typeof dialects, title: Title, values: Record<string, unknown>): Promise<unknown> {
  const app = dialects[kind](title).compile();
  const { runId } = await app.invoke(values, { runId: 'r' });
  const fork = await app.fork({ runId, seq: 0 });
  const titles = new Map<string, string | undefined>();
  for await (const run of app.history.list()) titles.set(run.runId, run.title);
  await app.close();
  expect(titles.get(fork.runId)).toBe(titles.get(runId));
  return titles.get(runId);
}

test.each(['graph', 'workflow', 'flow'] as const)(
  'E2.6 in a %s it is a function of the input, and a fork has that of its original',
  async (kind) => {
    expect(await titleOf(kind, ({ input: { order } }) => `Refund of ${String(order)}`, { order: 7 })).toBe(
      'Refund of 7',
    );
  },
);

test.each<[string, Title, unknown]>([
  [
    'one that throws makes none',
    () => {
      throw new Error('no');
    },
    undefined,
  ],
  ['one that rejects makes none', (() => Promise.reject(new Error('no'))) as never, undefined],
  ['an empty one is none', () => ' \n ', undefined],
  ['what is no text is none', (() => 7) as never, undefined],
  ['it is one line', () => ' a\u0000\n\u202eb ', 'a b'],
  ['it has at most 120 characters', () => '🙂'.repeat(121), `${'🙂'.repeat(119)}…`],
  ['values under names of secrets are masked', ({ input: { password } }) => `of ${String(password)}`, 'of [redacted]'],
])('E2.6 %s', async (_, title, expected) => {
  expect(await titleOf('graph', title, { password: 'hunter2' })).toBe(expected);
});

test('E2.6 a title is no part of what a run is compared with', () => {
  const [one, other] = ['one', 'other'].map((word) => dialects.graph(() => word).toGraph());
  expect(one?.hash).toBe(other?.hash);
  expect(one?.codeHash).toBe(other?.codeHash);
  expect(() => dialects.graph('text' as never).toGraph()).toThrow('title is no function');
});
