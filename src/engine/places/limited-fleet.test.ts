/** Workers of one store whose runs and steps are under limits, killed and frozen in virtual time: everything ends, and limits are kept. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { edges, graphOf, node, testIds } from '../../../test/engine-kit.ts';
import { seeds } from '../../../test/support/scale.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { defineLimit } from '../../graph/limit.ts';
import type { Graph } from '../../graph/graph.ts';
import { createSeededRandom, type SeededRandom } from '../../ports/seeded-random.ts';
import type { Store } from '../../ports/store.ts';
import { createVirtualClock, type VirtualClock } from '../../ports/virtual-clock.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import type { Engine } from '../api.ts';
import { createEngine } from '../engine.ts';
import { createEngineWorker } from '../worker.ts';

const [perUserMost, providerMost, leaseMs, callMs] = [2, 4, 3_000, 300];
const perUser = defineLimit('fleet-user', { concurrency: perUserMost, per: ({ input }) => input['user'] });
const provider = defineLimit('fleet-provider', { concurrency: providerMost, requestsPerMinute: 6_000, burst: 10 });

const [runs, users, workers, harmMost] = [60, 8, 3, 12];
/** The longest without a run that ends: a frozen worker is awaited for its lease, and its places are looked after once a second. */
const patienceMs = 60_000;

interface Worker {
  readonly name: string;
  engine: Engine;
  graph: Graph;
  isDead: boolean;
  frozenUntilMs: number | undefined;
}

class Fleet {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #store: Store;
  readonly #workers: Worker[] = [];
  /** Calls in progress, by worker. */
  readonly #calls = new Map<Worker, number>();

  constructor(clock: VirtualClock, random: SeededRandom) {
    this.#clock = clock;
    this.#random = random;
    this.#store = createMemoryStore({ now: clock.now });
  }

  /** Calls take a while to the store and back. Those of a dead process are answered to nobody. */
  #storeOf<Part extends object>(part: Part, worker: Worker, sleep: (ms: number) => Promise<void>): Part {
    return new Proxy(part, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (name === 'limits') return this.#storeOf(member as object, worker, sleep);
        if (typeof member !== 'function') return member;
        if (name === 'watch') return member.bind(target) as unknown;
        return async (...args: unknown[]): Promise<unknown> => {
          await sleep(this.#random.integer(6));
          if (worker.isDead) return new Promise(() => {});
          const reply: unknown = await (member as (...given: unknown[]) => unknown).apply(target, args);
          await sleep(this.#random.integer(3));
          return reply;
        };
      },
    });
  }

  hire(): Worker {
    const name = `w${this.#workers.length}`;
    const worker = { name, isDead: false, frozenUntilMs: undefined } as Worker;
    const clock = this.#clock.openProcess(worker);
    const call = async (): Promise<void> => {
      this.#calls.set(worker, (this.#calls.get(worker) ?? 0) + 1);
      this.#count();
      await clock.sleep(callMs);
      this.#calls.set(worker, (this.#calls.get(worker) ?? 0) - 1);
    };
    const step = { effect: 'external', idempotent: true, limit: provider } as const;
    worker.graph = graphOf(
      'limited-fleet',
      [
        node('write', 'read', async (ctx) => {
          for (const part of ['a', 'b']) await ctx.step(part, step, call);
        }),
      ],
      edges('> write', 'write >'),
      { policies: { limit: [perUser] } },
    );
    worker.engine = createEngine({
      store: this.#storeOf(this.#store, worker, clock.sleep),
      blobs: createMemoryBlobs(),
      clock,
      leaseMs,
      findGraph: () => worker.graph,
      ids: { ...testIds(name), isWorkerDead: (id) => this.#workers.find((one) => one.name === id)?.isDead },
    });
    worker.engine.know(worker.graph);
    createEngineWorker({ engine: worker.engine, clock, concurrency: 8, pollMs: 200 });
    this.#workers.push(worker);
    return worker;
  }

  /** What a frozen or a dead process began before may be in progress still: its claims run out. */
  #count(): void {
    const isAwake = ({ isDead, frozenUntilMs = 0 }: Worker): boolean =>
      !isDead && frozenUntilMs + leaseMs < this.#clock.timeMs;
    const awake = [...this.#calls].filter(([worker]) => isAwake(worker));
    const calls = awake.reduce((sum, [, count]) => sum + count, 0);
    assert.ok(calls <= providerMost, `${calls} calls at once`);
  }

  async start(): Promise<void> {
    const { engine, graph } = this.hire();
    for (let no = 0; no < runs; no += 1) {
      const user = `u${no < runs / 2 ? 0 : no % users}`;
      const started = engine.start(graph, { user }, { runId: `r${no}`, detach: true });
      await this.#clock.advance(50);
      await started;
    }
    for (let count = 1; count < workers; count += 1) this.hire();
  }

  async countEnded(): Promise<number> {
    const query = { tenant: 'default', status: ['completed'] as const, limit: runs };
    return (await this.#store.listRuns(query)).rows.length;
  }

  /** Kills one, in whose place another comes, or freezes one for longer than its lease. */
  harm(): void {
    const worker = this.#random.pick(this.#workers.filter(({ isDead }) => !isDead));
    if (this.#random.chance(0.4)) worker.frozenUntilMs = this.#clock.timeMs + leaseMs * 1.5;
    else {
      worker.isDead = true;
      this.hire();
    }
  }

  end(): void {
    for (const worker of this.#workers) worker.isDead = true;
  }
}

test.each(seeds(6, 400))(
  'FL5 FL6 runs and steps under limits all end, whoever dies or freezes, seed %i',
  async (seed) => {
    const random = createSeededRandom(seed);
    const clock = createVirtualClock({ seed });
    const fleet = new Fleet(clock, random);
    await fleet.start();
    let harms = 0;
    for (let [ended, since] = [-1, clock.timeMs]; ended < runs;) {
      await clock.advance(100 + random.integer(200));
      const now = await fleet.countEnded();
      if (now !== ended) [ended, since] = [now, clock.timeMs];
      assert.ok(clock.timeMs - since < patienceMs, `stuck with ${ended} of ${runs}`);
      if (harms >= harmMost || !random.chance(0.4)) continue;
      harms += 1;
      fleet.harm();
    }
    fleet.end();
  },
);
