/**
 * Followers that lose their connection at any moment, while the run's process is killed and its store loses its newest checkpoints: each
 * event once and in order, and what a stream gave up to a cursor is the history there.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { END, type Graph } from '../../src/graph/graph.ts';
import { followRuns } from '../../src/history/read/follow-runs.ts';
import { followHistory, type FollowedEvent } from '../../src/history/read/follow.ts';
import type { Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, rowOf, type Bench } from '../engine-kit.ts';
import { scale, seeds } from '../support/scale.ts';
import { within } from '../support/awaited.ts';

interface Visits {
  /** Called at each visit; what it returns is awaited. */
  readonly at: (visit: number) => unknown;
  readonly laps: number;
}

/** A node that is visited many times. What it returns differs between processes, so a history that was lost does not come back. */
function loopOf(life: number, { at, laps }: Visits): Graph {
  const run = async ({ visit }: { readonly visit: number }): Promise<string> => {
    await at(visit);
    return `${life}.${visit}`;
  };
  const visits = ({ state }: { readonly state: { readonly outputs: Record<string, unknown> } }): number =>
    Number(String(state.outputs['a']).split('.', 2)[1]);
  return graphOf(
    'loop',
    [node('a', 'read', run, { maxVisits: 1e6 })],
    [
      ...edges('> a'),
      { from: 'a', to: 'a', condition: { text: 'again', evaluate: (scope) => visits(scope) < laps } },
      { from: 'a', to: END, condition: { text: 'done', evaluate: (scope) => visits(scope) >= laps } },
    ],
  );
}

/** Follows a run as a client does that is cut off again and again. */
class Follower {
  readonly seen: string[] = [];
  reconnects = 0;
  resets = 0;
  readonly #store: () => Store | undefined;
  readonly #bench: Bench;
  readonly #random: SeededRandom;

  constructor(bench: Bench, store: () => Store | undefined, random: SeededRandom) {
    this.#bench = bench;
    this.#store = store;
    this.#random = random;
  }

  async follow(): Promise<void> {
    for (;;) {
      const store = this.#store();
      await new Promise((resolve) => setImmediate(resolve));
      if (store === undefined) continue;
      try {
        if (await this.#connect(store)) return;
      } catch {
        // Its store was closed, or the run is not there yet.
      }
      this.reconnects += 1;
    }
  }

  /** @returns whether the stream came to its end */
  async #connect(store: Store): Promise<boolean> {
    const place = {
      store,
      blobs: this.#bench.options.blobs,
      tenant: 'default',
      pause: () => new Promise<void>((resolve) => setImmediate(resolve)),
    };
    const cut = new AbortController();
    const after = this.seen.at(-1);
    const isAbort = this.#random.chance(0.5);
    for await (const event of followHistory(place, 'r', {
      ...(after !== undefined && { after }),
      signal: cut.signal,
    })) {
      this.#take(event);
      if (!this.#random.chance(0.3)) continue;
      if (!isAbort) return false;
      cut.abort();
    }
    return !cut.signal.aborted;
  }

  #take(event: FollowedEvent): void {
    if (event.type === 'reset') {
      this.resets += 1;
      this.seen.length = event.from;
      return;
    }
    if (event.type !== 'checkpoint') throw new Error(`an event nobody asked for: ${event.type}`);
    // A gap or a repeat.
    if (event.seq !== this.seen.length) throw new Error(`seq ${event.seq} after ${this.seen.length - 1}`);
    this.seen.push(event.cursor);
  }
}

async function cursorsOf(store: Store, bench: Bench, until: 'end' | 'rest' = 'end'): Promise<readonly string[]> {
  const cursors: string[] = [];
  for await (const event of followHistory({ store, blobs: bench.options.blobs, tenant: 'default' }, 'r', { until }))
    if (event.type === 'checkpoint') cursors.push(event.cursor);
  return cursors;
}

