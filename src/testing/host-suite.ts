/** The test suite that every host must pass (HO1 to HO8): whatever calls `engine.advance`, each run ends, and each effect happens once. */
import assert from 'node:assert/strict';
import { createDefaultEngine } from '../app/default-engine.ts';
import type { Engine, RunWaker } from '../engine/api.ts';
import { CairnError } from '../errors.ts';
import { compileGraph } from '../graph/compile/compile-graph.ts';
import type { NodeContext, EffectClass } from '../graph/contracts/node-contract.ts';
import { END, START, type Graph, type GraphDefinition, type NodeDefinition } from '../graph/graph.ts';
import { defineLimit } from '../graph/limit.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

/** What a host serves: compiled graphs of one engine. */
export interface HostedRuns {
  readonly graphs: readonly { readonly graph: Graph; readonly engine: Engine }[];
  /** How long a slice is to be, in ms. A host without that option has its own. */
  readonly forMs: number;
}

/** A host to be tested. Its engine's `dispatchBy` has been called, if it is to be woken. */
export interface HostUnderTest extends RunWaker {
  /** Does what the host does once a minute, now. */
  sweep(): Promise<void>;
  /** Loses all that the host knows of runs. Absent if it keeps nothing. */
  forget?(): Promise<void>;
  stop(): Promise<void>;
}

export interface HostSuiteOptions {
  /** Registers one test; the `test` function of your test runner. */
  readonly test: (title: string, run: () => Promise<void>) => unknown;
  /** Makes a host. It is stopped when the test has ended. */
  readonly create: (runs: HostedRuns) => HostUnderTest | Promise<HostUnderTest>;
  /** Makes a host with a limit of its own, which must refuse what may take longer (HO2). Absent if it has none. */
  readonly createLimited?: (runs: HostedRuns, maxMs: number) => unknown;
  /** Whether each wake arrives, and once. Then no sweep is made, and calls are counted. Default true. */
  readonly isReliable?: boolean;
  /** Runs of the test with many runs. Default 100. */
  readonly runs?: number;
}

/** Registers the tests. Titles begin with the rule they prove. */
export function hostSuite(options: HostSuiteOptions): void {
  refuseUnknownKeys('hostSuite', options, ['test', 'create', 'createLimited', 'isReliable', 'runs']);
  for (const [title, run] of Object.entries(tests)) {
    options.test(title, async () => {
      const bench = new Bench(options);
      try {
        await run(bench);
      } finally {
        await bench.close();
      }
    });
  }
  const { createLimited } = options;
  if (createLimited === undefined) return;
  options.test('HO2 a graph whose effect may take longer than the host is refused', async () => {
    const bench = new Bench(options);
    try {
      const graph = lineOf('long', [node('pay', 'external', () => 1, { timeoutMs: 60_000 })]);
      const runs = { graphs: [{ graph, engine: bench.engine }], forMs: 1_000 };
      const isRefused = (error: unknown): boolean => CairnError.is(error, 'HOST_TOO_SHORT');
      await assert.rejects(async () => createLimited(runs, 50_000), isRefused);
      await createLimited(runs, 90_000);
    } finally {
      await bench.close();
    }
  });
}

/** Longer than anything healthy takes on a busy machine. */
const patienceMs = 60_000;
const lookEveryMs = 20;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Three engines over one store: two that the host's calls go to in turn, as to two processes, and one that never advances anything. */
class Bench {
  readonly engine: Engine;
  /** How often each run was advanced, and each effect happened. */
  readonly ticks = new Map<string, number>();
  readonly effects = new Map<string, number>();
  readonly options: HostSuiteOptions;
  readonly #second: Engine;
  readonly #outside: Engine;
  /** Ids of waits that were answered. */
  readonly #replied = new Set<string>();
  #host: HostUnderTest | undefined;

