/**
 * References say of no blob that it is not needed which a text of a run names: after each of random starts, signals, forks, imports, prunes
 * and removals of runs with large values and files, every text that is stored is read and held against them. When all runs are gone, so are
 * all blobs.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, type TestContext } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { CairnError } from '../../src/errors.ts';
import type { NodeContext } from '../../src/graph/contracts/node-contract.ts';
import type { WritePlace } from '../../src/history/access/place.ts';
import { readAllRuns } from '../../src/history/access/read-all.ts';
import { exportRun } from '../../src/history/export-import/export.ts';
import { importRun } from '../../src/history/export-import/import.ts';
import { writeSnapshotOf } from '../../src/history/load/fold-stored.ts';
import { loadState } from '../../src/history/load/load.ts';
import { cleanUpPlace } from '../../src/history/retention/clean-up.ts';
import { collectBlobs } from '../../src/history/retention/collect-blobs.ts';
import { takeOutNeeded } from '../../src/history/retention/needed-blobs.ts';
import { pruneOneRun } from '../../src/history/retention/prune-runs.ts';
import { removeCheckpoint } from '../../src/history/retention/remove-checkpoint.ts';
import { removeRun } from '../../src/history/retention/remove-run.ts';
import { readNamed } from '../../src/history/retention/stored-texts.ts';
import { changeLabels } from '../../src/operations/runs/label-run.ts';
import type { RunRow, Store } from '../../src/ports/store.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';
import { openFileStore } from '../../src/stores/file/index.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { admission } from '../../src/testing/store-suite/examples.ts';
import { createBench, edges, graphOf, node, runToRest, testIds, type Bench } from '../engine-kit.ts';
import { openOn as openOnPostgres, preparePostgres } from '../support/postgres-store.ts';
import { openOn as openOnRedis, startRedis } from '../support/redis.ts';
import { scale, seeds } from '../support/scale.ts';

const tenant = 'default';
const dayMs = 24 * 3_600_000;
const steps = scale(40, 200);
const about = { name: 'f.bin', type: 'application/octet-stream' };
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A value that is kept as a blob; runs that have the same letter share it. */
const large = (letter: string): string => letter.repeat(1_500);

interface Input {
  readonly letter: string;
  readonly kind: number;
}

/** Something that names a blob, in one of the ways there are. */
async function valueOf(ctx: NodeContext, { letter, kind }: Input): Promise<unknown> {
  if (kind === 0) return large(letter);
  if (kind === 1) return { small: await ctx.files.put(bytesOf(`file ${letter}`), about) };
  if (kind === 2) return { text: large(letter), inside: [await ctx.files.put(bytesOf(`in ${letter}`), about)] };
  // Only its hash, as plain text.
  return { sha: await ctx.blobs.put(bytesOf(`plain ${letter}`)) };
}

const child = graphOf(
  'child',
  [
    node('make', 'read', (ctx) => valueOf(ctx, ctx.input as Input)),
    node('more', 'read', (ctx) => ({ mine: large(`c${(ctx.input as Input).letter}`) })),
  ],
  edges('> make', 'make > more', 'more >'),
);

const graph = graphOf(
  'parent',
  [
    node('make', 'read', (ctx) => valueOf(ctx, ctx.input as Input)),
    node('steps', 'read', async (ctx) => {
      const input = ctx.input as Input;
      const stepped = await ctx.step('a', { effect: 'read' }, () => large(`s${input.letter}`));
      await ctx.append('list', [large(`l${input.letter}`), 1]);
      const { letter } = input;
      await ctx.run(child, { letter, kind: (input.kind + 1) % 4 });
      return { count: stepped.length, own: large(`o${ctx.runId}`) };
    }),
    node('hear', 'human', (ctx) => ctx.receive('go')),
    node('call', 'external', () => large('e'), { idempotent: true }),
  ],
  edges('> make', 'make > steps', 'steps > hear', 'hear > call', 'call >'),
);