/** One run: killed at a visit, its store set back to an earlier visit, and finished by another process, before the eyes of three followers. */
async function trial(seed: number): Promise<{ readonly reconnects: number; readonly resets: number }> {
  const random = createSeededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), 'cairn-reconnects-'));
  const file = join(folder, 'runs.db');
  const laps = scale(20, 200);
  const saved = 1 + random.integer(laps - 2);
  const killed = saved + random.integer(laps - saved);
  const isLost = random.chance(0.7);
  let store: Store | undefined = openSqliteStore({ path: file });
  const bench = createBench({ store });
  const died = Promise.withResolvers<void>();
  const at = (visit: number): unknown => {
    if (visit === saved) copyOf(file, join(folder, 'saved.db'));
    if (visit < killed) return random.chance(0.3) ? new Promise((resolve) => setImmediate(resolve)) : undefined;
    died.resolve();
    return new Promise(() => {});
  };
  try {
    const followers = [1, 2, 3].map(() => new Follower(bench, () => store, random.fork()));
    const ends = followers.map((follower) => follower.follow());
    await bench.engine.start(loopOf(1, { at, laps }), {}, { runId: 'r' });
    await within('the kill', died.promise);
    const before = store;
    store = undefined;
    await before.close();
    if (isLost) {
      for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
      copyFileSync(join(folder, 'saved.db'), file);
    }
    store = openSqliteStore({ path: file });
    const next = { ...bench, store, options: { ...bench.options, store } };
    const { status } = await resumeToRest(afterCrash(next), 'r', loopOf(2, { at: () => undefined, laps }));
    expect(status).toBe('completed');
    await within(`seed ${seed}: the followers`, Promise.all(ends));
    const cursors = await cursorsOf(store, bench);
    for (const { seen } of followers) expect([seed, seen]).toEqual([seed, cursors]);
    const sum = (name: 'reconnects' | 'resets'): number => followers.reduce((total, one) => total + one[name], 0);
    return { reconnects: sum('reconnects'), resets: sum('resets') };
  } finally {
    await store?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What is on the disk by now, as a machine that loses its power leaves it. */
function copyOf(file: string, to: string): void {
  const reader = new DatabaseSync(file);
  reader.exec(`VACUUM INTO '${to}'`);
  reader.close();
}

test('each event comes once and in order over cut connections, kills, and a store that lost its newest checkpoints', async () => {
  let reconnects = 0;
  let resets = 0;
  for (const seed of seeds(20, 1000)) {
    const counts = await trial(seed);
    reconnects += counts.reconnects;
    resets += counts.resets;
  }
  expect(reconnects).toBeGreaterThan(scale(200, 100_000));
  expect(resets).toBeGreaterThan(scale(10, 500));
}, 3_600_000);

/** A run that asks when it has passed its nodes, and the same run as it went on, to the same seq, after its store had lost what came after its first checkpoint. */
async function replacedRun(): Promise<{ readonly first: Bench; readonly second: Bench; readonly head: number }> {
  const chainOf = (life: string, nodes: number): Graph => {
    const ids = Array.from({ length: nodes }, (_, index) => `n${index}`);
    const asks = node('ask', 'read', (ctx) => ctx.ask({ prompt: 'Go on?' }));
    const links = edges('> n0', ...ids.slice(1).map((id, index) => `n${index} > ${id}`));
    const end = edges(...(life === 'first' ? [`${ids.at(-1)} > ask`, 'ask >'] : [`${ids.at(-1)} >`]));
    const work = ids.map((id) => node(id, 'read', () => `${life} ${id}`));
    return graphOf('chain', life === 'first' ? [...work, asks] : work, [...links, ...end]);
  };
  let lives = 0;
  const benchOf = async (graph: Graph): Promise<Bench> => {
    const bench = createBench();
    // Each history has times of its own.
    await bench.clock.advance((lives += 1));
    const handle = await bench.engine.start(graph, {}, { runId: 'r' });
    await within('the run', handle.result());
    return bench;
  };
  const first = await benchOf(chainOf('first', 4));
  const { head } = await rowOf(first, 'r');
  let second = first;
  for (let nodes = 1; nodes < 10 && (second === first || (await rowOf(second, 'r')).head < head); nodes += 1)
    second = await benchOf(chainOf('second', nodes));
  expect([(await rowOf(first, 'r')).status, (await rowOf(second, 'r')).status]).toEqual(['paused', 'completed']);
  expect((await rowOf(second, 'r')).head).toBe(head);
  return { first, second, head };
}

test('a follower that rests is told when the run has another history of the same length by now', async () => {
  const { first, second, head } = await replacedRun();
  let pauses = 0;
  const store = (): Store => (pauses < 3 ? first : second).store;
  const changing = new Proxy(first.store, { get: (_, name) => Reflect.get(store(), name) as unknown });
  const pause = async (): Promise<void> => void (pauses += 1);
  const events: string[] = [];
  for await (const event of followHistory(
    { store: changing, blobs: first.options.blobs, tenant: 'default', pause },
    'r',
  ))
    events.push(event.type);
  const once = Array.from({ length: head + 1 }, () => 'checkpoint');
  expect(events).toEqual([...once, 'reset', ...once]);
});

test.each(['one run', 'one run after a cut', 'all runs'])(
  'who follows %s is given one history at last, at whichever call the store has another one',
  async (what) => {
    const { first, second } = await replacedRun();
    const [before, cursors] = [await cursorsOf(first.store, first, 'rest'), await cursorsOf(second.store, second)];
    for (let replacedAt = 1; replacedAt <= 20; replacedAt += 1) {
      let calls = 0;
      let looks = 0;
      const changing = new Proxy(first.store, {
        get: (_, name) => {
          if (name === 'readRun' || name === 'listRuns' || name === 'readCheckpoints') calls += 1;
          return Reflect.get(calls < replacedAt ? first.store : second.store, name) as unknown;
        },
      });
      const over = new AbortController();
      const pause = async (): Promise<void> => {
        // The stream of all runs has no end of its own.
        if (calls >= replacedAt && (looks += 1) > 3 && what === 'all runs') over.abort();
      };
      const place = { store: changing, blobs: first.options.blobs, tenant: 'default', pause, now: () => 0 };
      const seen = what === 'one run after a cut' ? before.slice(0, 3) : [];
      const after = seen.at(-1);
      const take = (event: FollowedEvent | { readonly type: 'run' }): void => {
        if (event.type === 'reset') seen.length = event.from;
        if (event.type === 'checkpoint') seen.push(event.cursor);
      };
      if (what === 'all runs') for await (const { event } of followRuns(place, { signal: over.signal })) take(event);
      else for await (const event of followHistory(place, 'r', after === undefined ? {} : { after })) take(event);
      expect([replacedAt, seen]).toEqual([replacedAt, cursors]);
    }
  },
);
