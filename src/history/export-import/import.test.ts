import { expect, test } from 'vitest';
import { ModelHistory, tenant, type ModelRun } from '../../../test/history/model-history.ts';
import { afterCrash, createBench, edges, graphOf, node, rowOf, runToRest } from '../../../test/engine-kit.ts';
import { CairnError } from '../../errors.ts';
import { runKeyOf, sealBody } from '../stored/checkpoint.ts';
import { toHex } from '../stored/checksum.ts';
import { exportRun } from './export.ts';
import { exportMasked } from './export-masked.ts';
import { importRun } from './import.ts';
import { verifyRun } from '../verify/verify.ts';
import { pruneRun } from '../retention/prune.ts';

type Line = Record<string, unknown>;

async function linesOf(run: ModelRun): Promise<Line[]> {
  const { store, blobs } = run.history;
  const lines: Line[] = [];
  for await (const line of exportRun(store, blobs, await run.row())) lines.push(JSON.parse(line) as Line);
  return lines;
}

async function* textOf(lines: readonly Line[]): AsyncGenerator<string> {
  for (const line of lines) yield `${JSON.stringify(line)}\n`;
}

const as = { move: { as: 'move' }, copy: { as: 'copy', newRunId: 'copied' } } as const;

/** What an import into an empty store says, and which runs are there then. */
async function tryImport(lines: readonly Line[], kind: keyof typeof as): Promise<unknown> {
  const { store, blobs } = new ModelHistory();
  const code = await importRun(store, blobs, textOf(lines), { tenant, workerId: 'importer', ...as[kind] }).then(
    () => 'imported',
    (error: unknown) => (CairnError.is(error) ? error.code : error),
  );
  return [code, (await store.listRuns({ tenant })).rows.length];
}

async function writeSteps(count: number): Promise<ModelRun> {
  const run = await new ModelHistory().start('r');
  for (let i = 1; i <= count; i++) await run.commit([['s', ['codeHash'], `step ${i}`]]);
  return run;
}

/** The lines with one of them changed. */
const withChanged = (lines: readonly Line[], at: number, change: (line: Line) => Line): Line[] =>
  lines.map((line, index) => (index === at ? change({ ...line }) : line));

test.each(['move', 'copy'] as const)(
  'H4 an import (%s) refuses each checkpoint whose body, time, checksum or place is not what was sealed',
  async (kind) => {
    const lines = await linesOf(await writeSteps(4));
    const places = lines.flatMap((line, at) => ('checkpoint' in line ? [at] : []));
    expect(places).toHaveLength(5);
    expect(await tryImport(lines, kind)).toEqual(['imported', 1]);
    const changes: Record<string, (line: Line) => Line> = {
      // Still a body that can be read, and a state: only the seal knows.
      body: (line) => ({ ...line, body: String(line['body']).replace(/step \d|running/, 'altered') }),
      at: (line) => ({ ...line, at: Number(line['at']) + 1 }),
      checksum: (line) => ({ ...line, checksum: String(line['checksum']).replace(/^../, '00') }),
    };
    for (const [name, change] of Object.entries(changes)) {
      for (const at of places) {
        const altered = withChanged(lines, at, change);
        expect(altered[at]).not.toEqual(lines[at]);
        expect([name, at, await tryImport(altered, kind)]).toEqual([name, at, ['CHECKPOINT_CORRUPT', 0]]);
      }
    }
  },
);

test('H4 a checkpoint that is sealed anew does not fit the next one: the chain is verified, not each by itself', async () => {
  const run = await writeSteps(4);
  const lines = await linesOf(run);
  const places = lines.flatMap((line, at) => ('checkpoint' in line ? [at] : []));
  for (const at of places.slice(0, -1)) {
    const seq = Number(lines[at]!['checkpoint']);
    const link = seq === 0 ? new Uint8Array(32) : Buffer.from(String(lines[at - 1]!['checksum']), 'hex');
    const resealed = withChanged(lines, at, (line) => {
      const body = String(line['body']).replace(/step \d|running/, 'altered');
      const seal = sealBody(
        { runKey: runKeyOf(tenant, 'r'), seq },
        link,
        Number(line['at']),
        new TextEncoder().encode(body),
      );
      return { ...line, body, checksum: toHex(seal) };
    });
    // The first of them alone is sound: what is refused is the one after it.
    expect([seq, await tryImport(resealed, 'move')]).toEqual([seq, ['CHECKPOINT_CORRUPT', 0]]);
  }
});

