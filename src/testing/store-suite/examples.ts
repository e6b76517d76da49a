/** Example rows for the suite's tests, and assertions about replies. */
import assert from 'node:assert/strict';
import { CairnError, type ErrorCode } from '../../errors.ts';
import type {
  Admission,
  CheckpointRow,
  Claim,
  Commit,
  Message,
  RunKey,
  RunRow,
  SnapshotRow,
  Store,
  WaitRow,
} from '../../ports/store.ts';

export const tenant = 'acme';

export const keyOf = (runId: string): RunKey => ({ tenant, runId });

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** 32 bytes that depend on the text. */
export function checksumOf(text: string): Uint8Array {
  const checksum = new Uint8Array(32);
  let hash = 2_166_136_261;
  for (const byte of bytesOf(text)) hash = Math.imul(hash ^ byte, 16_777_619);
  new DataView(checksum.buffer).setUint32(0, hash >>> 0);
  checksum.set(bytesOf(text).slice(0, 28), 4);
  return checksum;
}

export function checkpoint(seq: number, text = `body ${seq}`): CheckpointRow {
  return { seq, at: 1000 + seq, body: bytesOf(text), checksum: checksumOf(text) };
}

export function snapshot(seq: number, text = `snapshot ${seq}`): SnapshotRow {
  return { seq, body: bytesOf(text), checksum: checksumOf(text) };
}

export function wait(waitId: string, fields: Partial<WaitRow> = {}): WaitRow {
  return { waitId, kind: 'question', body: bytesOf(`about ${waitId}`), checksum: checksumOf(waitId), ...fields };
}

export function admission(runId: string, fields: Partial<Admission> = {}): Admission {
  const first = fields.parent === undefined ? 0 : fields.parent.seq + 1;
  return {
    tenant,
    runId,
    key: keyText(runId),
    graphId: 'graph',
    graphHash: 'hash',
    status: 'running',
    meta: bytesOf(`meta of ${runId}`),
    checkpoint: checkpoint(first),
    waits: [],
    durability: 'process',
    ...fields,
  };
}

/** 16 hex digits. */
function keyText(runId: string): string {
  return Buffer.from(checksumOf(runId).slice(0, 8)).toString('hex');
}

export function message(runId: string, fields: Partial<Message> = {}): Message {
  const body = bytesOf('hello');
  return { tenant, runId, kind: 'signal', name: 'hello', body, at: 5000, checksum: checksumOf('hello'), ...fields };
}

export const leaseMs = 10_000;

/** Admits a run and claims it. */
export async function startRun(store: Store, runId: string, fields: Partial<Admission> = {}): Promise<Claim> {
  const { claim } = await store.admitRun(admission(runId, { claim: { workerId: 'one', leaseMs }, ...fields }));
  assert.ok(claim, 'the admission was claimed');
  return claim;
}

export async function requireClaim(store: Store, runId: string, workerId: string, takeFrom?: string): Promise<Claim> {
  const reply = await store.claimRun({
    tenant,
    runId,
    workerId,
    leaseMs,
    ...(takeFrom === undefined ? {} : { takeFrom }),
  });
  assert.ok(reply.claim, `${workerId} was granted the claim`);
  return reply.claim;
}

/** Renews one claim. @returns what became of it */
export async function renew(store: Store, claim: Claim): Promise<'held' | 'fenced'> {
  const [renewal, ...others] = await store.renewClaims([claim]);
  assert.deepEqual(others, []);
  return renewal?.isHeld === true ? 'held' : 'fenced';
}

export function commitOf(claim: Claim, seq: number, fields: Partial<Commit> = {}): Commit {
  return { claim, checkpoint: checkpoint(seq), durability: 'process', ...fields };
}

/** Commits the seqs `from` to `to`, all at the same time. */
export async function commitMany(store: Store, claim: Claim, from: number, to: number): Promise<void> {
  const seqs = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  await Promise.all(seqs.map((seq) => store.commit(commitOf(claim, seq))));
}

