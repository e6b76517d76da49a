/** The crash kit itself: what it takes, and what it says when something is wrong. */
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  AgentGraph,
  END,
  START,
  compileGraph,
  functionNode,
  humanNode,
  mapNode,
  subgraphNode,
  workflow,
  type Graph,
  type NodeDraft,
} from '../../index.ts';
import type { Store } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import type { CrashCase, CrashKitOptions, CrashPoint, CrashProcess } from './process-life.ts';
import { crashEverywhere, crashFree } from './crash-everywhere.ts';

const open: CrashKitOptions['open'] = (now) => ({ store: createMemoryStore({ now }) });

/** Nodes one after another. */
function chain(nodes: Readonly<Record<string, NodeDraft>>): Graph {
  const stops = [START, ...Object.keys(nodes), END];
  return compileGraph({
    id: 'chain',
    nodes: Object.entries(nodes).map(([id, node]) => ({ ...node, id })),
    edges: stops.slice(1).map((to, index) => ({ from: stops[index] ?? '', to })),
  });
}

const pay = (process: CrashProcess, options: Parameters<typeof functionNode>[1]): NodeDraft =>
  functionNode((ctx) => {
    process.oracle.apply({ key: ctx.idempotencyKey, place: 'pay', promise: 'once', output: 'paid' });
    return 'paid';
  }, options);

/** All that the kit says of a case. */
async function saidOf(given: Omit<CrashCase, 'input'>, options: Partial<CrashKitOptions> = {}): Promise<string> {
  const { faults } = await crashEverywhere({ input: {}, ...given }, { open, ...options });
  return faults.flatMap((fault) => fault.faults).join('\n');
}

test('P1 the kit needs no blob store of the user, however many nodes a graph has', async () => {
  const nodes = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`n${index}`, functionNode(() => 'x'.repeat(20_000))]),
  );
  const report = await crashEverywhere({ graph: () => chain(nodes), input: {} }, { open });
  expect(report.faults).toEqual([]);
  expect(report.trials).toBeGreaterThan(12);
});

test('P1 a workflow is killed as it is written, without being compiled first, and so is one that calls another', async () => {
  const part = workflow('part')
    .input(z.object({ n: z.number() }))
    .step('double', ({ input }) => input.n * 2)
    .returns(({ state }) => state.artifacts.double);
  const whole = workflow('whole')
    .input(z.object({}))
    .step('called', async (ctx) => (await ctx.run(part, { n: 1 })).state.outputs['returns'])
    .step('compiled', async (ctx) => (await ctx.run(part.compile(), { n: 2 }, { name: 'c' })).state.outputs['returns'])
    .then('node', subgraphNode(part, { input: () => ({ n: 3 }) }))
    .then('each', mapNode({ over: () => [{ n: 4 }], each: part }))
    .returns(({ state: { outputs } }) => [outputs['called'], outputs['compiled'], outputs['node'], outputs['each']]);
  const report = await crashEverywhere({ graph: () => whole, input: {} }, { open });
  expect(report.faults).toEqual([]);
  expect(report.trials).toBeGreaterThan(8);
  const { output } = await whole.compile().invoke({});
  expect(output).toEqual([2, 4, 6, [8]]);
  expect(await saidOf({ graph: () => ({}) as Graph }).catch(String)).toMatch(/CONFIG_INVALID|it gives no graph/);
});

test('P2 an effect that does not go through the oracle is a point to be killed at, and happens once', async () => {
  let happened = 0;
  const nodes = () => ({ pay: functionNode(() => (happened += 1) && 'paid', { effectClass: 'external' }) });
  const report = await crashEverywhere({ graph: () => chain(nodes()), input: {} }, { open, choose: killAfterCall });
  expect(report).toMatchObject({ trials: 1, faults: [] });
  // Once without a crash, and once in the trial: the resumed run was told that it happened.
  expect(happened).toBe(2);
});

test('X1 a run sends the same keys in each trial, also when it is killed before it was begun', async () => {
  const keys = new Set<string>();
  const send = ({ idempotencyKey: key }: { readonly idempotencyKey: string }): string => {
    keys.add(key);
    return key;
  };
  const nodes = () => ({
    pay: functionNode(send, { effectClass: 'external' }),
    step: functionNode((ctx) => ctx.step('s', { effect: 'write' }, send)),
  });
  const report = await crashEverywhere({ graph: () => chain(nodes()), input: {} }, { open });
  expect(report.trials).toBeGreaterThan(8);
  expect(report.faults).toEqual([]);
  expect(keys.size).toBe(2);
});

const killAfterCall = (points: readonly CrashPoint[]): readonly (readonly CrashPoint[])[] =>
  points.filter(({ kind, when }) => kind === 'call' && when === 'after').map((point) => [point]);

test('P2 an effect that is sent twice is said, with how often was expected', async () => {
  const graph = (process: CrashProcess): Graph =>
    chain({ pay: pay(process, { effectClass: 'external', idempotent: true }) });
  expect(await saidOf({ graph })).toContain('pay (once) happened 2 times under one key; expected: once');
});

test('P1 another final state is said, with the one that was expected', async () => {
  let builds = 0;
  const graph = (): Graph => {
    const build = (builds += 1);
    return chain({ a: functionNode(() => 1), b: functionNode(() => (build < 3 ? 'first' : 'other')) });
  };
  const said = await saidOf({ graph });
  expect(said).toMatch(/the final state has ….*"b":"other".*…; expected: ….*"b":"first"/su);
});

