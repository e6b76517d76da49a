/** Held runs, over each store: by a person, or because the store was copied to another place. */
import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import {
  AgentGraph,
  END,
  humanNode,
  openHistory,
  openStore,
  START,
  type History,
  type OpenedStore,
} from '../../src/index.ts';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { preparePostgres } from '../support/postgres-store.ts';
import { startRedis } from '../support/redis.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-held-'));
const [postgres, redis] = await Promise.all([preparePostgres(), startRedis()]);
for (const found of [postgres, redis])
  if (typeof found === 'string') console.warn(`Held runs were not tested: ${found}`);
const closed: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const close of closed.splice(0).reverse()) await close();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  if (typeof postgres !== 'string') await postgres.stop();
  if (typeof redis !== 'string') await redis.stop();
});

const open = (url: string): OpenedStore => {
  const store = openStore(url);
  closed.push(() => store.close());
  return store;
};

/** A run that asks, and then pays. */
function refund(store: OpenedStore, paid: string[]) {
  const graph = new AgentGraph({}, { id: 'refund' })
    .addNode('ask', humanNode({ prompt: 'Pay?', choices: ['yes', 'no'] }))
    .addNode('pay', ({ idempotencyKey }) => paid.push(idempotencyKey), { effectClass: 'external' })
    .addEdge(START, 'ask')
    .addEdge('ask', 'pay')
    .addEdge('pay', END)
    .compile({ store });
  closed.push(() => graph.close());
  return graph;
}

const answer = { answers: { ask: 'yes' } } as const;
const isHeld = { code: 'RUN_HELD' };

interface Kind {
  readonly url: string;
  /** Ends the server, and starts it again. */
  readonly restart?: () => Promise<void>;
}

const kinds: readonly (readonly [string, Kind | string])[] = [
  ['SQLite', { url: `sqlite:${join(folder, 'runs.db')}` }],
  ['file', { url: `file:${join(folder, 'runs')}` }],
  [
    'Postgres',
    typeof postgres === 'string' ? postgres : { url: postgres.url, ...(postgres.crash && { restart: postgres.crash }) },
  ],
  ['Redis', typeof redis === 'string' ? redis : { url: redis.url, restart: redis.crash }],
];

describe.each(kinds)('B2.2 runs that are held in %s', (_, kind) => {
  const reason = typeof kind === 'string' ? `: ${kind}` : '';

  test.skipIf(reason !== '')(
    `go on in no process, before and after a restart, until they are released${reason}`,
    async () => {
      const { url, restart } = kind as Kind;
      const paid: string[] = [];
      const store = openStore(url);
      const graph = refund(store, paid);
      await graph.invoke({}, { runId: 'r' });
      await graph.invoke({}, { runId: 'over' });
      await graph.resume('over', answer);
      const history = openHistory(store);
      await expect(history.hold('over')).rejects.toMatchObject({ code: 'USAGE_INVALID' });
      expect(await history.holdAll()).toMatchObject([{ runId: 'r', status: 'paused' }]);
      expect(await history.holdAll()).toEqual([]);
      expect(await history.hold('r')).toMatchObject({ runId: 'r' });
      await expect(graph.resume('r', answer)).rejects.toMatchObject(isHeld);
      await graph.close();
      await store.close();
      await restart?.();

      const again = open(url);
      await expect(refund(again, paid).resume('r')).rejects.toMatchObject(isHeld);
      expect(await again.listClaimable({ tenant: 'default', limit: 9 })).toEqual([]);
      expect(paid).toHaveLength(1);
      expect(await openHistory(again).releaseAll()).toMatchObject([{ runId: 'r', inDoubt: [] }]);
      await again.close();
      const last = open(url);
      expect(await refund(last, paid).resume('r', answer)).toMatchObject({ status: 'completed' });
      expect(paid).toHaveLength(2);
    },
  );
});

async function listHeld(history: History): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { runId } of history.list({ status: ['held'] })) ids.push(runId);
  return ids;
}

/** What must hold of a copy: a run that went on in the original is held there, and not done again unasked. */
async function expectHeldCopy(original: string, copy: string, makeCopy: () => Promise<void> | void): Promise<void> {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const paid: string[] = [];
  const first = openStore(original);
  const graph = refund(first, paid);
  await graph.invoke({}, { runId: 'r' });
  await graph.invoke({}, { runId: 'over' });
  await graph.resume('over', answer);
  await graph.close();
  await first.close();
  // What is opened again where it was is not held.
  const same = openStore(original);
  expect((await same.readRun({ tenant: 'default', runId: 'r' }))?.claim).toBeUndefined();
  await same.close();
  expect(warn).not.toHaveBeenCalled();
  await makeCopy();
  const livesOn = original !== copy;
  const later = livesOn ? await refund(open(original), paid).resume('r', answer) : undefined;
  expect([later?.status, paid.length]).toEqual(livesOn ? ['completed', 2] : [undefined, 1]);
  const before = paid.length;
  const copied = open(copy);
  await expect(refund(copied, paid).resume('r', answer)).rejects.toMatchObject(isHeld);
  expect(warn).toHaveBeenCalledWith(expect.stringMatching(/the run that is not over is held/), {
    code: 'CAIRN_STORE_MOVED',
  });
  expect(paid).toHaveLength(before);
  const history = openHistory(copied);
  expect(await listHeld(history)).toEqual(['r']);
  await history.releaseAll();
  await copied.close();
  // It is held once: from now on this is where it is.
  const again = open(copy);
  expect(await refund(again, paid).resume('r', answer)).toMatchObject({ status: 'completed' });
  expect(paid).toHaveLength(before + 1);
  // The receiver is told by one key of what is done in both.
  expect(new Set(paid).size).toBe(2);
}

