/** Tests of workers: many claims renewed at once, who is alive, and which runs their code is offered. */
import assert from 'node:assert/strict';
import type { NextRequest, Store, WorkerBeat } from '../../ports/store.ts';
import {
  admission,
  assertRemaining,
  bytesOf,
  commitOf,
  leaseMs,
  message,
  renew,
  requireClaim,
  requireRun,
  startRun,
  tenant,
  type SuitePart,
} from './examples.ts';

const odd = 'nul\0 and \x01 "quoted" \u{1f600}';

const beat = (workerId: string, fields: Partial<WorkerBeat> = {}): WorkerBeat => ({
  tenant,
  workerId,
  graphs: {},
  aliveMs: leaseMs,
  body: bytesOf(`about ${workerId}`),
  ...fields,
});

/** Ids of the runs that a worker with this code gets; it gives them back at once. */
async function offered(
  store: Store,
  codes: NextRequest['codes'],
  { refuses = false, isPinned = false } = {},
): Promise<readonly string[]> {
  const granted = await store.claimNext({
    tenant,
    workerId: 'two',
    leaseMs,
    limit: 100,
    ...(codes !== undefined && { codes }),
    ...(isPinned && { isPinned }),
  });
  for (const { claim, run } of granted)
    await (refuses ? store.releaseClaim(claim, codes?.[run.graphId]) : store.releaseClaim(claim));
  return granted.map(({ run }) => run.runId).sort();
}

const admitHashes = async (store: Store, hashes: Readonly<Record<string, string>>): Promise<void> => {
  for (const [runId, graphHash] of Object.entries(hashes)) await store.admitRun(admission(runId, { graphHash }));
};

