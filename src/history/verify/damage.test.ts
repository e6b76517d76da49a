import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { damageStore, flipByte, type Damage } from '../../../test/history/damaged-store.ts';
import { anySteps, ModelHistory, writeHistory, type ModelRun } from '../../../test/history/model-history.ts';
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import type { RunTree } from '../../state/tree.ts';
import { checkpointId } from '../stored/checkpoint.ts';
import { loadState, readHistory, writeSnapshotOf } from '../load/load.ts';
import { pruneRun } from '../retention/prune.ts';
import { verifyRun, type Fault } from './verify.ts';

interface Loaded {
  readonly code: string;
  readonly checkpoint: unknown;
  readonly intact: unknown;
}

/** What loading each checkpoint comes to. */
async function loadAll(run: ModelRun, damage: Damage): Promise<Loaded[]> {
  const { store, blobs } = run.history;
  const row = await run.row();
  const load = async (seq: number): Promise<Loaded> => {
    try {
      const { root } = await loadState(damageStore(store, damage), blobs, row, seq);
      expect(root).toEqual(run.states.get(seq));
      return { code: 'loaded', checkpoint: undefined, intact: undefined };
    } catch (error) {
      if (!CairnError.is(error)) throw error;
      return { code: error.code, checkpoint: error.data['checkpoint'], intact: error.data['intact'] };
    }
  };
  return Promise.all(Array.from({ length: run.head + 1 }, (_, seq) => load(seq)));
}

async function findFaults(run: ModelRun, damage: Damage): Promise<readonly Fault[]> {
  const { store, blobs } = run.history;
  return (await verifyRun(damageStore(store, damage), blobs, await run.row())).faults;
}

async function ownerKey(run: ModelRun, seq: number): Promise<string> {
  let owner: ModelRun = run;
  while (owner.parent !== undefined && seq < owner.first) owner = owner.parent;
  return owner.key;
}

test('C6 a damaged checkpoint is named, with the newest intact one before it; no state is ever wrong', async () => {
  let damaged = 0;
  await fc.assert(
    fc.asyncProperty(
      anySteps,
      fc.nat(),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      fc.constantFrom('flip', 'cut', 'lose', 'checksum'),
      async (steps, which, place, flip, how) => {
        const runs = await writeHistory(steps);
        const run = runs.at(-1)!;
        const victim = which % (run.head + 1);
        const owner = await ownerKey(run, victim);
        const victimRun = runs.find(({ key }) => key === owner)!.runId;
        const damage: Damage = {
          checkpoint: (row, runId) => {
            if (row.seq !== victim || runId !== victimRun) return row;
            if (how === 'lose') return undefined;
            if (how === 'flip') return { ...row, body: flipByte(row.body, place, flip) };
            if (how === 'cut') return { ...row, body: row.body.slice(0, place % row.body.length) };
            return { ...row, checksum: flipByte(row.checksum, place, flip) };
          },
        };
        const outcomes = await loadAll(run, damage);
        const before = victim - 1;
        const intact = before < 0 ? undefined : checkpointId(await ownerKey(run, before), before);
        for (const [seq, { code, ...data }] of outcomes.entries()) {
          if (code === 'loaded') continue;
          damaged += 1;
          expect({ seq, code, ...data }).toEqual({
            seq,
            code: 'CHECKPOINT_CORRUPT',
            checkpoint: checkpointId(owner, victim),
            intact,
          });
        }
        expect(outcomes[victim]!.code).toBe('CHECKPOINT_CORRUPT');
        const faults = await findFaults(run, damage);
        expect(faults[0]).toMatchObject({ checkpoint: checkpointId(owner, victim), code: 'CHECKPOINT_CORRUPT' });
      },
    ),
    { numRuns: 100 },
  );
  expect(damaged).toBeGreaterThan(100);
}, 30_000);

test('C6 a damaged snapshot is passed over while its deltas are there, and verify names it', async () => {
  await fc.assert(
    fc.asyncProperty(anySteps, fc.nat(), fc.integer({ min: 1, max: 255 }), async (steps, place, flip) => {
      const [run] = await writeHistory([...steps, { fork: null, picks: [], isSnapshot: true }]);
      const { store, blobs } = run!.history;
      const damage: Damage = { snapshot: (row) => ({ ...row, body: flipByte(row.body, place, flip) }) };
      for (const { code } of await loadAll(run!, damage)) expect(code).toBe('loaded');
      const { snapshots, faults } = await verifyRun(damageStore(store, damage), blobs, await run!.row());
      expect(faults).toHaveLength(snapshots);
    }),
    { numRuns: 40 },
  );
}, 30_000);

async function writePlain(commits: number): Promise<ModelRun> {
  const run = await new ModelHistory().start('r');
  for (let i = 0; i < commits; i++) await run.commit([['s', ['codeHash'], `${i}`]]);
  return run;
}

/** Stores a sound snapshot of the state at `seq`. @returns the run's row */
async function writeSnapshotAt(run: ModelRun, seq: number): Promise<RunRow> {
  const { store, blobs } = run.history;
  const row = await run.row();
  const { root, checksum } = await loadState(store, blobs, row, seq);
  await writeSnapshotOf(store, row, seq, checksum, root);
  return row;
}