interface House {
  readonly store: Store;
  readonly bench: Bench;
  readonly place: WritePlace;
  readonly random: SeededRandom;
  advance(byMs: number): void;
  nextId(): string;
}

function openHouse(store: Store, seed: number, clock: { nowMs: number }): House {
  const blobs = createMemoryBlobs(() => clock.nowMs);
  const ids = testIds('one', ['one']);
  const bench = createBench({
    store,
    blobs,
    ids,
    findGraph: () => graph,
    bounds: { inlineBytes: 1_000 },
  });
  const place = {
    store,
    blobs,
    tenant,
    now: () => clock.nowMs,
    ids,
    isWorkerDead: () => true,
  } as unknown as WritePlace;
  let count = 0;
  return {
    store,
    bench,
    place,
    random: createSeededRandom(seed),
    advance: (byMs) => void (clock.nowMs += byMs),
    nextId: () => `r${(count += 1)}`,
  };
}

async function runsIn({ store }: House): Promise<readonly RunRow[]> {
  const rows: RunRow[] = [];
  for await (const run of readAllRuns({ store, tenant })) rows.push(run);
  return rows;
}

type Act = (house: House, run: RunRow) => Promise<unknown>;

const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const inputOf = ({ random }: House): Input => ({ letter: random.pick(letters), kind: random.integer(4) });

const start = async (house: House): Promise<unknown> =>
  runToRest(house.bench.engine, graph, inputOf(house), house.nextId());

const acts: Readonly<Record<string, Act>> = {
  start,
  'start again': start,
  signal: async ({ bench, random }, { runId }) => {
    const file = await bench.engine.files.put(bytesOf(`sent ${random.pick(letters)}`), about);
    const value = random.pick([large(`g${random.pick(letters)}`), { file }, { file, more: large('m') }]);
    await bench.engine.signal(runId, 'go', value);
  },
  resume: async ({ bench }, { runId }) => {
    const handle = await bench.engine.resume(runId, { graph });
    await handle.result();
  },
  cancel: ({ bench }, { runId }) => bench.engine.cancel(runId),
  fork: async (house, { runId, head }) => {
    const { bench, random } = house;
    const letter = random.pick(letters);
    const set = random.chance(0.5) ? [{ path: ['scratch', 's'], value: large(`f${letter}`) }] : [];
    await bench.engine.fork({ runId, seq: random.integer(head + 1) }, { runId: house.nextId(), set });
  },
  copy: async (house, run) => {
    const { store, blobs } = house.place;
    const lines: string[] = [];
    for await (const line of exportRun(store, blobs, run)) lines.push(line);
    const pieces = async function* (): AsyncGenerator<string> {
      yield* lines;
    };
    await importRun(store, blobs, pieces(), { tenant, as: 'copy', newRunId: house.nextId(), workerId: 'importer' });
  },
  label: async ({ store, place, random }, { runId }) => {
    const [row] = (await place.blobs.sweep(tenant, { limit: 1 })).rows;
    const set = { sha: row?.hash ?? 'none', n: String(random.integer(9)) };
    await changeLabels({ store, tenant, now: () => 1 }, runId, { set }, {});
  },
  snapshot: async ({ place: { store, blobs }, random }, run) => {
    const loaded = await loadState(store, blobs, run, run.head - random.integer(2));
    await writeSnapshotOf(store, run, loaded.seq, loaded.checksum, loaded.root);
  },
  prune: ({ place, random }, run) => pruneOneRun(place, run, { keepLast: 1 + random.integer(3) }),
  'remove a checkpoint': ({ place, random }, run) => removeCheckpoint(place, { run, seq: random.integer(run.head) }),
  remove: ({ place, random }, { runId }) => removeRun(place, runId, { withForks: random.chance(0.5), forget: true }),
  'clean up': ({ place }) => cleanUpPlace(place, { ttl_seconds: 3600, max_per_workflow: 5, keep_paused: false }),
  'let time go by': async (house) => house.advance(house.random.integer(3) * dayMs),
};

