/** Tests of references: which runs name which blobs. For stores that have them. */
import assert from 'node:assert/strict';
import type { BlobReferences } from '../../ports/blob-references.ts';
import type { Admission, Store } from '../../ports/store.ts';
import {
  admission,
  checkpoint,
  commitOf,
  expectCode,
  keyOf,
  leaseMs,
  message,
  requireClaim,
  requireRun,
  startRun,
  tenant,
  wait,
  type Fixture,
  type SuitePart,
} from './examples.ts';

/** A hash by its letter. */
const hash = (letter: string): string => letter.repeat(64);
const [a, b, c, d, e, f] = ['a', 'b', 'c', 'd', 'e', 'f'].map(hash) as [string, string, string, string, string, string];
const all = [a, b, c, d, e, f];

/** A test for stores that have references. */
const withReferences =
  (run: (fixture: Fixture, references: BlobReferences) => Promise<void>) =>
  async (fixture: Fixture): Promise<void> => {
    if (fixture.store.references !== undefined) await run(fixture, fixture.store.references);
  };

const referencesIn = (store: Store): BlobReferences => {
  assert.ok(store.references, 'another opening has references, too');
  return store.references;
};

/** In a fixed order. */
const sorted = (texts: readonly (string | undefined)[]): readonly string[] =>
  texts.map(String).sort((one, other) => (one < other ? -1 : 1));

const namedIn = async (references: BlobReferences, of = tenant): Promise<string> =>
  sorted((await references.named(of, all)).map((one) => one[0])).join('');

/** What a run names, as letters with counts. */
async function namedBy(references: BlobReferences, runId: string): Promise<string> {
  const [run] = await references.of(tenant, [runId]);
  return sorted((run?.named ?? []).map((one) => `${one.hash[0]}${one.times}`)).join(' ');
}

async function unreadIn(references: BlobReferences, limit = 100): Promise<readonly string[]> {
  const rows: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await references.listUnread(tenant, { limit, ...(cursor !== undefined && { cursor }) });
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}

/** A run whose writer says what it names. */
const telling = (runId: string, blobs: readonly string[] = [], fields: Partial<Admission> = {}): Admission =>
  admission(runId, { blobs, ...fields });

const claimed = { claim: { workerId: 'one', leaseMs } };