test('H4 a checkpoint that is missing, or stands in the place of another, is refused', async () => {
  const lines = await linesOf(await writeSteps(4));
  const [first = 0] = lines.flatMap((line, at) => ('checkpoint' in line ? [at] : []));
  const counted = (changed: readonly Line[]): Line[] => [...changed.slice(0, -1), { end: changed.length - 1 }];
  for (let at = first; at < first + 4; at++) {
    const without = counted(lines.filter((_, index) => index !== at));
    expect(await tryImport(without, 'move')).toEqual(['CHECKPOINT_CORRUPT', 0]);
    const swapped = lines.map((line, index) => (index === at ? lines[at + 1]! : index === at + 1 ? lines[at]! : line));
    expect(await tryImport(swapped, 'move')).toEqual(['CHECKPOINT_CORRUPT', 0]);
  }
});

test('H4 the snapshot that a pruned history begins with is verified, and so is the checkpoint it stands for', async () => {
  const run = await writeSteps(6);
  const { store, blobs } = run.history;
  await store.tagCheckpoint(await run.row(), { name: 'kept', seq: 3 });
  await pruneRun(store, blobs, run.claim, await run.row());
  const lines = await linesOf(run);
  const snapshot = lines.findIndex((line) => 'snapshot' in line);
  const first = lines.findIndex((line) => 'checkpoint' in line);
  expect(await tryImport(lines, 'move')).toEqual(['imported', 1]);
  for (const at of [snapshot, first]) {
    const altered = withChanged(lines, at, (line) => ({
      ...line,
      body: String(line['body']).replace('step 3', 'step 9'),
    }));
    expect(altered[at]).not.toEqual(lines[at]);
    expect(await tryImport(altered, 'move')).toEqual(['CHECKPOINT_CORRUPT', 0]);
  }
});