test('B2.3 a folder of journals that is copied holds its open runs, and one that is renamed does not', async () => {
  const at = (name: string): string => join(folder, name);
  await expectHeldCopy(`file:${at('moved')}`, `file:${at('copy')}`, () => {
    cpSync(at('moved'), at('copy'), { recursive: true, preserveTimestamps: true });
    renameSync(at('moved'), at('renamed'));
    renameSync(at('renamed'), at('moved'));
  });
});

test('B2.3 so does one that is put back where it was', async () => {
  const at = (name: string): string => join(folder, name);
  await expectHeldCopy(`file:${at('back')}`, `file:${at('back')}`, () => {
    cpSync(at('back'), at('aside'), { recursive: true });
    rmSync(at('back'), { recursive: true });
    cpSync(at('aside'), at('back'), { recursive: true, preserveTimestamps: true });
  });
});

describe.skipIf(typeof postgres === 'string')('B2.3 in Postgres', () => {
  const server = postgres as Exclude<typeof postgres, string>;
  const urlOf = (database: string): string => {
    const url = new URL(server.url);
    url.pathname = `/${database}`;
    return url.href;
  };

  test('tables that are restored into another database hold their open runs', async () => {
    await server.run('create database one');
    await expectHeldCopy(urlOf('one'), urlOf('two'), async () => {
      await server.run('create database two template one');
    });
  });

  test('so do tables that are restored into the database they were in', async () => {
    await server.empty();
    await expectHeldCopy(server.url, server.url, async () => {
      await server.run(`alter table cairn.store rename to earlier;
        create table cairn.store (like cairn.earlier including all);
        insert into cairn.store select * from cairn.earlier; drop table cairn.earlier`);
    });
  });

  test('a plain role tells a copy too, one that may not read the server by the rest, and one that only reads changes nothing', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    await server.run('create database three');
    await server.run(`create role app login password 'app'; create role viewer login password 'viewer'`);
    const as = (role: string, database: string): string => {
      const url = new URL(urlOf(database));
      [url.username, url.password] = [role, role];
      return url.href;
    };
    const store = openPostgresStore({ url: urlOf('three') });
    await refund(store, []).invoke({}, { runId: 'r' });
    await store.grant('app', 'app');
    await store.grant('viewer', 'viewer');
    await closed.pop()?.();
    await store.close();
    const claimOf = async (url: string): Promise<unknown> => {
      const own = openStore(url);
      const row = await own.readRun({ tenant: 'default', runId: 'r' });
      await own.close();
      return row?.claim?.workerId;
    };
    try {
      expect(await claimOf(as('app', 'three'))).toBeUndefined();
      await server.run('revoke execute on function pg_control_system() from public');
      for (const name of ['four', 'five']) await server.run(`create database ${name} template three`);
      expect(await claimOf(as('viewer', 'four'))).toBeUndefined();
      expect(await claimOf(as('app', 'four'))).toBe('held');
      expect(await claimOf(as('viewer', 'four'))).toBe('held');
      expect(await claimOf(as('app', 'five'))).toBe('held');
      expect(await claimOf(urlOf('five'))).toBe('held');
      expect(warn).toHaveBeenCalledTimes(2);
    } finally {
      await server.run('grant execute on function pg_control_system() to public');
    }
  });

  test('C7 tables of a layout without their place are brought up to date, and where they are is taken for where they were', async () => {
    await server.empty();
    // What later layouts brought is taken away, the newest first.
    await server.run(`drop table cairn.blob_references, cairn.definitions; alter table cairn.messages drop column is_read;
      drop function cairn.is_removed(text, text); drop table cairn.duties, cairn.removed, cairn.line, cairn.limits;
      alter table cairn.runs drop column read_claims, drop column ended_at, drop column code;
      alter table cairn.store drop column location; update cairn.store set version = 4`);
    const store = open(server.url);
    await refund(store, []).invoke({}, { runId: 'r' });
    expect((await store.readRun({ tenant: 'default', runId: 'r' }))?.claim).toBeUndefined();
    const [row] = await server.run('select location from cairn.store');
    expect(row?.['location']).toMatch(/^\d+\.\d+\.\d+$/);
  });
});
