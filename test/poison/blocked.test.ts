/** Nodes that hold the event loop: told of by every door, and failed by a witness where they never let go of it (O2.9, O7). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import type { Engine } from '../../src/engine/api.ts';
import { until } from '../support/awaited.ts';
import { builtMain, useBuiltDoors } from '../support/built-package.ts';
import { preparePostgres } from '../support/postgres-store.ts';
import { startRedis } from '../support/redis.ts';
import { isProving } from '../support/scale.ts';
import * as graphs from './graphs.ts';
import { connect } from './mcp-client.ts';
import { Supervisor } from './supervisor.ts';

const modules = join(import.meta.dirname, 'graphs.ts');
const postgres = isProving ? await preparePostgres() : 'in npm run prove';
const redis = isProving ? await startRedis() : 'in npm run prove';
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-blocked-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  if (typeof postgres !== 'string') await postgres.stop();
  if (typeof redis !== 'string') await redis.stop();
});

/** Where the runs are: a configuration names stores of this machine, and the environment those of a server. */
function placeOf(store: string): { readonly config: object; readonly env: Readonly<Record<string, string>> } {
  return store.startsWith('sqlite:') ? { config: { store }, env: {} } : { config: {}, env: { CAIRN_STORE: store } };
}

const command = (...args: readonly string[]): readonly string[] => ['--import', useBuiltDoors, builtMain, ...args];

const stores = (name: string): Readonly<Record<string, string | undefined>> => ({
  sqlite: `sqlite:${join(folder, `${name}.db`)}`,
  postgres: typeof postgres === 'string' ? undefined : postgres.url,
  redis: typeof redis === 'string' ? undefined : redis.url,
});

const statusOf = async (engine: Engine, runId: string): Promise<string | undefined> =>
  (await engine.ports.store.readRun({ tenant: 'default', runId }))?.status;

const known = { blocks: graphs.blocks, healthy: graphs.healthy, computes: graphs.computes };

/** A folder whose store has runs that nobody has begun. @param suspect - the one that has lost two owners */
async function openRuns(
  store: string,
  runIds: Readonly<Record<string, keyof typeof known>>,
  suspect?: string,
): Promise<Engine> {
  // Long enough for nodes on a loaded machine.
  writeFileSync(
    join(folder, 'cairn.config.json'),
    JSON.stringify({ ...placeOf(store).config, modules: [modules], busyMaxMs: 4_000 }),
  );
  const engine = createDefaultEngine({ store, wakes: false });
  for (const [runId, id] of Object.entries(runIds)) await engine.start(known[id].graph, {}, { runId, detach: true });
  for (const { graph } of Object.values(known)) engine.know(graph);
  for (const workerId of suspect === undefined ? [] : ['one', 'two'])
    await engine.ports.store.claimRun({ tenant: 'default', runId: suspect ?? '', workerId, leaseMs: 0 });
  return engine;
}

test.each(isProving ? ['sqlite', 'postgres', 'redis'] : ['sqlite'])(
  'P1 O7.2 a suspect that never lets go of the event loop fails by name on %s, and its neighbours end',
  async (kind) => {
    const store = stores('blocked')[kind];
    if (store === undefined) return console.warn(`not tried: there is no ${kind} here`);
    const engine = await openRuns(store, { bad: 'blocks', good: 'healthy', other: 'healthy' }, 'bad');
    const worker = new Supervisor(command('worker'), { cwd: folder, env: { ...process.env, ...placeOf(store).env } });
    try {
      await until(
        'all have ended',
        async () => {
          const found = await Promise.all(['bad', 'good', 'other'].map((runId) => statusOf(engine, runId)));
          return !found.includes('running');
        },
        90,
      );
      expect(await statusOf(engine, 'good')).toBe('completed');
      const { status, error } = await engine.inspect('bad');
      const cause = error?.cause as { readonly code: string; readonly message: string };
      expect([status, cause.code]).toEqual(['failed', 'NODE_BLOCKED']);
      expect(cause.message).toMatch(/^node first held the event loop of its process for \d+ s, and was ended/);
      expect(worker.lives).toBe(1);
    } catch (error) {
      console.error(worker.output.slice(-3_000));
      throw error;
    } finally {
      await worker.stop();
      await engine.close();
    }
  },
  120_000,
);

/** A program that works on two runs whose nodes hold the event loop for some time; gives what it said. */
const doors: Readonly<Record<string, (store: string) => Promise<string>>> = {
  worker: (store) => worksOff(store, command('worker')),
  serve: (store) => worksOff(store, command('serve', '--http', '0')),
  mcp: async () => {
    const mcp = await connect(command('mcp'), folder);
    for (const run of ['one', 'two'])
      expect(await mcp.call('resume_workflow', { checkpoint_id: run })).toMatchObject({ status: 'success' });
    await mcp.close();
    return mcp.errors();
  },
};

async function worksOff(store: string, args: readonly string[]): Promise<string> {
  const engine = createDefaultEngine({ store, wakes: false });
  const supervisor = new Supervisor(args, { cwd: folder });
  const isOver = async (): Promise<boolean> =>
    (await Promise.all(['one', 'two'].map((runId) => statusOf(engine, runId)))).every(
      (status) => status === 'completed',
    );
  await until('both have ended', isOver, 60);
  await supervisor.stop();
  await engine.close();
  return supervisor.output;
}

test.each(isProving ? ['worker', 'serve', 'mcp'] : ['mcp'])(
  'O2.9 a node that held the event loop of cairn %s for over a second is told by name and duration, once',
  async (door) => {
    const store = stores(door)['sqlite'] ?? '';
    const engine = await openRuns(store, { one: 'computes', two: 'computes' });
    await engine.close();
    const said = await doors[door]?.(store);
    const told = said?.match(
      /"node first held the event loop for \d+\.\d s[^"]*","event":"loop-blocked","run":"(?:one|two)"/g,
    );
    expect([told?.length, said]).toEqual([1, expect.stringContaining('loop-blocked')]);
  },
  120_000,
);
