/** Random tests: calls one after another, compared with a model; and parallel calls, checked for what must hold in every order. */

import assert from 'node:assert/strict';
import type { Claim, Store } from '../../../ports/store.ts';
import { CairnError } from '../../../errors.ts';
import { createSeededRandom, type SeededRandom } from '../../../ports/seeded-random.ts';
import {
  admission,
  bytesOf,
  checksumOf,
  keyOf,
  leaseMs,
  message,
  openWaitIds,
  requireRun,
  tenant,
  wait,
  type SuitePart,
} from '../examples.ts';
import { RandomCaller, followCall, freshRun, makeCall, type RunState } from './linearizability.ts';

const sequences = 12;
const callsEach = 60;

export const randomUseTests: SuitePart = {
  tests: {
    'S2 any sequence of calls is answered as the model answers': async ({ store, advance, reopen, seed }) => {
      const other = (await reopen()) ?? store;
      for (let sequence = 0; sequence < sequences; sequence += 1) {
        const random = createSeededRandom(seed * 1000 + sequence);
        const runId = `run ${sequence}`;
        await store.admitRun(admission(runId));
        const caller = new RandomCaller(random, store, runId);
        let state: RunState = freshRun;
        const trace: string[] = [];
        for (let index = 0; index < callsEach; index += 1) {
          if (random.chance(0.03)) {
            await advance(leaseMs);
            state = await settleExpiry(store, runId, state);
          }
          const call = await caller.next();
          const reply = await makeCall(random.chance(0.5) ? store : other, runId, call);
          trace.push(`${JSON.stringify(call)} -> ${reply}`);
          const next = followCall(state, call, reply);
          assert.ok(
            next,
            `seed ${seed}, sequence ${sequence}: not as the model\n${JSON.stringify(state)}\n${trace.join('\n')}`,
          );
          state = next;
          caller.hear(call, reply);
        }
        await assertSame(store, runId, state);
      }
    },

    'P4 workers that fight over runs leave a history without gaps or strangers': async ({ store, reopen, seed }) => {
      const other = (await reopen()) ?? store;
      const random = createSeededRandom(seed);
      const runIds = ['a', 'b', 'c'];
      for (const runId of runIds) await store.admitRun(admission(runId, { waits: [wait('w')] }));
      const fights = Array.from({ length: 8 }, (_, index) =>
        fight(index % 2 === 0 ? store : other, `worker ${index}`, runIds, random.fork()),
      );
      const reports = await Promise.all(fights);
      for (const runId of runIds) {
        const acknowledged = reports.flatMap(({ commits }) => commits.filter((commit) => commit.runId === runId));
        await assertHistory(store, runId, acknowledged, `seed ${seed}`);
      }
      const accepted = reports.flatMap(({ answers }) => answers);
      assert.deepEqual([...accepted].sort(), runIds, `seed ${seed}: each wait is answered once`);
    },
  },
};

/** If an owner's lease has run out, releases the claim, so that the model needs no notion of time. */
async function settleExpiry(store: Store, runId: string, state: RunState): Promise<RunState> {
  await store.releaseClaim({ tenant, runId, workerId: 'any', token: state.token, leaseMs });
  return { ...state, owner: undefined };
}

async function assertSame(store: Store, runId: string, state: RunState): Promise<void> {
  const rows = await store.readCheckpoints(keyOf(runId), { from: 0, to: 1e9 });
  assert.deepEqual(
    rows.map(({ body }) => new TextDecoder().decode(body)),
    state.texts,
  );
  assert.deepEqual(await openWaitIds(store, runId), state.waits);
  const posted = await store.readMessages(keyOf(runId));
  assert.deepEqual(
    posted.map(({ kind, name, body }) => [kind, name, new TextDecoder().decode(body)]),
    state.messages.filter(({ isTaken }) => !isTaken).map(({ type, name, text }) => [type, name, text]),
  );
}

interface Acknowledged {
  readonly runId: string;
  readonly seq: number;
  readonly token: number;
  readonly text: string;
}

/** Takes claims over from other workers, sends a few commits at once, and answers the wait. Reports what was acknowledged. */
async function fight(
  store: Store,
  workerId: string,
  runIds: readonly string[],
  random: SeededRandom,
): Promise<{ commits: Acknowledged[]; answers: string[] }> {
  const commits: Acknowledged[] = [];
  const answers: string[] = [];
  for (let round = 0; round < 12; round += 1) {
    const runId = random.pick(runIds);
    const posted = await store.postMessage(message(runId, { kind: 'answer', name: 'w', body: bytesOf(workerId) }));
    if (posted.status === 'accepted') answers.push(runId);
    const takeFrom = (await requireRun(store, runId)).claim?.workerId;
    const reply = await store.claimRun({
      tenant,
      runId,
      workerId,
      leaseMs,
      ...(takeFrom !== undefined && random.chance(0.7) ? { takeFrom } : {}),
    });
    if (reply.claim === undefined) continue;
    const { claim, run } = reply;
    const seqs = Array.from({ length: 1 + random.integer(5) }, (_, index) => run.head + 1 + index);
    const replies = await Promise.all(seqs.map((seq) => commitText(store, claim, seq, `${workerId} ${round}`)));
    commits.push(...replies.filter((one) => one !== undefined));
    if (random.chance(0.3)) await store.releaseClaim(claim);
  }
  return { commits, answers };
}

async function commitText(store: Store, claim: Claim, seq: number, by: string): Promise<Acknowledged | undefined> {
  const text = `${claim.token} ${by} ${seq}`;
  try {
    const checkpoint = { seq, at: seq, body: bytesOf(text), checksum: checksumOf(text) };
    await store.commit({ claim, checkpoint, durability: 'process' });
    return { runId: claim.runId, seq, token: claim.token, text };
  } catch (error) {
    if (CairnError.is(error, 'CLAIM_FENCED') || CairnError.is(error, 'COMMIT_CONFLICT')) return undefined;
    throw error;
  }
}

/** Checks that exactly the acknowledged commits are stored, seqs have no gaps, and tokens only grow. */
async function assertHistory(store: Store, runId: string, acknowledged: Acknowledged[], label: string): Promise<void> {
  const rows = (await store.readCheckpoints(keyOf(runId), { from: 1, to: 1e9 })).map(({ seq, body }) => ({
    seq,
    text: new TextDecoder().decode(body),
  }));
  const expected = acknowledged.sort((a, b) => a.seq - b.seq).map(({ seq, text }) => ({ seq, text }));
  assert.deepEqual(rows, expected, label);
  assert.deepEqual(
    rows.map(({ seq }) => seq),
    rows.map((_, index) => index + 1),
    label,
  );
  const tokens = rows.map(({ text }) => Number(text.split(' ')[0]));
  assert.deepEqual(
    tokens,
    [...tokens].sort((a, b) => a - b),
    label,
  );
  assert.equal((await requireRun(store, runId)).head, rows.length, label);
}