/** Refusals that are no faults of what is tested: another run or checkpoint needs it, or it has ended. */
const refusals = [
  'HISTORY_HAS_FORKS',
  'CHECKPOINT_NEEDED',
  'CHECKPOINT_NOT_FOUND',
  'CHECKPOINT_PRUNED',
  'CLAIM_TAKEN',
  'RUN_ENDED',
  'RUN_FINISHED',
  'RUN_CANCELLED',
  'RUN_NOT_FOUND',
  'FILE_NOT_FOUND',
] as const;

/** Every blob that a text names is needed by the references, too. @returns how many are named */
async function expectComplete(house: House, what: string): Promise<number> {
  const { store, place } = house;
  const named = new Set<string>();
  for (const run of await runsIn(house)) for (const hash of (await readNamed(store, run)).hashes) named.add(hash);
  const there = new Set<string>();
  for (const { hash } of (await place.blobs.sweep(tenant, { limit: 100_000 })).rows) there.add(hash);
  const unneeded = new Set(there);
  await takeOutNeeded(store, tenant, unneeded, 'some');
  expect(
    [...unneeded].filter((hash) => named.has(hash)),
    `needed after: ${what}`,
  ).toEqual([]);
  return [...there].filter((hash) => named.has(hash)).length;
}

async function walk(house: House): Promise<void> {
  const done: string[] = [];
  let most = 0;
  for (let step = 0; step < steps; step += 1) {
    const runs = await runsIn(house);
    const name = runs.length < 2 ? 'start' : house.random.pick(Object.keys(acts));
    const run = runs.length === 0 ? undefined : house.random.pick(runs);
    done.push(`${name} ${run?.runId ?? ''}`);
    await acts[name]?.(house, run as RunRow).catch((error: unknown) => {
      if (!CairnError.is(error, ...refusals)) throw error;
    });
    most = Math.max(most, await expectComplete(house, done.join(', ')));
  }
  expect(most).toBeGreaterThan(5);
  const { store, place } = house;
  for (const { runId } of await runsIn(house))
    await removeRun(place, runId, { withForks: true, forget: true }).catch((error: unknown) => {
      if (!CairnError.is(error, 'RUN_NOT_FOUND')) throw error;
    });
  house.advance(2 * dayMs);
  await collectBlobs(store, place.blobs, tenant, new Map(), true);
  expect((await place.blobs.sweep(tenant)).rows).toEqual([]);
}

/** A server for a test, which is skipped, with the reason, where there is none. */
async function startFor<Server extends object>(
  context: TestContext,
  start: () => Promise<Server | string>,
): Promise<Server> {
  const server = await start();
  return typeof server === 'string' ? context.skip(server) : server;
}

describe('C5 references and texts agree', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-references-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const opened: Readonly<Record<string, (name: string, now: () => number) => Store>> = {
    memory: (_, now) => createMemoryStore({ now }),
    'a folder': (name, now) => openFileStore({ path: join(folder, name), now }),
    SQLite: (name, now) => openSqliteStore({ path: join(folder, `${name}.db`), now }),
  };
  const cases = Object.keys(opened).flatMap((kind) =>
    seeds(kind === 'memory' ? 4 : 1, 20).map((seed) => [kind, seed] as const),
  );

  test.each(cases)('in %s, seed %i', async (kind, seed) => {
    const clock = { nowMs: 1_700_000_000_000 };
    const store = opened[kind]?.(`store-${seed}`, () => clock.nowMs) as Store;
    await walk(openHouse(store, seed, clock));
    await store.close();
  });

  test('on Postgres', async (context) => {
    const server = await startFor(context, preparePostgres);
    await server.empty();
    const store = openOnPostgres(server);
    await walk(openHouse(store, 1, { nowMs: Date.now() }));
    await store.close();
    await server.stop();
  });

  test('on Redis', async (context) => {
    const server = await startFor(context, startRedis);
    const store = openOnRedis(server);
    await walk(openHouse(store, 1, { nowMs: Date.now() }));
    await store.close();
    await server.stop();
  });
});

