/** Bad runs of each kind beside healthy ones, under the real commands and stores, and a healthy fleet that is killed again and again (O7). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import type { Engine } from '../../src/engine/api.ts';
import { builtMain, useBuiltDoors } from '../support/built-package.ts';
import { preparePostgres } from '../support/postgres-store.ts';
import { startRedis } from '../support/redis.ts';
import { isProving } from '../support/scale.ts';
import * as graphs from './graphs.ts';
import { connect } from './mcp-client.ts';
import { Supervisor } from './supervisor.ts';

const modules = join(import.meta.dirname, 'graphs.ts');
const healthyIds = Array.from({ length: 50 }, (_, index) => `healthy${index}`);
const postgres = isProving ? await preparePostgres() : 'in npm run prove';
const redis = isProving ? await startRedis() : 'in npm run prove';
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-fleets-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  if (typeof postgres !== 'string') await postgres.stop();
  if (typeof redis !== 'string') await redis.stop();
});

/** How each run ends, and what is said of those that fail. */
const expected: Readonly<
  Record<Exclude<keyof typeof graphs, 'healthy' | 'patient' | 'external' | 'blocks' | 'computes'>, string>
> = {
  rejects: 'failed',
  throws: 'failed',
  late: 'completed',
  retried: 'completed',
  inStep: 'completed',
  exits: 'failed',
  exitsQuietly: 'failed',
  killed: 'failed',
  aborts: 'failed',
  exhausts: 'failed',
  endsParent: 'failed',
  killedInStep: 'paused',
  recovers: 'completed',
};

async function openFleet(store: string, bads: readonly string[]): Promise<Engine> {
  const engine = createDefaultEngine({ store, wakes: false });
  const known = graphs as Readonly<Record<string, (typeof graphs)['healthy']>>;
  for (const { graph } of Object.values(known)) engine.know(graph);
  for (const bad of bads) await engine.start(known[bad]?.graph as never, {}, { runId: bad, detach: true });
  for (const runId of healthyIds) await engine.start(graphs.healthy.graph, {}, { runId, detach: true });
  return engine;
}

async function statuses(engine: Engine, runIds: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const rows = await Promise.all(runIds.map((runId) => engine.ports.store.readRun({ tenant: 'default', runId })));
  return Object.fromEntries(rows.map((row) => [row?.runId ?? '', row?.status ?? '']));
}

/**
 * Goes on with each run through `cairn mcp`, as a client does that starts its server again whenever that has died. @returns how many servers
 * there were
 */
