/** Every door over a Postgres store: the command line as processes, and programs. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { AgentGraph, createWorker, END, openHistory, openStore, START, type CairnError } from '../../src/index.ts';
import type { PostgresPool } from '../../src/stores/postgres/index.ts';
import { openFolder } from '../cli/cairn.ts';
import { until, within } from '../support/awaited.ts';
import { preparePostgres, type PostgresUnderTest } from '../support/postgres-store.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const found = await preparePostgres();
if (typeof found === 'string') console.warn(`The doors of a Postgres store were not tested: ${found}`);

const greet = `name: greet
inputs: { who: { type: string, required: true } }
blocks:
  - { id: hello, type: EchoBlock, inputs: { message: "\${inputs.who}" } }
outputs: { said: { value: "\${blocks.hello.outputs.echoed}" } }
`;

const shout = `name: shout
blocks:
  - { id: ask, type: ConfirmOperation, inputs: { message: "Shout?", operation: shout } }
  - { id: say, type: Shell, depends_on: [ask], inputs: { command: "echo loud" } }
`;

const counting = new AgentGraph({}, { id: 'counting' })
  .addNode('large', () => 'x'.repeat(400_000))
  .addNode('length', ({ state }) => state.outputs.large?.length)
  .addEdge(START, 'large')
  .addEdge('large', 'length')
  .addEdge('length', END);

describe.skipIf(typeof found === 'string')(
  `doors of a Postgres store${typeof found === 'string' ? `: ${found}` : ''}`,
  () => {
    const server = found as PostgresUnderTest;
    const folder = openFolder();
    beforeAll(() => folder.write('greet.yaml', greet));
    beforeEach(() => {
      const url = new URL(server.url);
      vi.stubEnv('CAIRN_STORE_PASSWORD', decodeURIComponent(url.password));
      url.password = '';
      vi.stubEnv('CAIRN_STORE', url.href);
    });
    afterEach(async () => {
      vi.unstubAllEnvs();
      await server.empty();
    });
    afterAll(() => server.stop());

    test('S4 the command line works over a server as over a file', async () => {
      expect(folder.cairn('migrate').out).toMatch(/^postgres:\/\/127\.0\.0\.1:\d+\/postgres is of layout \d+\n$/);
      expect(folder.cairn('run', 'greet.yaml', '--run-id', 'r', '--input', 'who=you').code).toBe(0);
      expect(folder.cairn('run', 'greet.yaml', '--run-id', 'd', '--input', 'who=me', '--detach').code).toBe(0);
      expect(folder.cairn('ls').out).toMatch(/d +(?:queued|running|completed) +greet[\s\S]*r +completed +greet/);
      const worker = folder.start('worker', '--json');
      // The worker does it, or the process that --detach starts, whichever is first.
      await until('the run is completed', () => /d +completed +greet/.test(folder.cairn('ls').out), 20);
      worker.kill('SIGTERM');
      expect(folder.json('state', 'd', 'outputs.hello.echoed')).toMatch(/me$/);
      expect(folder.jsonLines('verify')).toMatchObject({ end: { isValid: true, runs: 2 }, rows: { length: 2 } });
      expect(folder.cairn('doctor').code).toBe(0);
      expect(folder.cairn('fork', 'r@1', '--run-id', 'f').code).toBe(0);
      expect(folder.cairn('log', 'f').out).toContain('f greet');
      expect(folder.cairn('export', 'r', 'r.cairn').code).toBe(0);
      expect(folder.cairn('rm', 'r', '--with-forks', '--yes').code).toBe(0);
      expect(folder.cairn('import', 'r.cairn').code).toBe(0);
      expect(folder.cairn('prune', '--all', '--yes').code).toBe(0);
      expect(folder.cairn('schedule', 'add', 'greet.yaml', '--cron', '0 2 * * *', '--input', 'who=all').code).toBe(0);
      expect(folder.cairn('schedule', 'list').out).toContain('greet');
      const backup = folder.cairn('backup', 'copy');
      expect([backup.code, backup.err]).toEqual([2, expect.stringContaining('pg_dump')]);
    });

    test('O2 a stored text does what a file may only where the file is, and else what is granted', async () => {
      folder.write('shout.yaml', shout);
      expect(folder.cairn('run', 'shout.yaml', '--run-id', 'foreign').out).toContain('Shout?');
      expect(folder.cairn('resume', 'foreign').code).toBe(0);
      const elsewhere = openFolder();
      const refused = elsewhere.cairn('resume', 'foreign');
      expect(refused.err).toContain('PERMISSION_DENIED');
      // A configuration names no server, so it is no way out.
      expect(refused.err).toContain('(--file)');
      expect(refused.err).not.toContain('configuration');
      expect(refused.err).toMatch(/Shell is not allowed here/);
      elsewhere.write('shout.yaml', shout.replace('loud', 'other'));
      expect(elsewhere.cairn('resume', 'foreign').err).toContain('PERMISSION_DENIED');
      elsewhere.write('shout.yaml', shout);
      expect(elsewhere.cairn('resume', 'foreign').code).toBe(0);
    });

    test('S4 X5.4 where nothing can be written, as on a standby, runs are shown and checked, and an answer says what to name', async () => {
      folder.write('pay.yaml', shout);
      folder.write('asked.yaml', shout.replace('Shout?', 'Shout now?'));
      folder.cairn('run', 'pay.yaml', '--run-id', 'open');
      await server.run(
        `create role standby_role login password 's'; alter role standby_role set default_transaction_read_only = on`,
      );
      try {
        expect(folder.cairn('migrate', '--role', 'app', '--to', 'standby_role').code).toBe(0);
        const url = new URL(server.url);
        url.username = 'standby_role';
        url.password = '';
        vi.stubEnv('CAIRN_STORE', url.href);
        vi.stubEnv('CAIRN_STORE_PASSWORD', 's');
        expect(folder.cairn('ls').out).toMatch(/open +paused/);
        expect(folder.json('check', '--file', 'asked.yaml')).toMatchObject({ count: 1, verdicts: { asks: 1 } });
        const answered = folder.cairn('answer', 'open', 'yes');
        expect([answered.code, answered.err]).toEqual([6, expect.stringContaining('name the server that is written')]);
      } finally {
        await server.run('drop owned by standby_role; drop role standby_role');
      }
    });

    test('S4 migrate grants a role what workers need, and another reading, also of what a newer layout adds', async () => {
      await server.run(`create role worker_role login password 'w'; create role support_role login password 's'`);
      try {
        const granted = folder.json('migrate', '--role', 'app', '--to', 'worker_role');
        expect(granted).toMatchObject({ granted: { role: 'app', to: 'worker_role' } });
        expect(folder.cairn('migrate', '--role', 'viewer', '--to', 'support_role').code).toBe(0);
        // Whoever was granted an older layout needs no new grant for what a newer one adds: the newest is taken away, and made again.
        await server.run(`drop table cairn.blob_references, cairn.definitions; alter table cairn.runs drop column read_claims;
          alter table cairn.messages drop column is_read; update cairn.store set version = version - 1`);
        expect(folder.cairn('migrate').code).toBe(0);
        const as = (user: string, password: string): void => {
          const url = new URL(server.url);
          url.username = user;
          url.password = '';
          vi.stubEnv('CAIRN_STORE', url.href);
          vi.stubEnv('CAIRN_STORE_PASSWORD', password);
        };
        as('worker_role', 'w');
        expect(folder.cairn('run', 'greet.yaml', '--run-id', 'r', '--input', 'who=you').code).toBe(0);
        as('support_role', 's');
        expect(folder.cairn('ls').out).toMatch(/r +completed/);
        as('worker_role', 'w');
        folder.write('pay.yaml', shout);
        folder.write('asked.yaml', shout.replace('Shout?', 'Shout now?'));
        folder.cairn('run', 'pay.yaml', '--run-id', 'open');
        as('support_role', 's');
        const checked = folder.json('check', '--file', 'asked.yaml', '--fail-on', 'asks');
        expect(checked).toMatchObject({ count: 1, verdicts: { asks: 1 }, isFailing: true });
        await server.run('revoke execute on all functions in schema cairn from support_role');
        const denied = folder.cairn('check', '--file', 'asked.yaml');
        expect([denied.code, denied.err]).toEqual([
          6,
          expect.stringContaining('permission denied for function now_ms'),
        ]);
        await server.run('grant execute on all functions in schema cairn to support_role');
        const refused = folder.cairn('rm', 'r', '--yes');
        expect([refused.code, refused.err]).toEqual([expect.any(Number), expect.stringContaining('STORE_READ_ONLY')]);
        // Rights that are taken away are told as that, at each door, and nothing of the run is lost.
        await server.run('revoke all on schema cairn from worker_role');
        as('worker_role', 'w');
        for (const line of [['ls'], ['log', 'r'], ['run', 'greet.yaml', '--input', 'who=you']]) {
          const taken = folder.cairn(...line);
          expect([taken.code, taken.err]).toEqual([6, expect.stringContaining('[STORE_DENIED]')]);
        }
        await server.run(
          'grant usage on schema cairn to worker_role; revoke insert, update, delete on all tables in schema cairn from worker_role',
        );
        expect(folder.cairn('ls').out).toMatch(/r +completed/);
        expect(folder.cairn('run', 'greet.yaml', '--input', 'who=you').err).toContain('[STORE_READ_ONLY]');
        as('support_role', 'wrong');
        const wrong = folder.cairn('ls');
        expect(wrong.err).toContain('password authentication failed');
        expect(wrong.err).not.toContain('wrong');
      } finally {
        await server.run('drop owned by worker_role, support_role; drop role worker_role, support_role');
      }
    });

    test('S4 compile takes the URL of a store, and what it opens is closed with the graph', async () => {
      const graph = counting.compile({ store: server.url });
      const { runId, status } = await graph.invoke({});
      expect(status).toBe('completed');
      await graph.close();
      await expect(graph.engine.inspect(runId)).rejects.toMatchObject({ code: 'STORE_CLOSED' });
      const store = openStore(server.url);
      const history = openHistory(store);
      expect(await history.state(runId)).toMatchObject({ outputs: { length: 400_000 } });
      await store.close();
    });

    test('W1 times that functions name in fractions of a millisecond end waits, retries and time limits there too', async () => {
      let tries = 0;
      const app = new AgentGraph({}, { id: 'thirds' })
        .addNode('sleep', (ctx) => ctx.sleepUntil(ctx.now() + 1_000 / 3))
        .addNode('ask', (ctx) =>
          ctx.ask({ prompt: 'Well?', timeoutMs: 100 / 3, remindAfterMs: 10 / 3, defaultAnswer: 'none' }),
        )
        .addNode('receive', (ctx) => ctx.receive('never', { timeoutMs: 100 / 3 }).catch(() => 'nothing'))
        .addNode(
          'retry',
          (ctx) =>
            ctx.step('try', { effect: 'external', idempotent: true, retry: { attempts: 2, delayMs: 100 / 3 } }, () => {
              if ((tries += 1) === 1) throw new Error('not yet');
              return tries;
            }),
          { effectClass: 'read' },
        )
        .addEdge(START, 'sleep')
        .addEdge('sleep', 'ask')
        .addEdge('ask', 'receive')
        .addEdge('receive', 'retry')
        .addEdge('retry', END)
        .compile({ store: server.url, bounds: { holdTimersMs: 0 } });
      let result = await app.invoke({}, { runId: 'thirds' });
      while (result.status === 'paused') result = await app.resume('thirds');
      const { outputs } = result.state;
      expect([result.status, outputs['ask'], outputs['receive'], outputs['retry']]).toEqual([
        'completed',
        'none',
        'nothing',
        2,
      ]);
      await app.close();
    });

    test('O2 a worker takes the URL of a store, or a store over a pool that stays open', async () => {
      const packageName = 'pg';
      const { default: pg } = (await import(packageName)) as {
        readonly default: { readonly Pool: new (settings: object) => PostgresPool };
      };
      const pool = new pg.Pool({ connectionString: server.url, max: 4 });
      const store = openStore(pool);
      const graph = counting.compile({ store });
      const rest: ((runId: string) => void)[] = [];
      const rested = (): Promise<string> => new Promise((resolve) => rest.push(resolve));
      const onRested = ({ runId }: { readonly runId: string }): void => rest.shift()?.(runId);
      for (const place of [server.url, store]) {
        const { runId } = await graph.start({}, { detach: true });
        const isRested = rested();
        const worker = createWorker({ graphs: [graph], store: place, onRested });
        expect(await within('the run is completed', isRested)).toBe(runId);
        await worker.stop();
        expect(await graph.engine.inspect(runId)).toMatchObject({ status: 'completed' });
      }
      await graph.close();
      await store.close();
      (await pool.connect()).release();
      await pool.end();
    });

    test('S4 doctor says how far the clocks are apart, who can read, and what waits to be vacuumed', async () => {
      const store = openStore(server.url);
      const examine = async (): Promise<ReadonlyMap<string, string>> =>
        new Map((await store.examine?.())?.map(({ name, verdict, detail }) => [name, `${verdict}: ${detail}`]));
      const fine = await examine();
      expect(fine.get('clocks')).toMatch(/^ok: .* of? ?this machine's$/);
      expect(fine.get('wake-ups')).toMatch(/^ok/);
      expect(fine.get('readers')).toMatch(/^ok: .*tester \(superuser\)/);
      expect(fine.get('dead rows')).toMatch(/^ok/);
      // The server of tests does not wait for its disk.
      expect(fine.get('durability')).toMatch(/^warning: fsync is off/);
      await server.advance(3_600_000);
      await server.run(`create role curious; grant usage on schema cairn to public;
        grant select on cairn.checkpoints to public; alter table cairn.tags set (autovacuum_enabled = off)`);
      try {
        await server.run('insert into cairn.tags select n, $$t$$, 0 from generate_series(1, 12000) n');
        await server.run('delete from cairn.tags; select pg_stat_force_next_flush()');
        await server.run('select 1');
        const worse = await examine();
        expect(worse.get('clocks')).toMatch(/^warning: the server's clock is 3600 s ahead/);
        expect(worse.get('readers')).toMatch(/^warning: everybody/);
        expect(worse.get('dead rows')).toMatch(/^warning: tags has 12000 dead rows/);
        expect(folder.cairn('doctor').out).toMatch(/look +clocks[\s\S]*look +readers/);
      } finally {
        await server.run(`revoke all on schema cairn from public; revoke all on cairn.checkpoints from public;
          drop role curious; alter table cairn.tags reset (autovacuum_enabled)`);
        await store.close();
      }
    });

    test('O2 runs that no worker takes up are counted, with the age of the oldest', async () => {
      const graph = counting.compile({ store: server.url });
      const { store, tenant } = graph.engine.ports;
      expect(await store.readBacklog?.({ tenant })).toEqual({ ready: 0 });
      await graph.start({}, { detach: true });
      await graph.start({}, { detach: true });
      await server.advance(60_000);
      const backlog = await store.readBacklog?.({ tenant });
      expect(backlog?.ready).toBe(2);
      expect(backlog?.oldestMs).toBeGreaterThanOrEqual(60_000);
      expect(await store.readBacklog?.({ tenant, graphs: ['other'] })).toEqual({ ready: 0 });
      expect(folder.cairn('workers').out).toMatch(/2 runs ready for a worker, the oldest for 1 min/);
      expect(folder.json('workers')).toMatchObject({ workers: [], backlog: { ready: 2 } });
      await graph.close();
    });

    test('S4 a server that is not there is told in time, without the password', async () => {
      const store = openStore('postgres://u:secret-word@127.0.0.1:1/x?connect_timeout=1');
      const error = await store.readIdentity().catch((thrown: unknown) => thrown as CairnError);
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(JSON.stringify(error) + String(error)).not.toContain('secret-word');
      await store.close();
    });
  },
);
