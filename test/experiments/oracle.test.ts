/**
 * Experiments over recorded runs of four kinds, with arms that would send, pay, write, delete and remember: an oracle outside of the engine
 * counts what happens. Nothing does (X7, EX1).
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { agent, sessionMemory, tool } from '../../src/agents/index.ts';
import { openApp } from '../../src/app/open-app.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { experiment, type Arm, type ExperimentResult } from '../../src/experiments/index.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { AgentGraph, END, mapNode, openStore, outcome, START } from '../../src/index.ts';
import { createScriptedModels } from '../../src/models/scripted.ts';
import { perform } from '../../src/operations/contract/perform.ts';
import { run as startRun } from '../../src/operations/table.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryMemories } from '../../src/stores/memory/index.ts';
import type { CrashCase, CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { createBench } from '../engine-kit.ts';
import { mixNumber } from '../random-graph/mix-number.ts';
import { planRandomGraph } from '../random-graph/plan-random-graph.ts';
import { randomGraphCase, randomGraphInput } from '../random-graph/random-graph.ts';
import { preparePostgres } from '../support/postgres-store.ts';
import { startRedis } from '../support/redis.ts';
import { isProving, scale, seeds } from '../support/scale.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 3_600_000 });

const folder = mkdtempSync(join(tmpdir(), 'cairn-oracle-'));
const postgres = isProving ? await preparePostgres() : 'in npm run prove';
const redis = isProving ? await startRedis() : 'in npm run prove';
afterAll(async () => {
  if (typeof postgres !== 'string') await postgres.stop();
  if (typeof redis !== 'string') await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

let opened = 0;
/** An empty place for runs. */
const stores: Readonly<Record<string, () => Promise<string>>> = {
  SQLite: async () => `sqlite:${join(folder, `${(opened += 1)}.db`)}`,
  ...(typeof postgres !== 'string' && { Postgres: () => postgres.empty().then(() => postgres.url) }),
  ...(typeof redis !== 'string' && { Redis: () => redis.empty().then(() => redis.url) }),
};

/** The pairs of all arms by verdict. */
function verdictsOf({ arms }: ExperimentResult): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { verdicts } of Object.values(arms))
    for (const [verdict, count] of Object.entries(verdicts)) counts[verdict] = (counts[verdict] ?? 0) + count;
  return counts;
}

/** What the tools of an agent, the items of a map, a loop and a memory do. */
function desk(world: string[], memories: ReturnType<typeof createMemoryMemories>, { kind = 'plain', factor = 1 } = {}) {
  const act = (name: string) =>
    tool({
      description: name,
      input: z.object({ amount: z.number() }),
      effect: name === 'look' ? 'read' : name === 'write' ? 'write' : 'external',
      approval: 'never',
      run: ({ amount }) => `${name} ${world.push(`${name} ${amount}`) > 0 ? amount : 0}`,
    });
  const tools = { look: act('look'), pay: act('pay'), send: act('send'), write: act('write'), erase: act('erase') };
  const memory = sessionMemory(memories, { consistency: 'live' });
  return new AgentGraph(
    { input: z.object({ amount: z.number() }), scratch: z.object({ turns: z.number().default(0) }) },
    { id: 'desk' },
  )
    .addNode(
      'bot',
      agent({
        model: 'demo:bot',
        instructions: `Be ${kind}.`,
        tools,
        prompt: ({ state }) => `order ${state.input.amount}`,
      }),
    )
    .addNode(
      'learn',
      async (ctx) => {
        const session = memory.open(ctx, { user: 'ann', session: 's' });
        const known = (await session.recall()).length;
        await session.remember(`order ${ctx.state.input.amount * factor}`);
        return known >= 0;
      },
      { effectClass: 'read' },
    )
    .addNode(
      'each',
      mapNode({
        over: ({ state }) => [1, 2].map((one) => one * state.input.amount * factor),
        effectClass: 'external',
        each: ({ item }) => `mailed ${world.push(`mail ${String(item)}`) > 0}`,
      }),
    )
    .addNode(
      'turn',
      async (ctx) => {
        const turns = (ctx.state.scratch.turns ?? 0) + 1;
        await ctx.step('tick', { effect: 'write', input: turns * factor }, () => world.push(`tick ${turns}`) > 0);
        return outcome({ scratch: { turns }, output: turns });
      },
      { effectClass: 'read' },
    )
    .addEdge(START, 'bot')
    .addEdge('bot', 'learn')
    .addEdge('learn', 'each')
    .addEdge('each', 'turn')
    .addConditionalEdge('turn', ({ state }) => ((state.scratch.turns ?? 0) < 2 ? 'turn' : 'end'), {
      turn: 'turn',
      end: END,
    });
}

