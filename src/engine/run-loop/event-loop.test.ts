/** Whatever the nodes of a run are, the rest of the process has its turn: a timer of 20 ms fires while the run goes on. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest } from '../../../test/engine-kit.ts';
import { systemClock } from '../../app/process/system-clock.ts';
import type { EffectClass, NodeContext } from '../../graph/contracts/node-contract.ts';
import { END, type Graph } from '../../graph/graph.ts';
import { mapNode } from '../../nodes/builders.ts';
import type { Store } from '../../ports/store.ts';
import { Pace } from '../live-run/pace.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import { openSqliteStore } from '../../stores/sqlite/index.ts';

/** Until no microtask is left. */
const nothingPending = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const folder = mkdtempSync(join(tmpdir(), 'cairn-event-loop-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a run does at most if no timer ends it: seconds of work, so that a timer of 20 ms has to have fired long before. */
const bound = 20_000;

interface Ended {
  /** Whether the timer has fired. The first call starts it. */
  readonly hasFired: () => boolean;
}

/** A node that is visited until the timer fires. What it returns grows, so its commits become large. */
function visited(effect: EffectClass, isAsync: boolean, { hasFired }: Ended): Graph {
  let count = 0;
  const work = (): number => (count += 1);
  const run = isAsync ? async (): Promise<number> => work() : work;
  const goesOn = (): boolean => !hasFired() && count < bound;
  return graphOf(
    'visited',
    [node('a', effect, run)],
    [
      ...edges('> a'),
      { from: 'a', to: 'a', condition: { text: 'again', evaluate: goesOn } },
      { from: 'a', to: END, condition: { text: 'done', evaluate: () => !goesOn() } },
    ],
    { policies: { maxVisits: 2 * bound } },
  );
}

/** A node that makes a call again and again until the timer fires. */
function calling({ hasFired }: Ended, call: (ctx: NodeContext, index: number) => Promise<unknown>): Graph {
  const run = async (ctx: NodeContext): Promise<void> => {
    for (let index = 0; index < bound && !hasFired(); index += 1) await call(ctx, index);
  };
  return graphOf('calling', [node('a', 'read', run)], edges('> a', 'a >'));
}

/** A map whose items do nothing once the timer has fired. */
function mapping(effectClass: EffectClass, begun: { count: number }, { hasFired }: Ended): Graph {
  const each = (): void => {
    if (!hasFired()) begun.count += 1;
  };
  const over = (): readonly unknown[] => Array.from({ length: 5_000 }, (_, index) => index);
  return graphOf('mapping', [{ ...mapNode({ over, each, effectClass }), id: 'a' }], edges('> a', 'a >'));
}

const child = graphOf('child', [node('c', 'pure', () => 1)], edges('> c', 'c >'));

const loops: Readonly<Record<string, (ended: Ended) => Graph>> = {
  'a pure node': (ended) => visited('pure', false, ended),
  'an asynchronous pure node': (ended) => visited('pure', true, ended),
  'an asynchronous node that reads': (ended) => visited('read', true, ended),
  'a node that writes': (ended) => visited('write', false, ended),
  'an external node': (ended) => visited('external', false, ended),
  'an asynchronous external node': (ended) => visited('external', true, ended),
  'pure steps': (ended) => calling(ended, (ctx, index) => ctx.step('s', {}, () => index)),
  'steps that read, side by side': (ended) =>
    calling(ended, (ctx, index) =>
      Promise.all(['a', 'b', 'c'].map((name) => ctx.step(name, { effect: 'read' }, async () => index))),
    ),
  'external steps': (ended) => calling(ended, (ctx, index) => ctx.step('s', { effect: 'external' }, () => index)),
  'items of a list': (ended) => calling(ended, (ctx, index) => ctx.append('list', [index])),
  'timers that are due': (ended) => calling(ended, (ctx) => ctx.sleepUntil(0)),
  'signals that have not come': (ended) => calling(ended, (ctx) => ctx.receive('none', { waits: false })),
  'child runs': (ended) => calling(ended, (ctx, index) => ctx.run(child, {}, { name: `c${index}` })),
};

const stores: Readonly<Record<string, () => Store>> = {
  memory: () => createMemoryStore({ now: () => systemClock.now() }),
  SQLite: () => openSqliteStore({ path: join(folder, `${Math.random()}.db`) }),
};

async function runBeside(store: Store, make: (ended: Ended) => Graph): Promise<boolean> {
  let hasFired = false;
  let isOver = false;
  const { engine } = createBench({ clock: systemClock, store });
  let timer: NodeJS.Timeout | undefined;
  const graph = make({
    hasFired: () => {
      timer ??= setTimeout(() => (hasFired = !isOver), 20);
      return hasFired;
    },
  });
  const { status } = await runToRest(engine, graph);
  isOver = true;
  expect(status).toBe('completed');
  await engine.close();
  await store.close();
  return hasFired;
}

const kinds = Object.keys(loops).flatMap((loop) => Object.keys(stores).map((store) => [loop, store] as const));

test.each(kinds)('E1.4 a timer fires while a run is a loop of %s, in %s', { timeout: 60_000 }, async (loop, store) => {
  expect(await runBeside(stores[store]!(), loops[loop]!)).toBe(true);
});

test.each(
  ['memory', 'SQLite'].flatMap((store) => (['pure', 'write'] as const).map((effect) => [effect, store] as const)),
)('E1.4 a timer fires between %s items of a map, in %s', { timeout: 60_000 }, async (effect, store) => {
  const begun = { count: 0 };
  expect(await runBeside(stores[store]!(), (ended) => mapping(effect, begun, ended))).toBe(true);
  expect(begun.count).toBeGreaterThan(0);
  expect(begun.count).toBeLessThan(5_000);
});

test('E1.4 runs that never wait take turns with each other, and none is passed over', async () => {
  const { engine } = createBench({ clock: systemClock });
  const ends: string[] = [];
  const long = { hasFired: () => ends.length === 3 };
  const short = (): Graph => {
    let count = 0;
    return visited('pure', true, { hasFired: () => (count += 1) > 500 });
  };
  const follow = async (name: string, graph: Graph): Promise<void> => {
    await runToRest(engine, graph, {}, name);
    ends.push(name);
  };
  await Promise.all([
    follow('long', visited('pure', true, long)),
    ...['a', 'b', 'c'].map((name) => follow(name, short())),
  ]);
  expect(ends.at(-1)).toBe('long');
});

test('E1.4 calls go on in the order in which they came, however much of a turn each takes', async () => {
  let now = 0;
  const turns: (() => void)[] = [];
  const pace = new Pace({ ...systemClock, monotonic: () => now, defer: (turn) => void turns.push(turn) });
  const order: string[] = [];
  const call = async (name: string, workMs: number): Promise<void> => {
    const pause = pace.turn();
    if (pause !== undefined) await pause;
    order.push(name);
    now += workMs;
  };
  const calls = [call('first', 25), call('second', 25), call('third', 0)];
  // A run that rests launches a further call as soon as it goes on.
  pace.rest(() => void calls.push(call('launched', 0)));
  for (let turn = 0; turn < 20 && order.length < 5; turn += 1) {
    if (turn === 1) calls.push(call('late', 0));
    turns.shift()?.();
    await nothingPending();
  }
  await Promise.all(calls);
  expect(order).toEqual(['first', 'second', 'third', 'late', 'launched']);
});