describe('C5 what an older version writes beside this one is found, and read before anything is removed', () => {
  const acme = 'acme';
  const hash = 'a'.repeat(64);
  const unreadIn = async ({ references }: Store): Promise<readonly string[]> =>
    (await references?.listUnread(acme, { limit: 100 }))?.rows ?? ['none'];
  const isNamed = async ({ references }: Store): Promise<boolean> =>
    (await references?.named(acme, [hash]))?.length === 1;

  test('on Postgres', async (context) => {
    const server = await startFor(context, preparePostgres);
    const store = openOnPostgres(server);
    const key = { tenant: acme, runId: 'new' };
    const ofRun = "where tenant = 'acme' and run_id = 'new'";
    await store.admitRun(admission('new', { blobs: [hash] }));
    expect(await unreadIn(store)).toEqual([]);
    await server.run(
      `update cairn.runs set claims = claims + 1, token = nextval('cairn.tokens'), owner = 'older' ${ofRun}`,
    );
    const seen = { head: 0, claims: 1, messages: [] };
    await store.references?.add(key, [], seen);
    expect(await unreadIn(store)).toEqual(['new']);
    await server.run(`update cairn.runs set token = nextval('cairn.tokens'), owner = null ${ofRun}`);
    await store.references?.add(key, [], seen);
    expect(await unreadIn(store)).toEqual([]);
    await server.run(
      `insert into cairn.messages (run, kind, name, at, body) select no, 'signal', 'older', 1, '{}' from cairn.runs ${ofRun}`,
    );
    expect(await unreadIn(store)).toEqual(['new']);
    const messages = (await store.readMessages(key)).map(({ id }) => id);
    await store.references?.add(key, [], { ...seen, messages });
    expect(await unreadIn(store)).toEqual([]);
    expect(await isNamed(store)).toBe(true);
    await server.run(`delete from cairn.runs ${ofRun}`);
    expect(await isNamed(store)).toBe(false);
    await store.close();
    await server.stop();
  });

  test('on Redis', async (context) => {
    const server = await startFor(context, startRedis);
    const store = openOnRedis(server);
    const key = { tenant: acme, runId: 'new' };
    await store.admitRun(admission('new', { blobs: [hash] }));
    expect(await unreadIn(store)).toEqual([]);
    const older = async (...command: readonly string[]): Promise<void> => {
      // Whatever it writes that counts, it takes a number.
      await server.run('INCR', 'cairn:number');
      await server.run(...command);
    };
    await older('HINCRBY', 'cairn:run:4:acme:new', 'claims', '1');
    expect(await unreadIn(store)).toEqual(['new']);
    const seen = { head: 0, claims: 1, messages: [] };
    await store.references?.add(key, [], seen);
    expect(await unreadIn(store)).toEqual([]);
    const post =
      "redis.call('HSET', 'cairn:msg:4:acme:new', 'signal:older', cmsgpack.pack({ 7, false, string.rep('\\0', 9) .. '{}' })) redis.call('ZADD', 'cairn:inbox:4:acme:new', 7, 'signal:older')";
    await older('EVAL', post, '0');
    expect(await unreadIn(store)).toEqual(['new']);
    await store.references?.add(key, [], seen);
    expect(await unreadIn(store)).toEqual(['new']);
    await store.references?.add(key, [], { ...seen, messages: [7] });
    expect(await unreadIn(store)).toEqual([]);
    expect(await isNamed(store)).toBe(true);
    await older('DEL', 'cairn:run:4:acme:new');
    expect(await isNamed(store)).toBe(false);
    await store.close();
    await server.stop();
  });
});
