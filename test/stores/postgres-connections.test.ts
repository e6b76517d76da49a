/** What stands between a store and its Postgres server: TLS, a pooler, and a network that loses replies. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import {
  AgentGraph,
  END,
  openStore,
  START,
  transactionStep,
  type TransactionConnection,
  type TransactionPool,
} from '../../src/index.ts';
import { openPostgresStore, type PostgresPool } from '../../src/stores/postgres/index.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { readPostgresUrl, weaknessOf } from '../../src/stores/postgres/place.ts';
import { admission, commitOf, message, startRun, tenant } from '../../src/testing/store-suite/examples.ts';
import { until } from '../support/awaited.ts';
import { CuttingProxy } from '../support/cutting-proxy.ts';
import { startPgBouncer } from '../support/pg-bouncer.ts';
import { preparePostgres, type PostgresUnderTest } from '../support/postgres-store.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import { giveToPlainUser } from '../support/server-process.ts';

vi.setConfig({ testTimeout: 60_000 });

const found = await preparePostgres();
if (typeof found === 'string') console.warn(`Connections to Postgres were not tested: ${found}`);
const reason = typeof found === 'string' ? `: ${found}` : '';
const folder = mkdtempSync(join(tmpdir(), 'cairn-connections-'));
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  if (typeof found !== 'string') await found.stop();
});

const urlOver = (url: string, port: number, query = ''): string => {
  const other = new URL(url);
  other.port = `${port}`;
  other.search = query;
  return other.href;
};

describe.skipIf(typeof found === 'string')(`a network that loses replies${reason}`, () => {
  const server = found as PostgresUnderTest;

  test('S3 what was committed and never acknowledged may be written again: nothing comes twice', async () => {
    await server.empty();
    const proxy = await CuttingProxy.before(Number(new URL(server.url).port));
    const store = openPostgresStore({ url: urlOver(server.url, proxy.port) });
    const unknown = { code: 'STORE_UNAVAILABLE', data: { written: 'unknown' } };
    const claim = await startRun(store, 'run');
    const cut = async (call: () => Promise<unknown>): Promise<void> => {
      proxy.cutNextReply();
      await expect(call()).rejects.toMatchObject(unknown);
    };
    await cut(() => store.commit(commitOf(claim, 1)));
    expect(await store.commit(commitOf(claim, 1))).toEqual({ isHeld: true });
    await cut(() => store.commit(commitOf(claim, 2, { status: 'paused', releases: true })));
    expect(await store.commit(commitOf(claim, 2, { status: 'paused', releases: true }))).toEqual({ isHeld: false });
    await cut(() => store.postMessage(message('run')));
    expect(await store.postMessage(message('run'))).toEqual({ status: 'equal' });
    await cut(() => store.admitRun(admission('other')));
    expect(await store.admitRun(admission('other'))).toMatchObject({ created: false, run: { head: 0 } });
    const rows = await store.readCheckpoints({ tenant, runId: 'run' }, { from: 0, to: 9 });
    expect(rows.map(({ seq }) => seq)).toEqual([0, 1, 2]);
    expect(await store.readMessages({ tenant, runId: 'run' })).toHaveLength(1);
    await store.close();
    await proxy.close();
  });

  test('S4 what never reached the server says that nothing was written', async () => {
    const store = openPostgresStore({ url: urlOver(server.url, 1, '?connect_timeout=0.2') });
    await expect(store.admitRun(admission('never'))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      data: { written: 'no' },
    });
    await store.close();
  });

  test('P1 P2 a run whose commits lose their acknowledgement is completed, and each effect happens once', async () => {
    await server.empty();
    const proxy = await CuttingProxy.before(Number(new URL(server.url).port));
    const store = openPostgresStore({ url: urlOver(server.url, proxy.port) });
    const effects: number[] = [];
    const graph: AgentGraph = new AgentGraph({}, { id: 'cut' });
    let before: string = START;
    const count = 6;
    for (let index = 0; index < count; index += 1) {
      const effect = (): number => {
        // The next reply is that to the commit of this node.
        proxy.cutNextReply();
        return effects.push(index);
      };
      graph.addNode(`n${index}`, effect, { effectClass: 'write' });
      graph.addEdge(before, `n${index}`);
      before = `n${index}`;
    }
    const compiled = graph.addEdge(before, END).compile({ store });
    expect((await compiled.invoke({})).status).toBe('completed');
    expect(effects).toEqual([0, 1, 2, 3, 4, 5]);
    expect(proxy.cuts).toBe(count);
    await compiled.close();
    await store.close();
    await proxy.close();
  });
});

describe.skipIf(typeof found === 'string')(`a server that ends connections${reason}`, () => {
  const server = found as PostgresUnderTest;
  type Pool = PostgresPool & TransactionPool<TransactionConnection>;

  async function openPool(url: string): Promise<Pool> {
    const packageName = 'pg';
    const { default: pg } = (await import(packageName)) as { default: { Pool: new (settings: object) => Pool } };
    return new pg.Pool({ connectionString: url, max: 1 });
  }

  test('S3.1 a connection that ends in the packet of its first reply, or of a later one, is replaced', async () => {
    await server.empty();
    const proxy = await CuttingProxy.before(Number(new URL(server.url).port));
    const url = urlOver(server.url, proxy.port);
    const pool = await openPool(url);
    for (const store of [openPostgresStore({ url }), openPostgresStore({ pool })]) {
      for (const state of ['57P05', '57P01']) {
        proxy.endWithNextReply(state);
        expect(await store.readIdentity()).not.toBe('');
      }
      await store.close();
    }
    expect(proxy.cuts).toBe(4);
    await pool.end();
    await proxy.close();
  });

  test('W5 who watches is woken when a connection that listens is there again: what was written meanwhile woke nobody', async () => {
    await server.empty();
    const store = openPostgresStore({ url: server.url });
    const woken: (string | undefined)[] = [];
    const stop = store.watch?.(tenant, (runId) => woken.push(runId));
    await until('the connection listens', () => store.hearsOthers?.() === true, 20);
    await server.run(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen cairn%'`);
    await until('it listens again', () => woken.length > 0, 20);
    // Of all runs: nobody knows which ones they are.
    expect([...new Set(woken)]).toEqual([undefined]);
    stop?.();
    await store.close();
  });

  test('S3.1 the pool of a transaction step too', async () => {
    const proxy = await CuttingProxy.before(Number(new URL(server.url).port));
    const pool = await openPool(urlOver(server.url, proxy.port));
    const graph = new AgentGraph({}, { id: 'ended' })
      .addNode(
        'one',
        transactionStep(pool, async () => 1),
        { retry: { attempts: 2, delayMs: 1, backoff: 'fixed' } },
      )
      .addEdge(START, 'one')
      .addEdge('one', END)
      .compile({ store: createMemoryStore() });
    proxy.endWithNextReply('57P05');
    expect((await graph.invoke({})).status).toBe('completed');
    expect(proxy.cuts).toBe(1);
    await pool.end();
    await proxy.close();
  });

  test('S3.1 a connection that the server ended while this process was busy is taken for one that did nothing', async () => {
    await server.empty();
    const { pathname } = new URL(server.url);
    await server.run(`alter database "${pathname.slice(1)}" set idle_session_timeout = 100`);
    try {
      const store = openPostgresStore({ url: server.url });
      for (let i = 0; i < 3; i += 1) {
        const end = performance.now() + 200;
        const replies = [startRun(store, `run${i}`), store.readIdentity()];
        while (performance.now() < end);
        await Promise.all(replies);
      }
      await store.close();
    } finally {
      await server.run(`alter database "${pathname.slice(1)}" reset idle_session_timeout`);
    }
  });

  test('S3.1 an idle connection that an administrator ended while this process was busy is replaced before anything is sent', async () => {
    await server.empty();
    const url = new URL(server.url);
    url.searchParams.set('application_name', 'ended');
    const store = openPostgresStore({ url: url.href });
    const pool = await openPool(server.url);
    const administrators: TransactionPool<TransactionConnection> = pool;
    const administrator = await administrators.connect();
    for (let i = 0; i < 3; i += 1) {
      await store.readIdentity();
      const ended = administrator.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ended'`,
      );
      const end = performance.now() + 300;
      while (performance.now() < end);
      await startRun(store, `run${i}`);
      await ended;
    }
    administrator.release();
    await pool.end();
    await store.close();
  });

  test.each([
    ['our own', '', true],
    ['a pooler', '?pgbouncer=true', false],
    ['a pool', undefined, false],
  ])('S3.2 on connections of %s, `jit` is off or left as it is', async (_, query, isOff) => {
    const proxy = await CuttingProxy.before(Number(new URL(server.url).port));
    const url = urlOver(server.url, proxy.port, query);
    const pool = query === undefined ? await openPool(url) : undefined;
    const store = openPostgresStore(pool === undefined ? { url } : { pool });
    await store.readIdentity();
    expect(proxy.sent.includes('set jit = off')).toBe(isOff);
    await store.close();
    await pool?.end();
    await proxy.close();
  });

  test('S3.2 a column that is gone is told as damage, and no other statement fails', async () => {
    const store = openPostgresStore({ url: server.url });
    const key = { tenant, runId: 'none' };
    await server.run('alter table cairn.tags rename seq to gone');
    await expect(store.readTags(key)).rejects.toMatchObject({ code: 'STORE_CORRUPT', retry: 'no' });
    await server.run('alter table cairn.tags rename gone to seq');
    expect(await store.readTags(key)).toEqual([]);
    await store.close();
  });
});

const pooler = typeof found === 'string' ? found : await startPgBouncer(found.url);
if (typeof pooler === 'string' && typeof found !== 'string') console.warn(`PgBouncer was not tested: ${pooler}`);

describe.skipIf(typeof pooler === 'string')(
  `PgBouncer in transaction mode${typeof pooler === 'string' ? `: ${pooler}` : ''}`,
  () => {
    const server = found as PostgresUnderTest;
    const { url, stop } = pooler as Exclude<typeof pooler, string>;
    afterAll(() => stop());

    test.each(['', '?pgbouncer=true'])(
      'S4 runs go on over it with %j, and what does not work is told',
      async (query) => {
        await server.empty();
        const store = openPostgresStore({ url: `${url}${query}`, listenUrl: server.url });
        const graph = new AgentGraph({}, { id: 'pooled' })
          .addNode('one', () => 1, { effectClass: 'write' })
          .addNode('two', ({ state }) => Number(state.outputs['one']) + 1)
          .addEdge(START, 'one')
          .addEdge('one', 'two')
          .addEdge('two', END)
          .compile({ store });
        const results = await Promise.all(Array.from({ length: 20 }, () => graph.invoke({})));
        expect(results.map(({ status, state }) => [status, state.outputs['two']])).toEqual(
          Array.from({ length: 20 }, () => ['completed', 2]),
        );
        const wakeUps = (of: typeof store) => of.examine?.().then((all) => all.find(({ name }) => name === 'wake-ups'));
        expect(await wakeUps(store)).toMatchObject({ verdict: 'ok' });
        // As many statements at once that have not been prepared yet, on connections that the pooler shares out.
        const { runId } = results[0] ?? { runId: '' };
        for (let i = 0; i < 5; i += 1) {
          const fresh = openPostgresStore({ url: `${url}${query}` });
          const reads = Array.from({ length: 16 }, (_, n) =>
            n % 2 === 0 ? fresh.readRun({ tenant: 'default', runId }) : fresh.readTags({ tenant: 'default', runId }),
          );
          await Promise.all(reads);
          await fresh.close();
        }
        await graph.close();
        await store.close();
        const deaf = openPostgresStore({ url: `${url}${query}` });
        expect(await wakeUps(deaf)).toMatchObject({
          verdict: 'warning',
          fix: expect.stringContaining('CAIRN_LISTEN_URL') as string,
        });
        await deaf.close();
      },
    );
  },
);

describe('TLS', () => {
  test('S4 a server on another machine must prove who it is, unless the URL says otherwise, which is told', async () => {
    const at = (url: string): unknown => readPostgresUrl(url).tls;
    expect(at('postgres://u@db.example.org/x')).toBe('verify-full');
    expect(at('postgres://u@127.0.0.1/x')).toBe('disable');
    const weakness = (mode: string): unknown =>
      weaknessOf(readPostgresUrl(`postgres://u@db.invalid/x?sslmode=${mode}`));
    expect([weakness('verify-full'), weakness('require'), weakness('disable')]).toEqual([
      undefined,
      expect.stringContaining('not verified'),
      expect.stringContaining('in clear'),
    ]);
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const store = openStore('postgres://u@db.invalid/x?sslmode=require&connect_timeout=0.1');
    await store.readIdentity().catch(() => undefined);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('db.invalid'), { code: 'CAIRN_STORE_UNVERIFIED' });
    warn.mockRestore();
    await store.close();
  });

  test('S4 a listener that asks for the password in clear does not get it', async () => {
    const got: string[] = [];
    const listener = createServer((socket) => {
      socket.once('data', () => {
        // AuthenticationCleartextPassword, to whatever begins a connection.
        socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]));
        socket.on('data', (bytes: Buffer) => got.push(bytes.toString('latin1')));
      });
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address() as AddressInfo;
    const store = openStore(`postgres://u:secret-word@127.0.0.1:${port}/x?connect_timeout=1`);
    const error: unknown = await store.readIdentity().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(String(error)).toContain('in clear');
    await store.close();
    await new Promise((resolve) => listener.close(resolve));
    expect(got.join('')).not.toContain('secret-word');
  });

  test('S4 a listener that accepts and closes is tried at most ten times in three seconds, and told in time', async () => {
    let connections = 0;
    const listener = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address() as AddressInfo;
    const store = openStore(`postgres://u@127.0.0.1:${port}/x?connect_timeout=3`);
    await expect(store.readIdentity()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(connections).toBeGreaterThan(1);
    expect(connections).toBeLessThanOrEqual(10);
    await store.close();
    await new Promise((resolve) => listener.close(resolve));
  });

  test('S4 over TLS the server is verified by its certificate and its name, which is tried once', async (context) => {
    const made = makeCertificates();
    if (typeof made === 'string') {
      context.skip(`no certificates here: ${made}`);
      return;
    }
    const { authority, otherAuthority, certificate, key } = made;
    const files = ['ssl=on', `ssl_cert_file=${certificate}`, `ssl_key_file=${key}`];
    const server = await startPostgres(['fsync=off', ...files]);
    if (typeof server === 'string') {
      context.skip(server);
      return;
    }
    try {
      await verifyOver(server, authority, otherAuthority);
    } finally {
      await server.stop();
    }
  });
});

async function verifyOver(server: PostgresServer, authority: string, otherAuthority: string): Promise<void> {
  const connect = async (host: string, query: string): Promise<string> => {
    const url = new URL(server.url);
    url.hostname = host;
    const store = openPostgresStore({ url: `${url.href}?connect_timeout=20&${query}` });
    try {
      return (await store.readIdentity()) === '' ? 'no identity' : 'connected';
    } catch (error) {
      return String(error);
    } finally {
      await store.close();
    }
  };
  expect(await connect('localhost', `sslmode=verify-full&sslrootcert=${authority}`)).toBe('connected');
  expect(await connect('localhost', `sslmode=verify-full&sslrootcert=${otherAuthority}`)).toMatch(
    /certificate|signature/,
  );
  expect(await connect('localhost', 'sslmode=verify-full')).toMatch(/certificate/);
  // The certificate is for localhost alone.
  expect(await connect('127.0.0.1', `sslmode=verify-full&sslrootcert=${authority}`)).toMatch(/altnames|IP/);
  expect(await connect('localhost', 'sslmode=require')).toBe('connected');
}

interface Certificates {
  readonly authority: string;
  readonly otherAuthority: string;
  readonly certificate: string;
  readonly key: string;
}

/** Makes two authorities, and a certificate of the first for `localhost`. @returns why it cannot */
function makeCertificates(): Certificates | string {
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: readonly string[]): void => void execFileSync('openssl', args, { stdio: 'pipe' });
  try {
    const plain = ['-newkey', 'rsa:2048', '-nodes', '-days', '2'];
    for (const name of ['authority', 'other'])
      openssl(
        'req',
        '-x509',
        ...plain,
        '-keyout',
        at(`${name}.key`),
        '-out',
        at(`${name}.pem`),
        '-subj',
        `/CN=${name}`,
      );
    openssl(
      'req',
      ...plain.slice(0, 3),
      '-keyout',
      at('server.key'),
      '-out',
      at('server.csr'),
      '-subj',
      '/CN=localhost',
    );
    writeFileSync(at('names'), 'subjectAltName=DNS:localhost\n');
    const signed = ['-CA', at('authority.pem'), '-CAkey', at('authority.key'), '-CAcreateserial', '-days', '2'];
    openssl('x509', '-req', '-in', at('server.csr'), ...signed, '-extfile', at('names'), '-out', at('server.pem'));
    // The server runs as a user of its own, and wants its key for itself.
    const home = mkdtempSync(join(tmpdir(), 'cairn-tls-'));
    afterAll(() => rmSync(home, { recursive: true, force: true }));
    const [certificate, key] = [join(home, 'server.pem'), join(home, 'server.key')];
    writeFileSync(certificate, readFileSync(at('server.pem')), { mode: 0o600 });
    writeFileSync(key, readFileSync(at('server.key')), { mode: 0o600 });
    giveToPlainUser(home, certificate, key);
    return { authority: at('authority.pem'), otherAuthority: at('other.pem'), certificate, key };
  } catch (error) {
    return existsSync('/usr/bin/openssl') ? (error as Error).message : 'openssl is not installed';
  }
}