export async function expectCode(promise: Promise<unknown>, code: ErrorCode): Promise<CairnError> {
  const error: unknown = await promise.then(
    (value) => assert.fail(`expected ${code}, got ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!CairnError.is(error)) throw error;
  assert.equal(error.code, code);
  return error;
}

export async function readSeqs(store: Store, runId: string): Promise<number[]> {
  const rows = await store.readCheckpoints(keyOf(runId), { from: 0, to: Number.MAX_SAFE_INTEGER });
  return rows.map(({ seq }) => seq);
}

export async function requireRun(
  store: Store,
  runId: string,
): Promise<NonNullable<Awaited<ReturnType<Store['readRun']>>>> {
  const run = await store.readRun(keyOf(runId));
  assert.ok(run, `run ${runId} is there`);
  return run;
}

/** Asserts a remaining lease. A store's clock may advance during the test, by less than half a lease. */
export function assertRemaining(remainingMs: unknown, atMostMs: number): void {
  assert.equal(typeof remainingMs, 'number');
  const rest = remainingMs as number;
  assert.ok(rest <= atMostMs && rest > atMostMs - leaseMs / 2, `${rest} ms are left, of ${atMostMs}`);
}

/** Asserts who holds a run and for how long, with the tolerance of {@link assertRemaining}. */
export function assertClaimed(claim: RunRow['claim'], workerId: string, atMostMs: number): void {
  assert.equal(claim?.workerId, workerId);
  assertRemaining(claim.remainingMs, atMostMs);
}

export async function openWaitIds(store: Store, runId: string): Promise<string[]> {
  const { rows } = await store.listWaits({ tenant, runId });
  return rows.map(({ waitId }) => waitId);
}

// The types of the suite, and what each of its tests gets.

/** A store made for one test. */
export interface StoreUnderTest {
  /** An empty store. */
  readonly store: Store;
  /** Advances the store's clock by this many milliseconds, so that leases run out. */
  readonly advance: (byMs: number) => void | Promise<void>;
  /** Opens the same data again, as another process would. Absent if the store cannot be shared. */
  readonly reopen?: () => Store | Promise<Store>;
  /** Crashes the store's server and starts it again. Absent if it has none. */
  readonly crash?: () => Promise<void>;
  /** Called when the test has ended and every store that it opened is closed. */
  readonly dispose?: () => void | Promise<void>;
}

/** Features that an adapter may lack. Default: it has all. For those it lacks, the suite asserts STORE_UNSUPPORTED. */
export interface StoreSupport {
  readonly pruning?: boolean;
  readonly removal?: boolean;
  readonly tags?: boolean;
  /** Default: whether it has a part for limits. */
  readonly limits?: boolean;
}

export interface StoreSuiteOptions {
  /** Registers one test; the `test` function of your test runner. */
  readonly test: (title: string, run: () => Promise<void>) => unknown;
  readonly create: () => StoreUnderTest | Promise<StoreUnderTest>;
  readonly supports?: StoreSupport;
  /** Seed of the random parts, which print it when they fail. Default 1. */
  readonly seed?: number;
}

/** What each test receives. */
export interface Fixture {
  readonly store: Store;
  readonly advance: (byMs: number) => Promise<void>;
  /** Opens the same data in another store; undefined if the store cannot be shared. Closed when the test has ended. */
  readonly reopen: () => Promise<Store | undefined>;
  /** Crashes the store's server and starts it again; absent if it has none. */
  readonly crash?: () => Promise<void>;
  readonly supports: Required<StoreSupport>;
  readonly seed: number;
}

/** Tests by title. */
export type SuiteTests = Readonly<Record<string, (fixture: Fixture) => Promise<void>>>;

/** The tests of one topic. */
export interface SuitePart {
  /** A feature that a store may lack. If it does, `unsupported` is run in place of `tests`. */
  readonly needs?: keyof StoreSupport;
  readonly unsupported?: SuiteTests;
  readonly tests: SuiteTests;
}

/** Registers the tests of a part. */
export function registerPart(
  part: SuitePart,
  { test, create, supports: supported, seed = 1 }: StoreSuiteOptions,
): void {
  const supports = { pruning: true, removal: true, tags: true, limits: true, ...supported };
  const isSupported = part.needs === undefined || supports[part.needs];
  for (const [title, run] of Object.entries(isSupported ? part.tests : (part.unsupported ?? {}))) {
    test(title, () => useStore(create, (fixture) => run({ ...fixture, supports, seed })));
  }
}

async function useStore(
  create: StoreSuiteOptions['create'],
  run: (fixture: Omit<Fixture, 'supports' | 'seed'>) => Promise<void>,
): Promise<void> {
  const made = await create();
  const opened: Store[] = [made.store];
  try {
    await run({
      store: made.store,
      advance: async (byMs) => made.advance(byMs),
      ...(made.crash && { crash: made.crash }),
      reopen: async () => {
        const again = await made.reopen?.();
        if (again !== undefined) opened.push(again);
        return again;
      },
    });
  } finally {
    for (const store of opened) await store.close();
    await made.dispose?.();
  }
}

// Tests of reading checkpoints and snapshots by seq.

export const historyReadsTests: SuitePart = {
  tests: {
    'S1 checkpoints are read by range, ascending, up to a limit': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await commitMany(store, claim, 1, 20);
      const read = async (from: number, to: number, limit?: number): Promise<number[]> => {
        const rows = await store.readCheckpoints(keyOf('run'), { from, to, ...(limit === undefined ? {} : { limit }) });
        return rows.map(({ seq }) => seq);
      };
      assert.deepEqual(await read(3, 6), [3, 4, 5, 6]);
      assert.deepEqual(await read(18, 99), [18, 19, 20]);
      assert.deepEqual(await read(5, 5), [5]);
      assert.deepEqual(await read(6, 5), []);
      assert.deepEqual(await read(3, 20, 2), [3, 4]);
      assert.deepEqual(await read(21, 99), []);
      assert.equal((await read(0, Number.MAX_SAFE_INTEGER)).length, 21);
    },

    'S1 a read shows one run only, not its ancestors and not its neighbours': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await startRun(store, 'runt');
      await commitMany(store, claim, 1, 5);
      await store.admitRun(admission('fork', { parent: { runId: 'run', seq: 3 } }));
      assert.deepEqual(await store.readCheckpoints(keyOf('fork'), { from: 0, to: 99 }), [checkpoint(4)]);
      assert.deepEqual(await store.readCheckpoints(keyOf('runt'), { from: 0, to: 99 }), [checkpoint(0)]);
      assert.equal(await store.readSnapshot(keyOf('fork'), 99), undefined);
    },

    'S1 what is not there reads as nothing': async ({ store }) => {
      assert.equal(await store.readRun(keyOf('none')), undefined);
      assert.deepEqual(await store.readCheckpoints(keyOf('none'), { from: 0, to: 9 }), []);
      assert.equal(await store.readSnapshot(keyOf('none'), 9), undefined);
      assert.deepEqual(await store.readMessages(keyOf('none')), []);
      assert.deepEqual(await store.readTags(keyOf('none')), []);
      assert.deepEqual(await store.findRuns('acme', '', 10), []);
    },

    'C4 the newest snapshot at or before a seq is found': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await commitMany(store, claim, 1, 30);
      for (const seq of [20, 10, 25]) await store.writeSnapshot(keyOf('run'), snapshot(seq));
      const found = async (at: number): Promise<number | undefined> =>
        (await store.readSnapshot(keyOf('run'), at))?.seq;
      assert.deepEqual(await Promise.all([9, 10, 19, 20, 24, 25, 30, 99].map(found)), [
        undefined,
        10,
        10,
        20,
        20,
        25,
        25,
        25,
      ]);
      assert.deepEqual(await store.readSnapshot(keyOf('run'), 22), snapshot(20));
    },

    'C4 a snapshot of a checkpoint that is not there is refused': async ({ store }) => {
      await startRun(store, 'run');
      await expectCode(store.writeSnapshot(keyOf('run'), snapshot(1)), 'CHECKPOINT_NOT_FOUND');
      await expectCode(store.writeSnapshot(keyOf('none'), snapshot(0)), 'CHECKPOINT_NOT_FOUND');
      assert.equal(await store.readSnapshot(keyOf('run'), 9), undefined);
    },

    'S4 runs are found by the beginning of their id or key, in order of id': async ({ store }) => {
      const admissions = [
        admission('aa-2', { key: '1111111111111111' }),
        admission('aa-1', { key: '2222222222222222' }),
        admission('bb-1', { key: '1122222222222222' }),
        admission('b_%', { key: '3333333333333333' }),
      ];
      for (const one of admissions) await store.admitRun(one);
      const find = async (prefix: string, limit = 10): Promise<string[]> =>
        (await store.findRuns('acme', prefix, limit)).map(({ runId }) => runId);
      assert.deepEqual(await find('aa'), ['aa-1', 'aa-2']);
      assert.deepEqual(await find('aa-1'), ['aa-1']);
      assert.deepEqual(await find('11'), ['aa-2', 'bb-1']);
      assert.deepEqual(await find('2222222222222222'), ['aa-1']);
      assert.deepEqual(await find(''), ['aa-1', 'aa-2', 'b_%', 'bb-1']);
      assert.deepEqual(await find('', 2), ['aa-1', 'aa-2']);
      assert.deepEqual(await find('b_'), ['b_%'], 'no pattern letters');
      assert.deepEqual(await find('zz'), []);
    },
  },
};