  constructor(options: HostSuiteOptions) {
    this.options = options;
    // No run ends because this machine is busy, and a hand-over does not wait for the lease of a live process.
    const first = createDefaultEngine({ leaseMs: 10_000 });
    const { store, blobs } = first.ports;
    this.#second = createDefaultEngine({ leaseMs: 10_000, store, blobs });
    this.#outside = createDefaultEngine({ store, blobs, host: { wake: async (...wake) => this.#host?.wake(...wake) } });
    this.#second.dispatchBy(undefined);
    let calls = 0;
    this.engine = new Proxy(first, {
      get: (engine, name) => {
        if (name !== 'advance') {
          const member: unknown = Reflect.get(engine, name, engine);
          return typeof member === 'function' ? member.bind(engine) : member;
        }
        return (...[runId, how]: Parameters<Engine['advance']>) => {
          count(this.ticks, runId);
          return ((calls += 1) % 2 === 0 ? engine : this.#second).advance(runId, how);
        };
      },
    });
  }

  get host(): HostUnderTest {
    assert.ok(this.#host);
    return this.#host;
  }

  /** Makes the host over these graphs. */
  async serve(graphs: readonly Graph[], forMs = 20_000): Promise<void> {
    for (const graph of graphs) for (const engine of [this.engine, this.#second, this.#outside]) engine.know(graph);
    this.#host = await this.options.create({ graphs: graphs.map((graph) => ({ graph, engine: this.engine })), forMs });
  }

  /** Starts a run as another process does, which advances none. */
  async start(graph: Graph): Promise<string> {
    return (await this.#outside.start(graph, {}, { detach: true })).runId;
  }

  /** Answers each open question and sends each signal that is awaited, once. @param wakesHost - whether the host is woken */
  async reply(runIds: readonly string[], wakesHost = true): Promise<void> {
    const { engine } = this;
    const { store, tenant } = engine.ports;
    const by = wakesHost ? this.#outside : this.#silent();
    for (const runId of runIds) {
      const { rows } = await store.listWaits({ tenant, runId, kinds: ['question', 'signal', 'doubt'] });
      assert.ok(
        rows.every(({ kind }) => kind !== 'doubt'),
        `an effect of run ${runId} is in doubt`,
      );
      for (const { waitId, kind } of rows) {
        if (this.#replied.has(waitId)) continue;
        this.#replied.add(waitId);
        if (kind === 'question') await by.answer(runId, waitId, 'yes');
        else await by.signal(runId, 'go', 'now', { id: `go of ${runId}` });
      }
    }
  }

  #silent(): Engine {
    const { store, blobs } = this.engine.ports;
    return createDefaultEngine({ store, blobs, wakes: false });
  }

  /** Waits until all runs have this status; sweeps meanwhile if wakes may be lost. */
  async settled(runIds: readonly string[], status: string, look?: () => Promise<void>): Promise<void> {
    const end = Date.now() + patienceMs;
    let isSwept = this.options.isReliable !== false;
    for (;;) {
      const found = await Promise.all(runIds.map((runId) => this.statusOf(runId)));
      if (found.every((each) => each === status)) return;
      assert.ok(Date.now() < end, `awaited in vain: runs that are ${status}; they are ${found.join(', ')}`);
      await look?.();
      await pause(lookEveryMs);
      if (this.options.isReliable === false) isSwept = !isSwept;
      if (!isSwept) await this.host.sweep();
    }
  }

  async statusOf(runId: string): Promise<string | undefined> {
    const { store, tenant } = this.engine.ports;
    return (await store.readRun({ tenant, runId }))?.status;
  }

  /** Each of these happened once, and every history is whole. */
  async assertOnce(places: readonly string[]): Promise<void> {
    assert.deepEqual(
      [...this.effects].filter(([, times]) => times !== 1),
      [],
    );
    assert.deepEqual([...this.effects.keys()].toSorted(), [...places].toSorted());
    assert.equal((await this.engine.history.verify()).isValid, true);
  }

  async close(): Promise<void> {
    await this.#host?.stop();
    await Promise.all([this.engine, this.#second, this.#outside].map((engine) => engine.close()));
    await this.engine.ports.store.close();
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function node(
  id: string,
  effect: EffectClass,
  run: (ctx: NodeContext) => unknown,
  more: Partial<NodeDefinition> = {},
): NodeDefinition {
  return { id, type: 'function', effect, implementation: { run }, ...more };
}

/** A graph of nodes one after another. */
function lineOf(id: string, nodes: readonly NodeDefinition[], policies: GraphDefinition['policies'] = {}): Graph {
  const places = [START, ...nodes.map((each) => each.id), END];
  const edges = places.slice(1).map((to, index) => ({ from: places[index] as string, to }));
  return compileGraph({ id, nodes, edges, policies });
}

/** An effect: it takes a while, and is counted when it has happened. */
function effectOf(
  { effects }: Bench,
  name: string,
  forMs = 1,
): (ctx: { readonly idempotencyKey: string }) => Promise<string> {
  return async ({ idempotencyKey }) => {
    await pause(forMs);
    count(effects, `${name} ${idempotencyKey}`);
    return name;
  };
}

/** A timer, a question, a signal, a retry, a child run, and effects of each kind. */
function everything(bench: Bench): Graph {
  const tries = new Set<string>();
  const child = lineOf('child', [node('in child', 'write', effectOf(bench, 'child'))]);
  return lineOf('everything', [
    node('charge', 'external', effectOf(bench, 'charge')),
    node(
      'flaky',
      'read',
      ({ idempotencyKey }) => {
        if (tries.has(idempotencyKey)) return 'done';
        tries.add(idempotencyKey);
        throw new Error('not yet');
      },
      { retry: { attempts: 3, delayMs: 30, backoff: 'fixed' } },
    ),
    node('nap', 'read', (ctx) => ctx.sleepUntil(ctx.now() + 30)),
    node('nest', 'read', async (ctx) => (await ctx.run(child, {})).status),
    node('note', 'write', effectOf(bench, 'note'), { idempotent: true }),
    node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Go on?' })),
    node('await', 'read', (ctx) => ctx.receive('go')),
    node('ship', 'external', effectOf(bench, 'ship')),
  ]);
}

const asking = (bench: Bench): Graph =>
  lineOf('asking', [
    node('before', 'write', effectOf(bench, 'before')),
    node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Go on?' })),
    node('after', 'external', effectOf(bench, 'after')),
  ]);

const tests: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  'HO8 many runs of all kinds end, each effect has happened once, and few calls were made': async (bench) => {
    const { runs = 100, isReliable = true } = bench.options;
    const graph = everything(bench);
    await bench.serve([graph]);
    const runIds: string[] = [];
    for (let index = 0; index < runs; index += 1) runIds.push(await bench.start(graph));
    await bench.settled(runIds, 'completed', () => bench.reply(runIds));
    const perRun = 4;
    assert.equal(bench.effects.size, runs * perRun);
    await bench.assertOnce([...bench.effects.keys()]);
    // Two, and one for each of a timer, a retry, a question and a signal; a host that calls busily is right in all else.
    const most = Math.max(0, ...bench.ticks.values());
    if (isReliable) assert.ok(most <= 6, `a run was advanced ${most} times`);
  },
  'HO1 steps of a function, and children side by side, are handed over, and each happens once': async (bench) => {
    const names = Array.from({ length: 20 }, (_, index) => `step ${index}`);
    const child = lineOf('part', [
      node('one', 'write', effectOf(bench, 'one', 20)),
      node('two', 'external', effectOf(bench, 'two', 20)),
    ]);
    const graph = lineOf('long', [
      node('steps', 'read', async (ctx) => {
        for (const name of names) await ctx.step(name, { effect: 'external' }, effectOf(bench, name, 10));
        return names.length;
      }),
      node('parts', 'read', async (ctx) => {
        await Promise.all([1, 2, 3].map((index) => ctx.run(child, {}, { name: `part ${index}` })));
        return 'done';
      }),
    ]);
    await bench.serve([graph], 40);
    const runId = await bench.start(graph);
    await bench.settled([runId], 'completed');
    assert.equal(bench.effects.size, 26);
    await bench.assertOnce([...bench.effects.keys()]);
  },
  'HO2 an effect that takes longer than a slice happens once, and nobody is asked': async (bench) => {
    const graph = lineOf('slow', [
      node('pay', 'external', effectOf(bench, 'pay', 200)),
      node('tell', 'write', effectOf(bench, 'tell')),
    ]);
    await bench.serve([graph], 30);
    const runId = await bench.start(graph);
    await bench.settled([runId], 'completed', () => bench.reply([runId]));
    assert.equal(bench.effects.size, 2);
    await bench.assertOnce([...bench.effects.keys()]);
  },
  'HO4 a run that is woken many times, and one that there is not, do no harm': async (bench) => {
    const graph = lineOf('one', [node('pay', 'external', effectOf(bench, 'pay', 30))]);
    await bench.serve([graph]);
    const runId = await bench.start(graph);
    const wakes = [runId, 'none', runId, runId, 'none', runId].map((id) => bench.host.wake(id, 0).catch(() => {}));
    await Promise.all(wakes);
    await bench.settled([runId], 'completed');
    await bench.host.wake(runId, 0).catch(() => {});
    const next = await bench.start(graph);
    await bench.settled([next], 'completed');
    assert.equal(bench.effects.size, 2);
    await bench.assertOnce([...bench.effects.keys()]);
  },
  'HO5 an answer given by another process alone lets the run go on': async (bench) => {
    const graph = asking(bench);
    await bench.serve([graph]);
    const runIds = [await bench.start(graph), await bench.start(graph)];
    await bench.settled(runIds, 'paused');
    await bench.reply(runIds);
    await bench.settled(runIds, 'completed');
    await bench.assertOnce([...bench.effects.keys()]);
  },
  'FL6 runs that stand in line for a place are called again when one is free, and no more than the limit are advanced':
    async (bench) => {
      let [now, most] = [0, 0];
      const pay = effectOf(bench, 'pay', 10);
      const counted = async (ctx: { readonly idempotencyKey: string }): Promise<string> => {
        most = Math.max(most, (now += 1));
        const paid = await pay(ctx);
        now -= 1;
        return paid;
      };
      const limit = defineLimit('hosted', { concurrency: 2 });
      const nodes = [node('pay', 'external', counted), node('ship', 'external', effectOf(bench, 'ship'))];
      const graph = lineOf('limited', nodes, { limit });
      await bench.serve([graph]);
      const runIds: string[] = [];
      for (let index = 0; index < 8; index += 1) runIds.push(await bench.start(graph));
      // One of the two processes of this suite wakes nobody, so that its wakes count as lost.
      await bench.settled(runIds, 'completed', () => bench.host.sweep());
      assert.equal(bench.effects.size, 16);
      assert.ok(most <= 2, `${most} were advanced at once`);
      await bench.assertOnce([...bench.effects.keys()]);
    },
  'HO6 what the host has lost, and what it was never told, is found by its sweep': async (bench) => {
    const graph = asking(bench);
    await bench.serve([graph]);
    const runIds = [await bench.start(graph), await bench.start(graph), await bench.start(graph)];
    await bench.settled(runIds, 'paused');
    await bench.host.forget?.();
    await bench.reply(runIds, false);
    await bench.host.sweep();
    await bench.settled(runIds, 'completed');
    assert.equal(bench.effects.size, 6);
    await bench.assertOnce([...bench.effects.keys()]);
  },
};
