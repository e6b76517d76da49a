/** The store in a real Redis server: the suites, SIGKILL under load, an older snapshot, and what is refused. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { openRedisStore } from './index.ts';
import { openOn, startRedis, type RedisUnderTest } from '../../../test/support/redis.ts';
import { until } from '../../../test/support/awaited.ts';
import { CuttingProxy } from '../../../test/support/cutting-proxy.ts';
import { findFreePort } from '../../../test/support/server-process.ts';
import { isProving } from '../../../test/support/scale.ts';
import { blobSuite } from '../../testing/blob-suite.ts';
import { memoriesSuite } from '../../testing/memories-suite.ts';
import type { CairnError } from '../../errors.ts';
import type { Claim, Store } from '../../ports/store.ts';
import {
  commitOf,
  expectCode,
  keyOf,
  leaseMs,
  startRun,
  tenant,
  wait,
  type StoreUnderTest,
} from '../../testing/store-suite/examples.ts';
import { networkFaults, putNetworkBefore } from '../../testing/store-suite/random/network-under-test.ts';
import { storeSuite } from '../../testing/store-suite/store-suite.ts';

const server = await startRedis();
if (typeof server === 'string') console.warn(`The Redis store was not tested: ${server}`);
const serverOf = (): RedisUnderTest => server as RedisUnderTest;

async function createUnderTest(): Promise<StoreUnderTest> {
  await serverOf().empty();
  const { advance, crash } = serverOf();
  return { store: openOn(serverOf()), advance, crash, reopen: () => openOn(serverOf()) };
}

describe.skipIf(typeof server === 'string')(`Redis store${typeof server === 'string' ? `: ${server}` : ''}`, () => {
  afterAll(() => serverOf().stop());

  describe('alone', () => {
    storeSuite({ test, create: createUnderTest });
  });

  // Only in `npm run prove`, as it takes as long as all else here.
  describe.each(isProving ? [4] : [])('behind a network, seed %i', (seed) => {
    let networks = 500;
    storeSuite({
      test,
      create: async () => putNetworkBefore(await createUnderTest(), networkFaults, (networks += 1)),
      seed,
    });
  });

  blobSuite({
    test,
    create: async () => {
      await serverOf().empty();
      const store = openOn(serverOf());
      return { blobs: store.blobs, advance: serverOf().advance, dispose: () => store.close() };
    },
  });

  memoriesSuite({
    test,
    create: async () => {
      await serverOf().empty();
      const store = openOn(serverOf());
      return { ...store.memories, close: () => store.close() };
    },
  });

  test('L5.1 pieces of a run are read in order after a number, by other connections, and removed by number or all at once', async () => {
    await serverOf().empty();
    const [store, other] = [openOn(serverOf()), openOn(serverOf())];
    const run = { tenant: 't', runId: 'r\0' };
    const pieces = [1, 2, 3].map((n) => ({ n, node: ['a', 'b\0'], detail: { text: `${n}\0` } }));
    await store.live?.write(run, { add: pieces });
    expect(await other.live?.read(run, 1)).toEqual(pieces.slice(1));
    await store.live?.write(run, { remove: [2], add: [{ n: 4, node: ['a'], detail: 4 }] });
    expect((await other.live?.read(run, -1))?.map(({ n }) => n)).toEqual([1, 3, 4]);
    await store.live?.write(run, { remove: 'all' });
    expect(await other.live?.read(run, -1)).toEqual([]);
    await Promise.all([store.close(), other.close()]);
  });

  test('P6 keys of a newer layout are refused by name, and nothing is written', async () => {
    await serverOf().empty();
    const first = openOn(serverOf());
    await first.readIdentity();
    await first.close();
    const [key = ''] = (await serverOf().run('KEYS', '*store')) as readonly string[];
    await serverOf().run('HSET', key, 'layout', '1000');
    const store = openOn(serverOf());
    await expectCode(startRun(store, 'r'), 'STORE_VERSION_UNKNOWN');
    await expectCode(store.listRuns({ tenant }), 'STORE_VERSION_UNKNOWN');
    await store.close();
    expect(await serverOf().run('KEYS', '*run:*')).toEqual([]);
  });

  test('S2 what was acknowledged is there after a SIGKILL of the server under load, and each claim holds', async () => {
    await serverOf().empty();
    const stores = [openOn(serverOf()), openOn(serverOf())] as const;
    const claims = await Promise.all(['a', 'b', 'c', 'd'].map((id, i) => startRun(stores[i % 2] ?? stores[0], id)));
    const heads = new Map<string, number>();
    const refused: string[] = [];
    let acknowledged = 0;
    const isLoaded = Promise.withResolvers<void>();
    const write = async (claim: Claim, store: Store): Promise<void> => {
      try {
        for (let seq = 1; ; seq += 1) {
          await store.commit(commitOf(claim, seq, { openWaits: [wait(`w${seq}`)], durability: 'power' }));
          heads.set(claim.runId, seq);
          if ((acknowledged += 1) === 200) isLoaded.resolve();
        }
      } catch (error) {
        refused.push((error as CairnError).code);
      }
    };
    const writers = claims.map((claim, i) => write(claim, stores[i % 2] ?? stores[0]));
    await isLoaded.promise;
    await serverOf().crash();
    await Promise.all(writers);
    expect(['STORE_UNAVAILABLE', 'STORE_BUSY']).toEqual(expect.arrayContaining(refused));
    for (const claim of claims) {
      const { runId } = claim;
      const row = await stores[0].readRun(keyOf(runId));
      const head = row?.head ?? -1;
      const acknowledgedHead = heads.get(runId) ?? 0;
      // What was under way may be written too, one commit at most.
      expect([acknowledgedHead, acknowledgedHead + 1]).toContain(head);
      expect(row?.claim?.workerId).toBe(claim.workerId);
      const rows = await stores[0].readCheckpoints(keyOf(runId), { from: 0, to: Infinity });
      expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: head + 1 }, (_, seq) => seq));
      // Each commit is whole: its wait is there if and only if its row is.
      const { rows: waits } = await stores[0].listWaits({ tenant, runId, limit: 100_000 });
      expect(waits.length).toBe(head);
      const { workerId } = claim;
      expect(await stores[0].claimRun({ ...keyOf(runId), workerId: 'two', leaseMs })).toMatchObject({
        owner: workerId,
      });
      expect(await stores[1].commit(commitOf(claim, head + 1))).toEqual({ isHeld: true });
      const taken = await stores[1].claimRun({ ...keyOf(runId), workerId: 'two', leaseMs, takeFrom: workerId });
      expect(taken.claim?.token).toBeGreaterThan(claim.token);
      const again = await stores[0].commit(commitOf(claim, head + 2)).catch((error: unknown) => String(error));
      expect(again).toContain(`token ${claim.token} is not ${taken.claim?.token}`);
    }
    await Promise.all(stores.map((store) => store.close()));
  });

  test('O2 after a start from an older snapshot no token comes back, and of the claims the newest that is known holds', async () => {
    await serverOf().empty();
    const store = openOn(serverOf());
    const first = await startRun(store, 'run');
    await startRun(store, 'other');
    serverOf().save();
    const tokens = new Set<number>();
    const lost: Claim[] = [];
    for (let claims = 0; claims < 20; claims += 1) {
      const { claim } = await store.claimRun({ ...keyOf('run'), workerId: 'one', leaseMs, takeFrom: 'one' });
      if (claim === undefined) throw new Error('no claim');
      tokens.add(claim.token);
      lost.push(claim);
    }
    const newest = lost.at(-1) as Claim;
    for (let seq = 1; seq < 10; seq += 1) await store.commit(commitOf(newest, seq));
    await serverOf().goBack();
    // A connection that broke is told by the first call on it.
    await store.readRun(keyOf('run')).catch(() => undefined);
    expect(await store.readRun(keyOf('run'))).toMatchObject({ head: 0 });
    await expectCode(store.commit(commitOf(newest, 1)), 'CLAIM_FENCED');
    await expectCode(store.commit(commitOf(first, 10)), 'COMMIT_CONFLICT');
    expect(await store.renewClaims([newest, first])).toEqual([
      { isHeld: false, current: first.token },
      { isHeld: true, hasMessages: false },
    ]);
    expect(await store.claimNext({ tenant, workerId: 'two', leaseMs, limit: 10 })).toEqual([]);
    await serverOf().advance(leaseMs + 1);
    const granted = await store.claimNext({ tenant, workerId: 'two', leaseMs, limit: 10 });
    expect(granted.map(({ run }) => run.runId).sort()).toEqual(['other', 'run']);
    for (const { claim } of granted) {
      expect(tokens.has(claim.token)).toBe(false);
      expect(claim.token).toBeGreaterThan(newest.token);
    }
    await store.close();
  });

  test('O2 after a failover to a replica that lacks the last commits no token comes back, and the claim that it has holds', async () => {
    await serverOf().empty();
    const replica = await startRedis('--replicaof', '127.0.0.1', String(serverOf().port));
    if (typeof replica === 'string') throw new Error(replica);
    const proxy = await CuttingProxy.before(serverOf().port);
    const store = openRedisStore({ url: `redis://127.0.0.1:${proxy.port}` });
    try {
      const first = await startRun(store, 'run');
      await store.commit(commitOf(first, 1));
      await until(
        'the replica has the commit',
        async () => {
          const [info, own] = await Promise.all([replica.run('INFO'), serverOf().run('INFO')]);
          const offset = /master_repl_offset:(\d+)/u;
          const [, has] = offset.exec(String(info)) ?? [];
          return String(info).includes('master_link_status:up') && has === offset.exec(String(own))?.[1];
        },
        20,
      );
      await replica.run('REPLICAOF', 'NO', 'ONE');
      // The replica does not hear of this.
      const lost: Claim[] = [];
      for (let claims = 0; claims < 20; claims += 1) {
        const { claim } = await store.claimRun({ ...keyOf('run'), workerId: 'one', leaseMs, takeFrom: 'one' });
        if (claim !== undefined) lost.push(claim);
      }
      const newest = lost.at(-1) as Claim;
      await store.commit(commitOf(newest, 2));
      proxy.turnTo(replica.port);
      // A connection that broke is told by the first call on it.
      await store.readRun(keyOf('run')).catch(() => undefined);
      expect(await store.readRun(keyOf('run'))).toMatchObject({ head: 1 });
      await expectCode(store.commit(commitOf(newest, 2)), 'CLAIM_FENCED');
      const { claim } = await store.claimRun({ ...keyOf('run'), workerId: 'two', leaseMs, takeFrom: first.workerId });
      expect(lost).toHaveLength(20);
      expect(claim?.token).toBeGreaterThan(newest.token);
      if (claim !== undefined) await store.commit(commitOf(claim, 2));
    } finally {
      await store.close();
      await proxy.close();
      await replica.stop();
    }
  });

  test('S4 servers that may lose runs are refused by name, and what others promise follows their log', async () => {
    const refusedOf = async (...settings: readonly string[]): Promise<string> => {
      const other = await startRedis(...settings);
      if (typeof other === 'string') return other;
      const store = openOn(other);
      const error = await store.readIdentity().catch((thrown: unknown) => thrown as CairnError);
      await store.close();
      await other.stop();
      return String(error);
    };
    expect(await refusedOf('--maxmemory-policy', 'allkeys-lru')).toMatch(/evicts keys.*noeviction/);
    expect(await refusedOf('--cluster-enabled', 'yes')).toMatch(/is a Cluster/);
    expect(await refusedOf('--replicaof', '127.0.0.1', String(serverOf().port))).toMatch(/replica; name the primary/);
    const promised = async (setting: string, value: string): Promise<unknown> => {
      await serverOf().run('CONFIG', 'SET', setting, value);
      const store = openOn(serverOf());
      await store.ready();
      const [found] = await store.examine();
      const { durability } = store.capabilities;
      await store.close();
      return [durability, found?.verdict, found?.detail.split(':')[0]];
    };
    expect(await promised('appendfsync', 'everysec')).toEqual(['process', 'warning', 'appendfsync everysec']);
    expect(await promised('appendfsync', 'no')).toEqual(['process', 'warning', 'appendfsync no']);
    expect(await promised('appendfsync', 'always')).toEqual(['power', 'ok', 'appendfsync always']);
    expect(await promised('appendonly', 'no')).toEqual(['process', 'warning', 'appendonly no']);
    expect(await promised('appendonly', 'yes')).toEqual(['power', 'ok', 'appendfsync always']);
  });

  test('S9.3 a policy of eviction that is set while runs go on stops all writes until it is set back, and is told by name', async () => {
    await serverOf().empty();
    const store = openOn(serverOf());
    const claim = await startRun(store, 'run');
    await serverOf().run('CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru');
    // The settings are looked at every five seconds.
    await serverOf().advance(5_001);
    await expect(store.commit(commitOf(claim, 1))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('maxmemory-policy volatile-lru') as string,
      data: { written: 'no' },
    });
    expect(await store.readRun(keyOf('run'))).toMatchObject({ head: 0 });
    await serverOf().run('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    expect(await store.commit(commitOf(claim, 1))).toEqual({ isHeld: true });
    await store.close();
  });

  test('S4 a commit after which an effect begins warns once where the server may lose it', async () => {
    await serverOf().empty();
    await serverOf().run('CONFIG', 'SET', 'appendfsync', 'everysec');
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const store = openOn(serverOf());
    try {
      const claim = await startRun(store, 'run');
      await store.commit(commitOf(claim, 1, { durability: 'power' }));
      expect(warn).not.toHaveBeenCalled();
      for (const seq of [2, 3]) await store.commit(commitOf(claim, seq, { durability: 'power', beginsEffects: true }));
      expect(warn.mock.calls.map(([text]) => String(text))).toEqual([
        expect.stringContaining('write or external node'),
      ]);
    } finally {
      warn.mockRestore();
      await store.close();
      await serverOf().run('CONFIG', 'SET', 'appendfsync', 'always');
    }
  });

  test('S4 over TLS a certificate that is not trusted, or is for another host, is refused', async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'cairn-tls-'));
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    const made = spawnSync('openssl', ['req', '-x509', ...curve, ...subject, '-keyout', key, '-out', certificate]);
    if (made.status !== 0) context.skip('openssl is not there to make a certificate');
    const port = await findFreePort();
    const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate];
    const other = await startRedis('--tls-port', String(port), ...files, '--tls-auth-clients', 'no');
    if (typeof other === 'string') throw new Error(other);
    const answerOf = async (url: string): Promise<unknown> => {
      const store = openRedisStore({ url: `rediss://${url}` });
      const answer = await store.readIdentity().catch((thrown: unknown) => thrown as CairnError);
      await store.close();
      return typeof answer === 'string' ? 'connected' : String(answer);
    };
    expect(await answerOf(`localhost:${port}?ca=${certificate}`)).toBe('connected');
    expect(await answerOf(`localhost:${port}?connect_timeout=0.2`)).toMatch(/self-signed certificate/);
    expect(await answerOf(`127.0.0.1:${port}?connect_timeout=0.2&ca=${certificate}`)).toMatch(/not in the cert's list/);
    await other.stop();
    rmSync(folder, { recursive: true });
  });

  test('W5 who watches is woken when a connection that listens is there again: what was written meanwhile woke nobody', async () => {
    await serverOf().empty();
    const store = openOn(serverOf());
    const woken: (string | undefined)[] = [];
    store.watch?.(tenant, (runId) => woken.push(runId));
    await until('the connection listens', () => store.hearsOthers?.() === true, 20);
    await serverOf().run('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await until('it listens again', () => woken.length > 0, 20);
    // Of all runs: nobody knows which ones they are.
    expect([...new Set(woken)]).toEqual([undefined]);
    await store.close();
  });

  test('S3 a server without room refuses writes by name, and still gives claims back', async () => {
    await serverOf().empty();
    const store = openOn(serverOf());
    const claim = await startRun(store, 'run');
    await serverOf().run('CONFIG', 'SET', 'maxmemory', '1');
    try {
      await expectCode(store.commit(commitOf(claim, 1)), 'STORE_FULL');
      expect(await store.renewClaims([claim])).toMatchObject([{ isHeld: true }]);
      await store.releaseClaim(claim);
      await store.removeRun(keyOf('run'));
    } finally {
      await serverOf().run('CONFIG', 'SET', 'maxmemory', '0');
    }
    await store.close();
  });
});