export const referencesTests: SuitePart = {
  needs: 'removal',
  tests: {
    'C5 an admission, a commit and a message note the blobs that they name': withReferences(
      async ({ store, reopen }, references) => {
        const waits = [wait('w', { blobs: [c] })];
        await store.admitRun(telling('run', [a], { checkpoint: { ...checkpoint(0), blobs: [b, a] }, waits }));
        assert.equal(await namedBy(references, 'run'), 'a1 b1 c1');
        const claim = await requireClaim(store, 'run', 'one');
        const openWaits = [wait('v', { blobs: [d, a] }), wait('u')];
        await store.commit(commitOf(claim, 1, { checkpoint: { ...checkpoint(1), blobs: [a] }, openWaits }));
        await store.commit(commitOf(claim, 2));
        assert.deepEqual(await store.postMessage(message('run', { blobs: [e, a] })), { status: 'accepted' });
        await store.commit(commitOf(claim, 3, { checkpoint: { ...checkpoint(3), blobs: [b] } }));
        assert.equal(await namedBy(references, 'run'), 'a3 b2 c1 d1 e1');
        assert.equal(await namedIn(references), 'abcde');
        assert.equal(await namedIn(references, 'other'), '');
        const other = await reopen();
        if (other !== undefined) {
          assert.equal(await namedIn(referencesIn(other)), 'abcde');
          assert.equal(await namedBy(referencesIn(other), 'run'), 'a3 b2 c1 d1 e1');
        }
      },
    ),
    'C5 commits of one turn, and of many runs, note each its own': withReferences(async ({ store }, references) => {
      const claims = [];
      for (const runId of ['x', 'y']) claims.push(await startRun(store, runId, { blobs: [] }));
      const commits = claims.flatMap((claim, i) =>
        [1, 2, 3].map((seq) =>
          store.commit(commitOf(claim, seq, { checkpoint: { ...checkpoint(seq), blobs: [i === 0 ? a : b, c] } })),
        ),
      );
      await Promise.all(commits);
      const admitted = await Promise.all(
        ['z', 'q'].map((runId) => store.admitRun(telling(runId, [runId === 'z' ? d : e]))),
      );
      assert.deepEqual(
        admitted.map(({ created }) => created),
        [true, true],
      );
      // Commits that share a write may count as one.
      const letters = async (runId: string): Promise<string> =>
        (await namedBy(references, runId)).replaceAll(/\d/g, '');
      assert.deepEqual(await Promise.all(['x', 'y', 'z', 'q'].map(letters)), ['a c', 'b c', 'd', 'e']);
    }),
    'C5 a message that brings its run notes what both name': withReferences(async ({ store }, references) => {
      const first = telling('run', [a], { checkpoint: { ...checkpoint(0), blobs: [b] } });
      assert.deepEqual(await store.postMessage(message('run', { admission: first, blobs: [c] })), {
        status: 'accepted',
        created: true,
      });
      assert.equal(await namedBy(references, 'run'), 'a1 b1 c1');
      assert.deepEqual(await unreadIn(references), []);
    }),
    'C5 what is refused notes nothing': withReferences(async ({ store }, references) => {
      const claim = await startRun(store, 'run', { blobs: [] });
      const late = await requireClaim(store, 'run', 'two', 'one');
      const blobs = [a];
      await expectCode(store.commit(commitOf(claim, 1, { checkpoint: { ...checkpoint(1), blobs } })), 'CLAIM_FENCED');
      await expectCode(store.commit(commitOf(late, 5, { checkpoint: { ...checkpoint(5), blobs } })), 'COMMIT_CONFLICT');
      assert.equal((await store.admitRun(telling('run', blobs))).created, false);
      assert.deepEqual(await store.postMessage(message('run', { kind: 'answer', name: 'none', blobs })), {
        status: 'closed',
      });
      await expectCode(store.postMessage(message('none', { blobs })), 'RUN_NOT_FOUND');
      assert.equal(await namedIn(references), '');
    }),
    'C5 a run takes its references with it, and no others': withReferences(async ({ store, reopen }, references) => {
      await store.admitRun(telling('x', [a, b]));
      await store.admitRun(telling('y', [b, c]));
      const claim = await startRun(store, 'z', { blobs: [d] });
      const end = { checkpoint: { ...checkpoint(1), blobs: [b] }, status: 'completed', releases: true } as const;
      await store.commit(commitOf(claim, 1, end));
      await store.removeRun(keyOf('x'));
      assert.equal(await namedIn(references), 'bcd');
      if (store.removals === undefined) await store.removeRun(keyOf('z'));
      else await store.removals.remove({ tenant, runIds: ['z', 'y'], because: 'expired', rememberMs: 0 });
      assert.equal(await namedIn(references), 'bc');
      await store.removeRun(keyOf('y'));
      assert.equal(await namedIn(references), '');
      await store.admitRun(telling('x', [e]));
      assert.equal(await namedBy(references, 'x'), 'e1');
      const other = await reopen();
      if (other !== undefined) assert.equal(await namedIn(referencesIn(other)), 'e');
    }),
    'C5 a reference that a write has named again is not dropped': withReferences(async ({ store }, references) => {
      const claim = await startRun(store, 'run', { blobs: [a, b] });
      await store.admitRun(telling('other', [b]));
      const [seen] = await references.of(tenant, ['run']);
      await store.commit(commitOf(claim, 1, { checkpoint: { ...checkpoint(1), blobs: [a] } }));
      await references.drop(keyOf('run'), seen?.named ?? []);
      assert.equal(await namedBy(references, 'run'), 'a2');
      assert.equal(await namedIn(references), 'ab');
      await references.add(keyOf('run'), [a, c]);
      assert.equal(await namedBy(references, 'run'), 'a3 c1');
      await references.add(keyOf('none'), [d]);
      await references.drop(keyOf('none'), [{ hash: b, times: 1 }]);
      assert.equal(await namedIn(references), 'abc');
    }),
    'C5 a run whose writer does not say what it names is listed until its texts were read': withReferences(
      async ({ store, reopen }, references) => {
        for (const runId of ['u', 'v', 'w']) await store.admitRun(admission(runId));
        await store.admitRun(telling('told'));
        assert.deepEqual(await unreadIn(references, 1), ['u', 'v', 'w']);
        const some = [...(await references.of(tenant, ['told', 'none', 'v']))];
        assert.deepEqual(
          some.sort((one, other) => one.runId.localeCompare(other.runId)),
          [
            { runId: 'told', named: [], isRead: true },
            { runId: 'v', named: [], isRead: false },
          ],
        );
        const { head, claims } = await requireRun(store, 'v');
        await references.add(keyOf('v'), [a], { head, claims, messages: [] });
        assert.deepEqual(await unreadIn(references), ['u', 'w']);
        assert.deepEqual(await references.of(tenant, ['v']), [
          { runId: 'v', named: [{ hash: a, times: 1 }], isRead: true },
        ]);
        const other = await reopen();
        if (other !== undefined) assert.deepEqual(await unreadIn(referencesIn(other), 1), ['u', 'w']);
        await store.removeRun(keyOf('u'));
        assert.deepEqual(await unreadIn(references), ['w']);
      },
    ),
    'C5 what was read of a run counts only if it is still so, and nobody has it': withReferences(
      async ({ store }, references) => {
        const claim = await startRun(store, 'run');
        const { head, claims } = await requireRun(store, 'run');
        const add = (read: { head: number; claims: number }): Promise<void> =>
          references.add(keyOf('run'), [a], { ...read, messages: [] });
        await add({ head, claims });
        assert.deepEqual(await unreadIn(references), ['run']);
        await store.commit(commitOf(claim, 1, { releases: true }));
        await add({ head, claims });
        await add({ head: 1, claims: claims - 1 });
        assert.deepEqual(await unreadIn(references), ['run']);
        await add({ head: 1, claims });
        assert.deepEqual(await unreadIn(references), []);
        // Who claims it says what it names.
        await requireClaim(store, 'run', 'two');
        assert.deepEqual(await unreadIn(references), []);
      },
    ),
    'C5 claims of any kind leave a run that was read so, and no other': withReferences(
      async ({ store }, references) => {
        await store.admitRun(telling('read', [], claimed));
        await store.admitRun(telling('queued'));
        await store.admitRun(admission('unread', claimed));
        await store.admitRun(admission('waiting'));
        for (const runId of ['read', 'unread']) await requireClaim(store, runId, 'two', 'one');
        const next = await store.claimNext({ tenant, workerId: 'three', leaseMs, limit: 10 });
        assert.deepEqual(sorted(next.map(({ run }) => run.runId)), ['queued', 'waiting']);
        assert.deepEqual(sorted(await unreadIn(references)), ['unread', 'waiting']);
      },
    ),
    'C5 what rows of a graph’s runs name is noted once, and stays': withReferences(
      async ({ store, reopen }, references) => {
        await store.admitRun(telling('x', [], { defines: [a, b] }));
        await store.admitRun(telling('y', [], { defines: [a, b] }));
        await store.admitRun(telling('z', [], { defines: [b], graphId: 'other' }));
        await store.postMessage(message('m', { admission: telling('m', [], { defines: [c], graphId: 'third' }) }));
        await references.define(tenant, 'fourth', [a]);
        const definedIn = async (of: BlobReferences): Promise<readonly string[]> =>
          sorted((await of.defined(tenant, all)).map((one) => `${one.hash[0]} ${one.graphId}`));
        const expected = ['a fourth', 'a graph', 'b graph', 'b other', 'c third'];
        assert.deepEqual(await definedIn(references), expected);
        for (const runId of ['x', 'y', 'z', 'm']) await store.removeRun(keyOf(runId));
        assert.deepEqual(await definedIn(references), expected);
        assert.deepEqual(await references.defined('other', all), []);
        assert.equal(await namedIn(references), '');
        await store.admitRun(telling('again', [], { defines: [a, b] }));
        assert.deepEqual(await definedIn(references), expected);
        const other = await reopen();
        if (other !== undefined) assert.deepEqual(await definedIn(referencesIn(other)), expected);
      },
    ),
    'C5 references survive a crash of the server with the writes that they came with': withReferences(
      async ({ store, crash }, references) => {
        if (crash === undefined) return;
        const claim = await startRun(store, 'run', { blobs: [a], defines: [d], durability: 'power' });
        const power = { durability: store.capabilities.durability } as const;
        await store.commit(commitOf(claim, 1, { checkpoint: { ...checkpoint(1), blobs: [b] }, ...power }));
        await crash();
        const { head } = await requireRun(store, 'run');
        const named = await namedBy(references, 'run');
        assert.equal(named, head === 1 ? 'a1 b1' : 'a1');
        assert.deepEqual(await references.defined(tenant, all), [{ hash: d, graphId: 'graph' }]);
      },
    ),
  },
};
