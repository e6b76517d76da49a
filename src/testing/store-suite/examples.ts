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
export function assertHeld(claim: RunRow['claim'], workerId: string, atMostMs: number): void {
  assert.equal(claim?.workerId, workerId);
  assertRemaining(claim.remainingMs, atMostMs);
}

export async function openWaitIds(store: Store, runId: string): Promise<string[]> {
  const { rows } = await store.listWaits({ tenant, runId });
  return rows.map(({ waitId }) => waitId);
}
