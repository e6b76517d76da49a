/** The store in a folder: the suites, kills, torn lines, bits that flip, and a second process. */
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { contentsOf, fillStore } from '../../../test/support/filled-store.ts';
import { sample } from '../../../test/support/scale.ts';
import { CairnError } from '../../errors.ts';
import type { Store } from '../../ports/store.ts';
import { memoriesSuite } from '../../testing/memories-suite.ts';
import {
  admission,
  checkpoint,
  commitMany,
  commitOf,
  expectCode,
  keyOf,
  leaseMs,
  message,
  requireClaim,
  requireRun,
  snapshot,
  startRun,
  tenant,
  type StoreUnderTest,
} from '../../testing/store-suite/examples.ts';
import { storeSuite } from '../../testing/store-suite/store-suite.ts';
import { openFileMemories } from './file-memories.ts';
import { openFileStore } from './file-store.ts';
import { append, readJournal } from './journal.ts';

/** In memory where the machine offers it: what is tested here is not the disk. */
const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(parent, 'cairn-file-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function createUnderTest(): StoreUnderTest {
  const path = mkdtempSync(join(parent, 'cairn-file-'));
  let nowMs = 1_700_000_000_000;
  const now = (): number => nowMs;
  return {
    store: openFileStore({ path, now }),
    advance: (byMs) => {
      nowMs += byMs;
    },
    dispose: () => rmSync(path, { recursive: true }),
  };
}

describe('file store', () => {
  storeSuite({ test, create: createUnderTest });
  let count = 0;
  memoriesSuite({ test, create: () => openFileMemories(join(folder, String((count += 1)))) });
});

const openIn = (path: string): Store => openFileStore({ path });

test('S2 what was acknowledged is there when the folder is opened again, and no token comes back', async () => {
  let store = openIn(folder);
  await fillStore(store);
  const before = await contentsOf(store);
  const tokens: number[] = [];
  for (let openings = 0; openings < 3; openings += 1) {
    const reply = await store.claimRun({ ...keyOf('first'), workerId: 'one', leaseMs });
    tokens.push(reply.claim?.token ?? 0);
    await store.close();
    store = openIn(folder);
    expect(await contentsOf(store)).toEqual(before);
  }
  expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  const message = await store.postMessage({
    ...keyOf('first'),
    kind: 'signal',
    name: 'two',
    body: new Uint8Array(1),
    at: 1,
  });
  expect(message.status).toBe('taken');
  await store.close();
});

test('O6 a process that ended without giving its run back is counted when the folder is opened again', async () => {
  let store = openIn(folder);
  const told = async (): Promise<readonly number[]> => {
    await store.close();
    store = openIn(folder);
    const { claims, deaths, deathsSinceRest } = await requireRun(store, 'run');
    return [claims, deaths, deathsSinceRest];
  };
  await startRun(store, 'run');
  expect(await told()).toEqual([1, 0, 0]);
  await requireClaim(store, 'run', 'two');
  await told();
  const claim = await requireClaim(store, 'run', 'three');
  expect(await told()).toEqual([3, 2, 2]);
  await requireClaim(store, 'run', 'four');
  await store.releaseClaim(await requireClaim(store, 'run', 'five', 'four'));
  await requireClaim(store, 'run', 'six');
  expect(claim.workerId).toBe('three');
  expect(await told()).toEqual([6, 4, 4]);
  await store.close();
});

test('P6 a folder of a newer format is refused by name, to read and to write, and nothing in it is touched', async () => {
  const store = openIn(folder);
  await fillStore(store);
  await store.close();
  const path = join(folder, 'store.jsonl');
  append(path, { format: 1_000 }, readJournal(path, 'store', 'file').end, true, 'file');
  const before = readFileSync(path);
  for (const readOnly of [true, false]) {
    const refused = expect.objectContaining({
      code: 'STORE_VERSION_UNKNOWN',
      data: expect.objectContaining({ version: 1_000 }) as unknown,
    }) as Error;
    expect(() => openFileStore({ path: folder, readOnly })).toThrow(refused);
  }
  expect(readFileSync(path).equals(before)).toBe(true);
});

test('S2 a fork is there again, whatever the names of the files are', async () => {
  const store = openIn(folder);
  for (const [original, fork] of [
    ['b', 'a'],
    ['c', 'd'],
  ] as const) {
    await commitMany(store, await startRun(store, original), 1, 3);
    await store.admitRun(admission(fork, { parent: { runId: original, seq: 3 } }));
  }
  const before = await contentsOf(store);
  await store.close();
  const again = openIn(folder);
  expect(await contentsOf(again)).toEqual(before);
  await again.close();
});