const bot = createScriptedModels(({ messages }) => {
  const all = JSON.stringify(messages);
  const amount = Number(/order (\d+)/.exec(all)?.[1]) + (all.includes('generous') ? 10 : 0);
  const done = messages.filter(({ role }) => role === 'tool').length;
  const name = ['look', 'pay', 'send', 'write', 'erase'][done];
  return name === undefined ? 'Done.' : { calls: [{ tool: name, input: { amount } }] };
});

/** Compares under each kind of arm, from the start and from the middle. */
async function compare(
  app: Parameters<typeof experiment>[0],
  arms: Readonly<Record<string, Arm>>,
  middle: string,
): Promise<readonly ExperimentResult[]> {
  const results: ExperimentResult[] = [];
  for (const at of [undefined, middle])
    results.push(
      await experiment(app, {
        name: `all-${at ?? 'start'}`,
        dataset: { status: 'completed' },
        arms: { same: {}, fresh: { resample: true }, ...arms },
        output: ({ outputs }) => outputs,
        concurrency: 4,
        ...(at !== undefined && { at }),
      }),
    );
  return results;
}

describe.each(Object.keys(stores))('experiments on %s', (name) => {
  const open = async (): Promise<string> => (await stores[name]?.()) ?? '';

  test('EX1 an agent with tools, a map, a loop and a memory: nothing is done by arms that would', async () => {
    const [world, memories] = [[] as string[], createMemoryMemories()] as const;
    const store = openStore(await open());
    const app = desk(world, memories).compile({ store, models: bot });
    const count = scale(4, 75);
    for (let amount = 1; amount <= count; amount += 1) await app.invoke({ amount }, { runId: `r${amount}` });
    expect(world.filter((one) => one.startsWith('pay'))).toHaveLength(count);
    const known = (await memories.read({ user: 'ann', session: 's' })).length;
    world.splice(0);
    const arms = {
      generous: { graph: desk(world, memories, { kind: 'generous' }) },
      double: { graph: desk(world, memories, { factor: 2 }) },
      other: { set: { 'input.amount': 1_000 } },
    };
    const results = await compare(app, arms, 'each');
    expect(world).toEqual([]);
    expect(await memories.read({ user: 'ann', session: 's' })).toHaveLength(known);
    expect(results.map(({ baseline }) => baseline)).toEqual([{ equal: count }, { equal: count }]);
    expect(results[0]?.arms['double']?.verdicts).toEqual({ 'would act': count });
    await app.close();
    await store.close();
  });

  test.each([
    [
      'YAML',
      'desk.yaml',
      (word: string, file: string) => `name: desk
blocks:
  - { id: pay, type: Shell, inputs: { command: "echo ${word} >> ${file}" } }
  - { id: tell, type: EchoBlock, depends_on: [pay], inputs: { message: "${word}" } }
  - { id: mail, type: Shell, depends_on: [tell], inputs: { command: "echo mail ${word} >> ${file}" } }
`,
    ],
    [
      'DOT',
      'desk.dot',
      (word: string, file: string) => `digraph desk { graph [goal="g"] start [shape=Mdiamond] exit [shape=Msquare]
pay [shape=parallelogram, tool_command="echo ${word} >> ${file}"]
mail [shape=parallelogram, tool_command="echo mail ${word} >> ${file}"]
start -> pay -> mail -> exit }
`,
    ],
  ])('EX1 a workflow in %s whose commands act: arms with other commands start none', async (_, file, text) => {
    const cwd = join(folder, `files-${(opened += 1)}`);
    const acted = join(cwd, 'acted');
    const acts = (): number => (existsSync(acted) ? readFileSync(acted, 'utf8').split('\n').length - 1 : 0);
    mkdirSync(cwd);
    writeFileSync(join(cwd, file), text('paid', acted));
    writeFileSync(join(cwd, `other-${file}`), text('refunded', acted));
    const url = new URL(await open());
    vi.stubEnv('CAIRN_STORE_PASSWORD', decodeURIComponent(url.password));
    url.password = '';
    const app = await openApp({ cwd, storeUrl: url.href });
    const count = scale(3, 75);
    for (let item = 0; item < count; item += 1) await perform(startRun, app, { file, runId: `r${item}` });
    expect(acts()).toBe(2 * count);
    const { graph } = await app.loadGraph(file);
    const { graph: other } = await app.loadGraph(`other-${file}`);
    const results = await compare({ graph, engine: app.engine }, { other: { graph: other } }, 'mail');
    expect(acts()).toBe(2 * count);
    expect(results[0]?.baseline).toEqual({ equal: count });
    expect(results[0]?.arms['other']?.verdicts).toEqual({ 'would act': count });
    await app.close();
    vi.unstubAllEnvs();
  });

  test('EX1 random graphs, and other graphs on their inputs: no effect is applied', async () => {
    const store = openStore(await open());
    let compared = 0;
    for (const seed of seeds(6, 75)) compared += await compareRandom(seed, store);
    expect(compared).toBeGreaterThan(0);
    await store.close();
  });
});