test('C6 where the deltas were pruned, a damaged snapshot is the end', async () => {
  const run = await writePlain(5);
  const { store, blobs } = run.history;
  await pruneRun(store, blobs, run.claim, await run.row(), { keepLast: 2 });
  const damage: Damage = { snapshot: (row) => ({ ...row, body: flipByte(row.body, 400) }) };
  const loading = loadState(damageStore(store, damage), blobs, await run.row());
  await expect(loading).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT', data: { checkpoint: `${run.key}.4` } });
  expect(await findFaults(run, damage)).toMatchObject([{ checkpoint: `${run.key}.4` }]);
  const lost = damageStore(store, {});
  lost.readSnapshot = () => Promise.resolve(undefined);
  await expect(loadState(lost, blobs, await run.row())).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
  expect((await verifyRun(lost, blobs, await run.row())).faults).toMatchObject([{ code: 'CHECKPOINT_CORRUPT' }]);
});

test('C6 a snapshot that is sound but not of its checkpoint is found', async () => {
  const run = await writePlain(3);
  const { store, blobs } = run.history;
  const wrong = { ...run.state, codeHash: 'forged' } as unknown as RunTree;
  await writeSnapshotOf(store, await run.row(), 2, run.links.get(2)!, wrong);
  expect((await verifyRun(store, blobs, await run.row())).faults).toMatchObject([{ checkpoint: `${run.key}.2` }]);
  const other = await new ModelHistory().start('r');
  await other.commit([['s', ['codeHash'], 'other']]);
  await writeSnapshotOf(other.history.store, await other.row(), 1, run.links.get(1)!, run.state as unknown as RunTree);
  const loading = loadState(other.history.store, other.history.blobs, await other.row());
  await expect(loading).rejects.toMatchObject({
    code: 'CHECKPOINT_CORRUPT',
    data: { checkpoint: `${run.key}.1`, intact: `${run.key}.0` },
  });
});

test('C6 the chain is verified through a lineage from any point on', async () => {
  const run = await writePlain(4);
  const fork = await run.history.fork(run, 2, 'fork');
  await fork.commit([['s', ['codeHash'], 'f']]);
  const damage: Damage = {
    checkpoint: (row) => (row.seq === 2 ? { ...row, checksum: flipByte(row.checksum, 0) } : row),
  };
  const store = damageStore(run.history.store, damage);
  const read = async (from: number): Promise<number[]> => {
    const seqs: number[] = [];
    for await (const { checkpoint } of readHistory(store, await fork.row(), { from, to: 4 })) seqs.push(checkpoint.seq);
    return seqs;
  };
  await expect(read(0)).rejects.toMatchObject({ data: { checkpoint: `${run.key}.2`, intact: `${run.key}.1` } });
  await expect(read(3)).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
  expect(await read(4)).toEqual([4]);
});

test('C5 verify finds blobs that are lost', async () => {
  const run = await writePlain(1);
  const hash = '0'.repeat(64);
  await run.commitJson(`[["s",["frame","channels","scratch","big"],{"$":"blob","hash":"${hash}","sizeBytes":21}]]`);
  const { store, blobs } = run.history;
  expect(await verifyRun(store, blobs, await run.row())).toMatchObject({
    checkpoints: 3,
    blobs: 1,
    faults: [{ checkpoint: `${run.key}.2`, code: 'BLOB_NOT_FOUND' }],
  });
  await expect(loadState(store, blobs, await run.row())).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
});

test('P6 a delta that does not fit its state is a typed error', async () => {
  const run = await writePlain(1);
  await run.commitJson('[["a",["nowhere","at","all"],[1]]]');
  const { store, blobs } = run.history;
  const data = { checkpoint: `${run.key}.2`, intact: `${run.key}.1` };
  await expect(loadState(store, blobs, await run.row())).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT', data });
  await expect(loadState(store, blobs, await run.row(), 7)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
  await expect(loadState(store, blobs, await run.row(), -1)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
});

test('K4 the intact checkpoint before an unreadable one is named wherever reading began, and the sound snapshot behind it too', async () => {
  const run = await writePlain(5);
  const { store, blobs } = run.history;
  const row = await writeSnapshotAt(run, 4);
  const damaged = damageStore(store, {
    checkpoint: (one) => (one.seq === 2 ? { ...one, body: new Uint8Array(20) } : one),
  });
  const data = { checkpoint: `${run.key}.2`, intact: `${run.key}.1`, later: `${run.key}.4` };
  for (const from of [0, 1, 2, 3]) {
    const read = async (): Promise<void> => {
      for await (const { checkpoint } of readHistory(damaged, row, { from, to: 5 }))
        expect(checkpoint.seq).toBeLessThan(2);
    };
    await expect(read()).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT', data });
  }
  await expect(loadState(damaged, blobs, row, 2)).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT', data });
});

test('K4 where nothing before a damaged checkpoint is intact, the newest sound snapshot behind it is offered', async () => {
  const run = await writePlain(4);
  const { store, blobs } = run.history;
  const row = await writeSnapshotAt(run, 3);
  const damaged = damageStore(store, {
    checkpoint: (one) => (one.seq === 0 ? { ...one, checksum: flipByte(one.checksum, 0) } : one),
  });
  const read = async (): Promise<void> => {
    for await (const entry of readHistory(damaged, row, { from: 0, to: 4 })) expect(entry).toBeUndefined();
  };
  const offered = { data: { checkpoint: `${run.key}.0`, later: `${run.key}.3` }, hint: expect.stringContaining('.3') };
  await expect(loadState(damaged, blobs, row, 1)).rejects.toMatchObject(offered);
  await expect(read()).rejects.toMatchObject(offered);
  await expect(loadState(damaged, blobs, row, 3)).resolves.toMatchObject({ seq: 3 });
});
