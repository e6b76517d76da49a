import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test, vi } from 'vitest';
import type { BlockedLoop } from '../../ports/lease-guard.ts';
import type { Claim, Store } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { within } from '../../../test/support/awaited.ts';
import { createLeaseGuard } from './lease-guard.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const claim: Claim = { tenant: 't', runId: 'r', workerId: 'w', token: 1, leaseMs: 400 };
const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** A store that processes share. Its thread holds each claim whose token is 1, and fails to connect at first. */
function sharedStore(more: Partial<Store> = {}): Store {
  const connect = `({ shared }) => {
    const calls = new Int32Array(shared);
    if (Atomics.add(calls, 0, 1) === 0) throw new Error('away');
    return { renew: (claims) => claims.map(({ token }) => token === 1), close: () => {} };
  }`;
  const data = { shared: new SharedArrayBuffer(4) };
  const capabilities = { durability: 'power', isShared: true } as const;
  return { ...createMemoryStore(), name: 'shared:', capabilities, renewalSource: () => ({ connect, data }), ...more };
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('O2.9 a claim is renewed while the loop is blocked, once the store can be reached, and one that is lost is not', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const guard = createLeaseGuard({ store: sharedStore(), leaseMs: 400 });
  guard?.start();
  const [held, lost] = [1, 2].map((token) => guard?.hold({ ...claim, token }, monotonicMs()));
  guard?.begins('g', 'r', ['outer', 'n'], monotonicMs());
  const since = monotonicMs();
  while (held?.renewedByGuard() === undefined && monotonicMs() - since < 20_000) block(500);
  expect(held?.renewedByGuard()?.monotonicMs).toBeGreaterThan(since);
  expect(held?.renewedByGuard()?.wallAgoMs).toBeLessThan(monotonicMs() - since);
  expect(lost?.renewedByGuard()).toBeUndefined();
  block(2_000);
  await within(
    'it is told',
    vi.waitFor(() => expect(warned).toHaveBeenCalled(), 10_000),
  );
  const [text, { code }] = warned.mock.calls[0] as unknown as [string, { readonly code: string }];
  expect([text, code]).toEqual([
    expect.stringMatching(/^node outer\/n of graph g \(run r\) held the event loop for \d+\.\d s: /),
    'CAIRN_LOOP_BLOCKED',
  ]);
  guard?.close();
});

test('E10.8 E10.9 who listens is told each time of a node that held the loop; what it logs is not warned of', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const guard = createLeaseGuard({ store: sharedStore(), leaseMs: 400 });
  const told: BlockedLoop[] = [];
  guard?.tell((blocked) => told.push(blocked) > 0);
  guard?.start();
  guard?.begins('g', 'r', ['n'], monotonicMs());
  // The thread has to be there first.
  for (let times = 0; told.length < 2 && times < 20; times += 1) {
    block(1_500);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(told.slice(0, 2)).toEqual(
    [true, false].map((isNew) => ({
      graphId: 'g',
      runId: 'r',
      node: 'n',
      isNew,
      heldMs: expect.any(Number) as number,
    })),
  );
  expect(told[0]?.heldMs).toBeGreaterThan(1_000);
  expect(warned).not.toHaveBeenCalled();
  guard?.close();
});