export const workersTests: SuitePart = {
  tests: {
    'O2 claims are renewed in one call, which tells for each whether it holds and has messages': async ({
      store,
      advance,
    }) => {
      const claims = [];
      for (const runId of ['a', odd, 'c', 'd']) claims.push(await startRun(store, runId));
      const [a, b, c, d] = claims as [(typeof claims)[0], (typeof claims)[0], (typeof claims)[0], (typeof claims)[0]];
      await store.postMessage(message(odd));
      await store.releaseClaim(c);
      const newer = await requireClaim(store, 'd', 'two', 'one');
      await advance(leaseMs / 2);
      const none = { ...a, runId: 'none' };
      const { token: released } = await requireClaim(store, 'c', 'three');
      assert.deepEqual(await store.renewClaims([d, b, none, c, a]), [
        { isHeld: false, current: newer.token },
        { isHeld: true, hasMessages: true },
        { isHeld: false, current: 0 },
        { isHeld: false, current: released },
        { isHeld: true, hasMessages: false },
      ]);
      for (const runId of ['a', odd]) assertRemaining((await requireRun(store, runId)).claim?.remainingMs, leaseMs);
      assertRemaining((await requireRun(store, 'd')).claim?.remainingMs, leaseMs / 2);
      assert.deepEqual(await store.renewClaims([]), []);
      assert.equal(await renew(store, newer), 'held');
    },

    'W5 workers are listed by id, as each last told of itself, until a day has passed': async ({ store, advance }) => {
      assert.deepEqual(await store.listWorkers(tenant), []);
      await store.noteWorker(beat('b', { graphs: { [odd]: odd, g: 'h' } }));
      await store.noteWorker(beat(odd));
      await store.noteWorker(beat('else', { tenant: 'other' }));
      await store.noteWorker(beat('b', { graphs: { g: 'h2', [odd]: odd } }));
      const listed = await store.listWorkers(tenant);
      assert.deepEqual(
        listed.map(({ workerId, graphs, body }) => [workerId, graphs, new TextDecoder().decode(body)]),
        [
          ['b', { g: 'h2', [odd]: odd }, 'about b'],
          [odd, {}, `about ${odd}`],
        ],
      );
      for (const { remainingMs } of listed) assertRemaining(remainingMs, leaseMs);
      await advance(leaseMs + 1);
      await store.noteWorker(beat('b', { aliveMs: 0 }));
      const [stopped, lapsed] = await store.listWorkers(tenant);
      assert.ok((stopped?.remainingMs ?? 1) <= 0 && (lapsed?.remainingMs ?? 1) <= 0);
      assert.ok((stopped?.seenAt ?? 0) > (lapsed?.seenAt ?? 0));
      await advance(24 * 3_600_000 + 1);
      assert.deepEqual(await store.listWorkers(tenant), []);
    },

    'W5 a run of another hash is offered once no live worker has that hash': async ({ store, advance }) => {
      await admitHashes(store, { old: 'old', new: 'new' });
      await store.admitRun(admission('else', { graphId: odd, graphHash: odd }));
      await store.noteWorker(beat('one', { graphs: { graph: 'old', [odd]: odd } }));
      assert.deepEqual(await offered(store, { graph: 'new', [odd]: 'other' }), ['new']);
      assert.deepEqual(await offered(store, { graph: 'old' }), ['else', 'new', 'old']);
      assert.deepEqual(await offered(store, undefined), ['else', 'new', 'old']);
      assert.deepEqual(await offered(store, {}), ['else', 'new', 'old']);
      const listed = await store.listClaimable({ tenant, limit: 9, codes: { graph: 'new', [odd]: 'other' } });
      assert.deepEqual(listed, ['new']);
      await store.noteWorker(beat('one', { graphs: { graph: 'new' } }));
      assert.deepEqual(await offered(store, { graph: 'new', [odd]: 'other' }), ['else', 'new', 'old']);
      await store.noteWorker(beat('one', { graphs: { graph: 'old' } }));
      await store.noteWorker(beat('three', { tenant: 'other', graphs: { graph: 'new' } }));
      assert.deepEqual(await offered(store, { graph: 'new' }), ['else', 'new']);
      await advance(leaseMs);
      assert.deepEqual(await offered(store, { graph: 'new' }), ['else', 'new', 'old']);
    },

    'W5 a run that names its code is of that code, whatever its hash is': async ({ store }) => {
      const admitCode = (runId: string, code?: string): Promise<unknown> =>
        store.admitRun(admission(runId, { graphHash: 'hash', ...(code !== undefined && { code }) }));
      for (const [runId, code] of Object.entries({ one: 'hash@1', two: 'hash@2', odd, any: '' }))
        await admitCode(runId, code);
      await admitCode('none');
      const { code } = await requireRun(store, 'odd');
      assert.deepEqual(
        [code, (await requireRun(store, 'none')).code, (await requireRun(store, 'any')).code],
        [odd, undefined, ''],
      );
      await store.noteWorker(beat('one', { graphs: { graph: 'hash@1' } }));
      await store.noteWorker(beat(odd, { graphs: { graph: odd } }));
      assert.deepEqual(await offered(store, { graph: 'hash@2' }), ['any', 'none', 'two']);
      assert.deepEqual(await offered(store, { graph: odd }), ['any', 'none', 'odd', 'two']);
      await store.noteWorker(beat('one'));
      assert.deepEqual(await offered(store, { graph: 'hash@2' }), ['any', 'none', 'one', 'two']);
      const claim = await requireClaim(store, 'one', 'two');
      await store.commit(commitOf(claim, 1, { code: 'hash@3' }));
      await store.releaseClaim(claim);
      const listed = await store.listRuns({ tenant });
      assert.deepEqual(Object.fromEntries(listed.rows.map((run) => [run.runId, run.code])), {
        one: 'hash@3',
        two: 'hash@2',
        odd,
        any: '',
        none: undefined,
      });
    },

    'W5 a pinned worker is offered runs of its own code alone, those that any may have, and of graphs that it does not know':
      async ({ store }) => {
        for (const [runId, code] of Object.entries({ one: 'hash@1', two: 'hash@2', any: '' }))
          await store.admitRun(admission(runId, { graphHash: 'hash', code }));
        await store.admitRun(admission('none', { graphHash: 'hash' }));
        await store.admitRun(admission('text', { graphId: 'text', graphHash: 'else' }));
        const pinned = { isPinned: true };
        assert.deepEqual(await offered(store, { graph: 'hash@2' }, pinned), ['any', 'text', 'two']);
        assert.deepEqual(await offered(store, { graph: 'hash' }, pinned), ['any', 'none', 'text']);
        assert.deepEqual(await offered(store, { graph: 'hash@2' }), ['any', 'none', 'one', 'text', 'two']);
        assert.deepEqual(await offered(store, undefined, pinned), ['any', 'none', 'one', 'text', 'two']);
        const query = { tenant, limit: 9, codes: { graph: 'hash@1' }, isPinned: true };
        assert.deepEqual([...(await store.listClaimable(query))].sort(), ['any', 'one', 'text']);
        const claim = await requireClaim(store, 'one', 'two');
        await store.commit(commitOf(claim, 1, { code: '' }));
        await store.releaseClaim(claim);
        assert.deepEqual(await offered(store, { graph: 'hash@2' }, pinned), ['any', 'one', 'text', 'two']);
      },

    'W5 a store that counts codes counts open runs of the graphs that are asked for, by graph and code': async ({
      store,
    }) => {
      if (store.countCodes === undefined) return;
      assert.deepEqual(await store.countCodes(tenant, ['graph', odd]), []);
      for (const runId of ['a', 'b']) await store.admitRun(admission(runId, { graphHash: 'hash', code: 'hash@1' }));
      await store.admitRun(admission('c', { graphHash: 'hash' }));
      await store.admitRun(admission('any', { code: '' }));
      await store.admitRun(admission('odd', { graphId: odd, graphHash: odd }));
      await store.admitRun(admission('else', { graphId: 'else' }));
      await store.admitRun(admission('a', { tenant: 'other' }));
      const ended = await startRun(store, 'ended');
      await store.commit(commitOf(ended, 1, { status: 'completed' }));
      const paused = await startRun(store, 'paused', { code: 'hash@1' });
      await store.commit(commitOf(paused, 1, { status: 'paused' }));
      assert.deepEqual(await store.countCodes(tenant, ['graph', odd, 'none']), [
        { graphId: 'graph', code: '', runs: 1 },
        { graphId: 'graph', code: 'hash', runs: 1 },
        { graphId: 'graph', code: 'hash@1', runs: 3 },
        { graphId: odd, code: odd, runs: 1 },
      ]);
    },

    'W5 code that refused a run where it stands is not offered it there again, and all see who refused': async ({
      store,
    }) => {
      await admitHashes(store, { run: 'old', other: 'new' });
      assert.deepEqual(await offered(store, { graph: odd }, { refuses: true }), ['other', 'run']);
      assert.deepEqual(await offered(store, { graph: odd }), []);
      assert.deepEqual(await offered(store, { graph: 'third' }, { refuses: true }), ['other', 'run']);
      assert.deepEqual(await offered(store, { graph: 'third' }), []);
      assert.deepEqual(await offered(store, { graph: 'old' }), ['other', 'run']);
      assert.deepEqual(await offered(store, undefined), ['other', 'run']);
      const { refusals = [] } = await requireRun(store, 'run');
      assert.deepEqual(
        refusals.map(({ by }) => by),
        [odd, 'third'],
      );
      const claim = await requireClaim(store, 'run', 'two');
      await store.commit(commitOf(claim, 1));
      assert.equal((await requireRun(store, 'run')).refusals, undefined);
      await store.releaseClaim(claim);
      assert.deepEqual(await offered(store, { graph: odd }), ['run']);
      await store.releaseClaim(claim, 'late');
      assert.equal((await requireRun(store, 'run')).refusals, undefined);
      const { rows } = await store.listRuns({ tenant });
      assert.deepEqual(Object.fromEntries(rows.map(({ runId, refusals: of }) => [runId, of?.length])), {
        other: 2,
        run: undefined,
      });
    },

    'W5 at most 32 refusals of a run are kept, the newest': async ({ store }) => {
      await admitHashes(store, { run: 'old' });
      for (let at = 0; at < 40; at += 1)
        await store.releaseClaim(await requireClaim(store, 'run', 'two'), `hash ${at}`);
      const { refusals = [] } = await requireRun(store, 'run');
      const newest = Array.from({ length: 32 }, (_, index) => `hash ${index + 8}`);
      assert.deepEqual(refusals.map(({ by }) => by).sort(), newest.sort());
    },

    'O1 no token is given twice, also when the server crashes': async ({ store, crash }) => {
      if (crash === undefined) return;
      const tokens: number[] = [];
      await store.admitRun(admission('run'));
      for (let round = 0; round < 3; round += 1) {
        const owner = (await requireRun(store, 'run')).claim?.workerId;
        tokens.push((await requireClaim(store, 'run', `worker ${round}`, owner)).token);
        await crash();
        await requireRun(store, 'run').catch(() => undefined);
      }
      assert.deepEqual(
        tokens,
        [...new Set(tokens)].sort((a, b) => a - b),
      );
    },
  },
};