async function resumeThroughMcp(
  engine: Engine,
  runIds: readonly string[],
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number> {
  for (let lives = 1; lives < 10; lives += 1) {
    const found = await statuses(engine, runIds);
    const running = runIds.filter((runId) => found[runId] === 'running');
    if (running.length === 0) return lives - 1;
    const mcp = await connect(args, folder, { NODE_OPTIONS: '--max-old-space-size=160', ...env });
    // What is asked of a server that dies is asked of the next one.
    await Promise.all(
      running.map((runId) => mcp.call('resume_workflow', { checkpoint_id: runId }).catch(() => undefined)),
    );
    await mcp.close();
  }
  throw new Error('not all runs ended');
}

async function untilRested(engine: Engine, runIds: readonly string[], supervisor: Supervisor): Promise<void> {
  const over = performance.now() + 500_000;
  while (Object.values(await statuses(engine, runIds)).includes('running')) {
    if (performance.now() > over) throw new Error(`not ended: ${supervisor.output.slice(-2_000)}`);
    await sleep(500);
  }
}

const stores = (): Readonly<Record<string, string | undefined>> => ({
  sqlite: `sqlite:${join(folder, 'f.db')}`,
  postgres: typeof postgres === 'string' ? undefined : postgres.url,
  redis: typeof redis === 'string' ? undefined : redis.url,
});

test.skipIf(!isProving).each([
  ['sqlite', 'worker'],
  ['sqlite', 'serve'],
  ['postgres', 'worker'],
  ['postgres', 'serve'],
  ['redis', 'worker'],
  ['redis', 'serve'],
])(
  'P1 O7 bad runs of each kind on %s under cairn %s end by name, and all others end (in npm run prove: minutes)',
  async (kind, door) => {
    const store = stores()[kind];
    if (store === undefined) return console.warn(`not tried: there is no ${kind} here`);
    if (typeof postgres !== 'string') await postgres.empty();
    if (typeof redis !== 'string') await redis.empty();
    rmSync(join(folder, 'f.db'), { force: true });
    // An effect that has begun when its process ends may have happened.
    const engine = await openFleet(store, [...Object.keys(expected), 'external']);
    const options = { cwd: folder, env: { ...process.env, NODE_OPTIONS: '--max-old-space-size=160' } };
    const args = door === 'serve' ? ['--http', '0'] : ['--concurrency', '100'];
    const supervisor = new Supervisor(
      ['--import', useBuiltDoors, builtMain, door, ...args, '--modules', modules, '--store', store],
      options,
    );
    try {
      await untilRested(engine, [...Object.keys(expected), ...healthyIds], supervisor);
      expect(await statuses(engine, Object.keys(expected))).toEqual(expected);
      expect(Object.values(await statuses(engine, healthyIds))).toEqual(healthyIds.map(() => 'completed'));
      expect(['failed', 'paused']).toContain((await statuses(engine, ['external']))['external']);
      console.log(`${kind} under ${door}: ${supervisor.lives} lives`);
      expect(supervisor.lives).toBeLessThanOrEqual(4);
    } finally {
      await supervisor.stop();
      await engine.close();
    }
  },
);

test.skipIf(!isProving).each(['sqlite', 'postgres', 'redis'])(
  'P1 O7.4 bad runs of each kind on %s through cairn mcp end by name, and all others end (in npm run prove: minutes)',
  async (kind) => {
    const store = stores()[kind];
    if (store === undefined) return console.warn(`not tried: there is no ${kind} here`);
    if (typeof postgres !== 'string') await postgres.empty();
    if (typeof redis !== 'string') await redis.empty();
    rmSync(join(folder, 'f.db'), { force: true });
    // A configuration names stores of this machine, and the environment those of a server.
    const own = kind === 'sqlite' ? { store } : {};
    writeFileSync(join(folder, 'cairn.config.json'), JSON.stringify({ ...own, modules: [modules] }));
    const engine = await openFleet(store, [...Object.keys(expected), 'external']);
    try {
      const args = ['--import', useBuiltDoors, builtMain, 'mcp'];
      const lives = await resumeThroughMcp(
        engine,
        [...Object.keys(expected), ...healthyIds, 'external'],
        args,
        kind === 'sqlite' ? {} : { CAIRN_STORE: store },
      );
      expect(await statuses(engine, Object.keys(expected))).toEqual(expected);
      expect(Object.values(await statuses(engine, healthyIds))).toEqual(healthyIds.map(() => 'completed'));
      console.log(`${kind} through mcp: ${lives} lives`);
      expect(lives).toBeLessThanOrEqual(4);
    } finally {
      await engine.close();
    }
  },
);

test.skipIf(!isProving)('O7 200 kills of a healthy fleet condemn nobody (in npm run prove: minutes)', async () => {
  const store = `sqlite:${join(folder, 'healthy.db')}`;
  const engine = createDefaultEngine({ store, wakes: false });
  const runIds = healthyIds.slice(0, 12);
  for (const runId of runIds) await engine.start(graphs.patient.graph, {}, { runId, detach: true });
  engine.know(graphs.patient.graph);
  const supervisor = new Supervisor([join(import.meta.dirname, 'worker.ts'), store], { detached: true });
  let deaths = 0;
  try {
    for (let kills = 0; kills < 200; kills += 1) {
      await sleep(1_300);
      // With its child, as what evicts a machine does.
      supervisor.kill();
      for (const runId of runIds) {
        const row = await engine.ports.store.readRun({ tenant: 'default', runId });
        deaths = Math.max(deaths, row?.deaths ?? 0);
      }
    }
    await untilRested(engine, runIds, supervisor);
    expect(Object.values(await statuses(engine, runIds))).toEqual(runIds.map(() => 'completed'));
    console.log(`${supervisor.lives} lives; up to ${deaths} deaths of a run in a row`);
    expect(deaths).toBeGreaterThan(5);
  } finally {
    await supervisor.stop();
    await engine.close();
  }
});