test('O2.9 the node that held the loop is named, also if others begin before the loop turns', async () => {
  const guard = createLeaseGuard({ store: sharedStore(), leaseMs: 400 });
  const told: string[] = [];
  guard?.tell(({ node }) => told.push(node) > 0);
  guard?.start();
  for (let times = 0; told.length === 0 && times < 20; times += 1) {
    guard?.begins('g', 'r', ['computes'], monotonicMs());
    block(1_500);
    guard?.begins('g', 'r', ['next'], monotonicMs());
    guard?.begins('g', 'r', ['last'], monotonicMs());
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(told[0]).toBe('computes');
  guard?.close();
});

test('O2.9 a loop that was blocked for less than a part of the lease is left to renew it itself', () => {
  const data = { shared: new SharedArrayBuffer(4) };
  const connect = `({ shared }) => { Atomics.add(new Int32Array(shared), 0, 1); }`;
  const store = sharedStore({ renewalSource: () => ({ connect, data }) });
  const guard = createLeaseGuard({ store, leaseMs: 60_000 });
  guard?.start();
  guard?.hold({ ...claim, leaseMs: 60_000 }, monotonicMs());
  block(1_500);
  expect(new Int32Array(data.shared)[0]).toBe(0);
  guard?.close();
});

test('O2.9 each of many claims is renewed by its own token, also in the place of one that was given up', async () => {
  const guard = createLeaseGuard({ store: sharedStore(), leaseMs: 400 });
  const claims = Array.from({ length: 200 }, (_, index) =>
    guard?.hold({ ...claim, runId: `run ${index}`, token: index % 2 }, monotonicMs()),
  );
  claims[1]?.release();
  // It takes the place of the one that was given up.
  const next = guard?.hold({ ...claim, runId: 'n', token: 1 }, monotonicMs());
  // Nobody may free the place of another by giving up twice.
  claims[1]?.release();
  guard?.start();
  const since = monotonicMs();
  while (claims[3]?.renewedByGuard() === undefined && monotonicMs() - since < 20_000) block(500);
  const renewed = claims.map((each) => each?.renewedByGuard() !== undefined);
  expect(renewed.slice(2)).toEqual(claims.slice(2).map((_, index) => index % 2 === 1));
  expect(next?.renewedByGuard()).toBeDefined();
  guard?.close();
});

test('O2.9 a claim whose id is too long for its place is left alone', () => {
  const guard = createLeaseGuard({ store: sharedStore(), leaseMs: 400 });
  const long = guard?.hold({ ...claim, runId: 'r'.repeat(5_000) }, monotonicMs());
  const held = guard?.hold(claim, monotonicMs());
  guard?.start();
  const since = monotonicMs();
  while (held?.renewedByGuard() === undefined && monotonicMs() - since < 20_000) block(500);
  expect([held?.renewedByGuard() !== undefined, long?.renewedByGuard()]).toEqual([true, undefined]);
  long?.release();
  guard?.close();
});

test('O2.9 a store that a thread cannot open says so at the start', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const name = `own pool ${Math.random()}`;
  for (let times = 0; times < 2; times += 1)
    createLeaseGuard({ store: sharedStore({ name, renewalSource: () => 'its pool is secret' }) })?.start();
  expect(warned.mock.calls).toEqual([
    [
      expect.stringContaining(`${name}: leases are not renewed while a node holds the event loop: its pool is secret`),
      { code: 'CAIRN_LEASES_UNGUARDED' },
    ],
  ]);
});

test('O2.9 a store of one process, and busyMaxMs 0, need no guard', () => {
  expect(createLeaseGuard({ store: createMemoryStore() })).toBeUndefined();
  expect(createLeaseGuard({ store: sharedStore(), busyMaxMs: 0 })).toBeUndefined();
});

test('O2.9 a process whose parent tells of its end is ended when its loop is blocked for longer than busyMaxMs', async () => {
  const script = `
    import { createLeaseGuard, endWhenBlocked } from ${JSON.stringify(new URL('lease-guard.ts', import.meta.url).href)};
    endWhenBlocked(3);
    const store = { name: 's', capabilities: { isShared: true }, renewalSource: () => ({ connect: '() => ({})', data: {} }) };
    const guard = createLeaseGuard({ store, leaseMs: 60_000, busyMaxMs: 600 });
    guard.start();
    guard.hold({ tenant: 't', runId: 'r', workerId: 'w', token: 1, leaseMs: 60_000 }, Number(process.hrtime.bigint()) / 1e6);
    guard.begins('g', 'r', ['n'], Number(process.hrtime.bigint()) / 1e6);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  let [said, reported] = ['', ''];
  child.stdio[3]?.on('data', (chunk: Buffer) => (reported += chunk.toString()));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [, signal] = (await within('the process is ended', once(child, 'close'))) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
  expect(JSON.parse(reported)).toEqual({ kind: 'blocked', heldMs: expect.any(Number) as number });
  expect(said).toMatch(
    /cairn: node n of run r has held the event loop of process \d+ for \d+ s \(busyMaxMs\); the process is ended/,
  );
}, 60_000);