const asking = graphOf(
  'asking',
  [node('a', 'pure', () => 1), node('b', 'pure', () => 2), node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Yes?' }))],
  edges('> a', 'a > b', 'b > ask', 'ask >'),
);

test('N8 a half imported run cannot be resumed, answered or taken up, wherever its import died', async () => {
  const source = createBench();
  await runToRest(source.engine, asking, {}, 'r');
  const row = await rowOf(source, 'r');
  const lines: Line[] = [];
  for await (const line of exportRun(source.store, source.options.blobs, row)) lines.push(JSON.parse(line) as Line);
  let halves = 0;
  for (let dieAfter = 1; dieAfter <= row.head; dieAfter++) {
    const bench = createBench({ findGraph: () => asking });
    let writes = 0;
    const die = (): Promise<never> => Promise.reject(new CairnError('STORE_CLOSED', { store: 'test' }));
    const { store } = bench;
    const dying = {
      ...store,
      removeRun: die,
      releaseClaim: die,
      admitRun: (admission: Parameters<typeof store.admitRun>[0]) =>
        ++writes > dieAfter ? die() : store.admitRun(admission),
      commit: (commit: Parameters<typeof store.commit>[0]) => (++writes > dieAfter ? die() : store.commit(commit)),
    };
    const first = importRun(dying, bench.options.blobs, textOf(lines), {
      tenant: 'default',
      as: 'move',
      workerId: 'worker-1',
    });
    await expect(first).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    const half = await rowOf(bench, 'r');
    expect(half.head).toBeLessThan(row.head);
    expect(half.status).toBe('cancelled');
    halves += 1;
    // The process that imported is dead: its claim holds nobody off.
    const engine = afterCrash(bench);
    await expect(engine.resume('r', { graph: asking })).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
    expect((await store.listWaits({ tenant: 'default' })).rows).toEqual([]);
    const verified = await verifyRun(store, bench.options.blobs, half);
    expect([verified.faults, verified.isHalfImported]).toEqual([[], true]);
    const again = { tenant: 'default', as: 'move', workerId: 'worker-2' } as const;
    await expect(importRun(store, bench.options.blobs, textOf(lines), again)).rejects.toMatchObject({
      code: 'CLAIM_TAKEN',
    });
    bench.clock.timeMs += 120_000;
    const next = { tenant: 'default', workerId: 'x', leaseMs: 1, at: bench.clock.timeMs, limit: 9 };
    expect(await store.claimNext(next)).toEqual([]);
    bench.clock.timeMs -= 120_000;
    const isWorkerDead = (id: string): boolean => id === 'worker-1';
    await importRun(store, bench.options.blobs, textOf(lines), { ...again, isWorkerDead });
    const whole = await rowOf(bench, 'r');
    expect([whole.head, whole.status]).toEqual([row.head, row.status]);
    expect(await verifyRun(store, bench.options.blobs, whole)).toMatchObject({ faults: [] });
  }
  expect(halves).toBe(row.head);
});

test('H4 an import keeps the schedule of a run, and refuses one that is none', async () => {
  const lines = await linesOf(await writeSteps(2));
  const schedule = { queue: 'mail', key: 'customer 7', priority: 3, dueAt: 77 };
  const importWith = async (given: unknown): Promise<unknown> => {
    const { store, blobs } = new ModelHistory();
    const changed = withChanged(lines, 0, (line) => ({ ...line, schedule: given }));
    await importRun(store, blobs, textOf(changed), { tenant, workerId: 'importer', as: 'move' });
    return (await store.readRun({ tenant, runId: 'r' }))?.schedule;
  };
  expect(lines[0]).toHaveProperty('schedule.queue', '');
  expect(await importWith(schedule)).toEqual(schedule);
  expect(await importWith(undefined)).toMatchObject({ queue: '', priority: 0 });
  for (const wrong of [null, 'mail', { queue: 7 }, { priority: 0.5 }, { prioritty: 1 }])
    await expect(importWith(wrong)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

test('H4 whatever stands in a place of an export, an import ends in a run or in a refusal, never in a bare error', async () => {
  const lines = await linesOf(await writeSteps(2));
  const strange: readonly unknown[] = [null, [null], [[]], {}, -1, 1.5, 'x', true, [{}]];
  for (const [at, line] of lines.entries())
    for (const [key, own] of Object.entries(line))
      for (const value of strange) {
        const inner = Array.isArray(own) && own.length > 0 ? Object.keys(own[0] as object) : [];
        const places = [
          { ...line, [key]: value },
          ...inner.map((name) => ({ ...line, [key]: [{ ...((own as unknown[])[0] as object), [name]: value }] })),
        ];
        for (const changed of places) {
          const [said] = (await tryImport(
            withChanged(lines, at, () => changed),
            'move',
          )) as readonly unknown[];
          expect([key, value, typeof said === 'string' ? 'fine' : String(said)]).toEqual([key, value, 'fine']);
        }
      }
  for (const line of [null, [], 5, 'x'])
    expect(
      typeof (
        (await tryImport(
          withChanged(lines, 1, () => line as never),
          'move',
        )) as readonly unknown[]
      )[0],
    ).toBe('string');
});

test('H4 a line may come in any pieces, and a long one costs what its length is', async () => {
  const lines = await linesOf(await writeSteps(3));
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  for (const size of [1, 7, text.length]) {
    const { store, blobs } = new ModelHistory();
    const pieces = async function* (): AsyncGenerator<string> {
      for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
    };
    expect(await importRun(store, blobs, pieces(), { tenant, workerId: 'importer', as: 'move' })).toMatchObject({
      runId: 'r',
      checkpoints: 4,
    });
  }
  // Joined anew with each piece, these would be copied 20,000 times.
  const long = async function* (): AsyncGenerator<string> {
    for (let count = 0; count < 20_000; count += 1) yield 'x'.repeat(1_000);
  };
  const { store, blobs } = new ModelHistory();
  await expect(importRun(store, blobs, long(), { tenant, workerId: 'importer', as: 'move' })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
  });
});

test('H4.1 a masked export holds no secret in the forms in which they are usually written, in values, names and causes', async () => {
  const planted = 'hunter2planted';
  const history = new ModelHistory();
  const run = await history.start('r');
  const scratch = (key: string): string[] => ['frame', 'channels', 'scratch', key];
  await run.commit([
    ['s', scratch('note'), `curl -H "Authorization: Bearer ${planted}" https://ann:${planted}@example.org`],
    ['s', scratch(`DB_PASSWORD=${planted}`), [`--token=${planted}`, { deep: `export API_KEY=${planted}` }]],
  ]);
  const pieces: string[] = [];
  for await (const piece of exportMasked(history.store, history.blobs, await run.row())) pieces.push(piece);
  expect(pieces.join('')).toContain('Authorization: Bearer [redacted]');
  expect(pieces.join('')).not.toContain(planted);
  expect(pieces.map((line) => JSON.parse(line) as unknown)).toHaveLength(4);
});