test('C8 what was pruned is no longer on the disk, and forks stay', async () => {
  const store = openIn(folder);
  const claim = await startRun(store, 'run');
  await commitMany(store, claim, 1, 6);
  await store.admitRun(admission('fork', { parent: { runId: 'run', seq: 4 } }));
  const replaced = checkpoint(3, 'all of it');
  await store.pruneRun({
    ...keyOf('run'),
    token: claim.token,
    remove: [0, 1, 2],
    replace: [replaced],
    snapshots: [snapshot(3)],
    prunedBelow: 3,
  });
  await store.commit(commitOf(claim, 7));
  const before = await contentsOf(store);
  expect(readFileSync(join(folder, 'runs', tenant, 'run.jsonl'), 'utf8')).not.toContain('body 1');
  await store.close();
  const again = openIn(folder);
  expect(await contentsOf(again)).toEqual(before);
  await again.close();
});

test('S2 only one process has the folder, and others may read it', async () => {
  const store = openIn(folder);
  const claim = await startRun(store, 'run');
  expect(() => openIn(folder)).toThrow(expect.objectContaining({ code: 'STORE_BUSY' }));
  const reader = openFileStore({ path: folder, readOnly: true });
  expect((await reader.readRun(keyOf('run')))?.runId).toBe('run');
  await expectCode(reader.postMessage(message('run')), 'STORE_READ_ONLY');
  await reader.close();
  await store.commit(commitOf(claim, 1));
  await store.close();
  expect(statSync(join(folder, 'store.jsonl')).mode & 0o777).toBe(0o600);
  const next = openIn(folder);
  await next.close();
});

const journalsIn = (path: string): string[] =>
  readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => join(path, name));

test('S2 a line that was being written when the process was killed is cut off and told, at every byte', async () => {
  const store = openIn(folder);
  const claim = await startRun(store, 'run');
  await store.commit(commitOf(claim, 1));
  const path = join(folder, 'runs', tenant, 'run.jsonl');
  const sizeBytes = statSync(path).size;
  await store.commit(commitOf(claim, 2));
  await store.close();
  const whole = readFileSync(path);
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  try {
    for (let size = sizeBytes; size <= whole.length; size += 1) {
      writeFileSync(path, whole.subarray(0, size));
      warn.mockClear();
      const again = openIn(folder);
      const isWhole = size >= whole.length - 1;
      expect((await again.readRun(keyOf('run')))?.head).toBe(isWhole ? 2 : 1);
      expect(warn.mock.calls.length).toBe(isWhole || size === sizeBytes ? 0 : 1);
      const reply = await again.claimRun({ ...keyOf('run'), workerId: 'one', leaseMs });
      if (reply.claim !== undefined) await again.commit(commitOf(reply.claim, isWhole ? 3 : 2));
      await again.close();
      const last = openIn(folder);
      expect((await last.readRun(keyOf('run')))?.head).toBe(isWhole ? 3 : 2);
      await last.close();
      if (size % 8 === 0) truncateSync(path, 0);
    }
  } finally {
    warn.mockRestore();
  }
});

test('C9 a byte that became another is told, wherever it is, and other runs go on', async () => {
  const store = openIn(folder);
  await fillStore(store);
  const before = await contentsOf(store);
  await store.close();
  const places = journalsIn(folder).flatMap((path) => Array.from(readFileSync(path), (_, index) => ({ path, index })));
  for (const { path, index } of sample(places, 60, (place) => place.path)) {
    const bytes = readFileSync(path);
    const changed = Buffer.from(bytes);
    changed[index] = (changed[index] as number) ^ (1 << (index % 8));
    writeFileSync(path, changed);
    let told: unknown;
    try {
      const again = openFileStore({ path: folder, readOnly: true });
      const { rows } = await again.listRuns({ tenant });
      told = rows.some((row) => row.isDamaged === true);
      for (const row of rows)
        if (row.isDamaged === true)
          await expectCode(again.readRun({ tenant: row.tenant, runId: row.runId }), 'STORE_CORRUPT');
        else await again.readCheckpoints(keyOf(row.runId), { from: 0, to: Infinity });
      await again.close();
    } catch (error) {
      told = CairnError.is(error, 'STORE_CORRUPT');
      if (told !== true) throw error;
    }
    expect(told, `byte ${index} of ${path}`).toBe(true);
    writeFileSync(path, bytes);
  }
  const again = openIn(folder);
  expect(await contentsOf(again)).toEqual(before);
  await again.close();
});

test('S2 a write that fails leaves the tables as the disk is', async () => {
  const store = openIn(folder);
  const claim = await startRun(store, 'run');
  await store.commit(commitOf(claim, 1));
  const path = join(folder, 'runs', tenant, 'run.jsonl');
  const bytes = readFileSync(path);
  // In place of the journal a folder: nothing can be appended.
  rmSync(path);
  appendFileSync(`${path}.aside`, bytes);
  const { mkdirSync, rmdirSync } = await import('node:fs');
  mkdirSync(path);
  await expectCode(store.commit(commitOf(claim, 2)), 'STORE_UNAVAILABLE');
  rmdirSync(path);
  writeFileSync(path, bytes);
  await expectCode(store.commit(commitOf(claim, 2)), 'STORE_UNAVAILABLE');
  await store.close();
  const again = openIn(folder);
  expect((await again.readRun(keyOf('run')))?.head).toBe(1);
  await again.close();
});