test('P1 a run that fails after a crash is said with its error, and the status that was expected', async () => {
  let builds = 0;
  const graph = (): Graph => {
    const build = (builds += 1);
    const fail = (): string => {
      throw new Error('worn out');
    };
    return chain({ a: functionNode(() => 1), b: functionNode(() => (build < 3 ? 'fine' : fail())) });
  };
  expect(await saidOf({ graph })).toMatch(/the run is failed \(\w+: .*worn out.*\); expected: completed/u);
});

test('P6 a run that fails although nothing kills it is a fault, unless it is meant to fail', async () => {
  const fail = (): string => {
    throw new Error('worn out');
  };
  const graph = (): Graph => chain({ a: functionNode(fail) });
  expect(await saidOf({ graph })).toMatch(
    /^without a crash, the run is failed \(.*worn out.*\); expected: it completes/u,
  );
  expect(await saidOf({ graph, mayFail: true })).toBe('');
});

test('P6 a question that the case does not answer is named, with its node', async () => {
  const graph = (): Graph => chain({ approve: humanNode({ prompt: 'Pay?', choices: ['yes'] }) });
  const refused = saidOf({ graph });
  await expect(refused).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  await expect(refused).rejects.toThrow('nothing answers: approve asks "Pay?"');
});

test('P6 a difference in one node says nothing of nodes that failed or were skipped, if there are none', async () => {
  let builds = 0;
  const graph = (): Graph => chain({ count: functionNode(() => (builds += 1)) });
  const said = await saidOf({ graph });
  expect(said).toContain('"count":2');
  expect(said).not.toMatch(/failed|skipped/u);
});

test('P1 what differs from run to run is not compared if it is named, or is a date of HTTP', async () => {
  let reads = 0;
  const read = (): object => ({ date: new Date((reads += 1_000) * 1_000).toUTCString(), etag: reads, body: 'fine' });
  const graph = (): Graph =>
    chain({ fetch: functionNode(read, { effectClass: 'read' }), after: functionNode(() => 1) });
  expect(await saidOf({ graph })).toMatch(/the final state has ….*"etag"/su);
  expect(await saidOf({ graph, varies: ['outputs.fetch.etag'] })).toBe('');
  expect(await saidOf({ graph, varies: ['outputs.*.etag'] })).toBe('');
});

test('P1 what the run left outside is compared', async () => {
  let left: string[] = [];
  const graph = (): Graph => chain({ a: functionNode(() => void left.push('a')), b: functionNode(() => 1) });
  const openAnew: CrashKitOptions['open'] = (now) => {
    left = [];
    return open(now, () => {});
  };
  const said = await saidOf({ graph, inspect: () => left }, { open: openAnew });
  expect(said).toContain('outside, the run left …["a","a"]…; expected: …["a"]…');
});

test('E6 time stands still while a function waits for something real, and goes on for one that waits for its timeout', async () => {
  const slow = functionNode(() => setTimeout(30, 'real'), { effectClass: 'read', timeoutMs: 10 });
  const hung = functionNode(
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', reject);
      }),
    {
      effectClass: 'read',
      timeoutMs: 10,
    },
  );
  const graph = (): Graph =>
    new AgentGraph({}, { id: 'times' })
      .addNode('slow', slow)
      .addNode('hung', hung, { onFailure: 'continue' })
      .addEdge(START, 'slow')
      .addEdge(START, 'hung')
      .addEdge('slow', END)
      .addEdge('hung', END)
      .toGraph();
  const { summary } = await crashFree({ graph, input: {} }, { open });
  expect(summary.status).toBe('completed');
  expect(summary.state).toMatch(/"slow":"real".*failed nodes hung/su);
});

/** A store as a user writes one: a class, whose leases are measured with the machine's clock. */
class UserStore {
  readonly #inner = createMemoryStore();
  readonly name = 'mine';

  static open(): Store {
    const store = new UserStore();
    return new Proxy(store.#inner, {
      get: (inner, name) => {
        if (name === 'name') return store.name;
        const member: unknown = Reflect.get(inner, name);
        return typeof member === 'function' ? (...args: unknown[]) => store.#call(member, args) : member;
      },
    });
  }

  /** As over a network: each call takes a moment. */
  async #call(member: object, args: readonly unknown[]): Promise<unknown> {
    await setTimeout(0);
    return Reflect.apply(member as (...given: unknown[]) => unknown, this.#inner, args);
  }
}

test('P1 the kit runs on a store that a user wrote, on a clock and a network of its own', async () => {
  const graph = (process: CrashProcess): Graph =>
    chain({
      ask: functionNode((ctx) => ctx.ask({ prompt: 'Go on?' }), { effectClass: 'human' }),
      pay: pay(process, { effectClass: 'external' }),
    });
  const report = await crashEverywhere(
    { graph, input: {}, answer: () => 'yes' },
    { open: () => ({ store: UserStore.open() }) },
  );
  expect(report.faults).toEqual([]);
  expect(report.trials).toBeGreaterThan(10);
});

test('P1 timers of days and months end like any other', async () => {
  const waits = functionNode(
    async (ctx) => {
      await ctx.sleepUntil(ctx.now() + 3 * 86_400_000);
      const begun = ctx.now();
      await ctx.sleepUntil(begun + 60 * 86_400_000, 'again');
      return ctx.now() - begun >= 60 * 86_400_000;
    },
    { effectClass: 'read' },
  );
  expect(await saidOf({ graph: (process) => chain({ waits, pay: pay(process, { effectClass: 'external' }) }) })).toBe(
    '',
  );
});