/** @returns how many pairs were equal */
async function compareRandom(seed: number, store: Store): Promise<number> {
  const applied: string[] = [];
  const bench = createBench({ store });
  const oracle: CrashProcess['oracle'] = {
    apply: ({ place }) => void applied.push(place),
    entries: [],
    find: () => undefined,
    reconcile: () => ({ happened: false }),
  };
  const process: CrashProcess = { oracle, sleep: (delayMs) => bench.clock.sleep(delayMs) };
  const graphIn = (one: CrashCase): Graph => one.graph(process) as Graph;
  const plan = planRandomGraph(seed, { nodesMost: 6 });
  const own = randomGraphCase(plan);
  const graph = graphIn(own);
  const other = graphIn(randomGraphCase({ ...planRandomGraph(seed + 1_000, { nodesMost: 6 }), id: plan.id }));
  const engine = createEngine({ ...bench.options, findGraph: () => graph });
  const runId = `random-${seed}`;
  let result = await (await engine.start(graph, randomGraphInput, { runId })).result();
  for (let turn = 0; turn < 40 && result.status === 'paused'; turn += 1) {
    for (const wait of (await engine.inspect(runId)).waits) {
      const answer = wait.kind === 'doubt' ? 'fail' : own.answer?.(wait);
      if (wait.kind === 'signal') await engine.signal(runId, wait.name, mixNumber('signal', wait.name));
      else if (answer !== undefined) await engine.answer(runId, wait.waitId, answer, { stays: true });
    }
    await bench.clock.advance(100_000_000);
    result = await (await engine.resume(runId, { graph })).result();
  }
  if (result.status !== 'completed') return 0;
  applied.splice(0);
  const found = await experiment(
    { graph, engine },
    {
      name: `random-${seed}`,
      dataset: { runs: [runId] },
      arms: { same: {}, fresh: { resample: true }, other: { graph: other } },
      undeclared: 'run',
    },
  );
  expect([seed, applied]).toEqual([seed, []]);
  return verdictsOf(found)['equal'] ?? 0;
}
