/** Pages of a database that were zeroed or overwritten, of every kind: what is lost is told, and nothing is done twice over it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import type { Engine } from '../../src/engine/api.ts';
import { CairnError } from '../../src/errors.ts';
import { verifyRuns } from '../../src/operations/store/verify-runs.ts';
import type { Verification } from '../../src/history/verify/verify-place.ts';
import type { Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { createBench, edges, graphOf, node, runToRest, testIds } from '../engine-kit.ts';
import { until } from '../support/awaited.ts';
import { sample } from '../support/scale.ts';

const pageBytes = 16_384;
const blobs = createMemoryBlobs();

/** Effects that ran, by run; those of one run must never run twice. */
const effects: string[] = [];
let isCut = true;

const graph = graphOf(
  'g',
  [
    node('first', 'write', (ctx) => {
      effects.push(`${ctx.runId} first`);
      return 'x'.repeat(2_000);
    }),
    node('second', 'write', (ctx) => {
      effects.push(`${ctx.runId} second`);
      // The process of these runs dies in here.
      return isCut && ctx.runId.startsWith('cut') ? new Promise(() => undefined) : 2;
    }),
    node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
    node('last', 'write', (ctx) => {
      effects.push(`${ctx.runId} last`);
      return 3;
    }),
  ],
  edges('> first', 'first > second', 'second > ask', 'ask > last', 'last >'),
);

const paused = Array.from({ length: 16 }, (_, index) => `paused-${index}`);
const answered = Array.from({ length: 5 }, (_, index) => `answered-${index}`);
const cut = Array.from({ length: 14 }, (_, index) => `cut-${index}`);
const all = [...paused, ...answered, ...cut];

let folder = '';
let sound: Buffer;
/** Pages to damage, by what is in them. */
const pages = new Map<string, number>();

function open(path: string, workerId: string): { readonly store: Store; readonly engine: Engine } {
  const store = openSqliteStore({ path, durability: 'normal' });
  const { engine } = createBench({ store, blobs, findGraph: () => graph, ids: testIds(workerId, ['one']) });
  return { store, engine };
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-pages-'));
  const path = join(folder, 'sound.db');
  const { store, engine } = open(path, 'one');
  for (const runId of [...paused, ...answered]) {
    const { waits } = await runToRest(engine, graph, {}, runId);
    await store.tagCheckpoint({ tenant: 'default', runId }, { name: 'tag', seq: 1 });
    if (runId.startsWith('answered')) await engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
  }
  for (const runId of cut) {
    await engine.start(graph, {}, { runId });
    await until(`the second effect of ${runId}`, () => effects.includes(`${runId} second`), 5);
  }
  await store.close();
  isCut = false;
  sound = readFileSync(path);
  const db = new DatabaseSync(path);
  const rows = db.prepare('select name, pageno, pagetype from dbstat order by pageno').all();
  db.close();
  for (const { name, pageno, pagetype } of rows) {
    const kind = `${String(name)}, ${String(pagetype)}`;
    if (pageno === 1) continue;
    // Each leaf of what a resume stands on; of the rest, one page of each kind.
    if (name === 'checkpoints' || name === 'runs') pages.set(`${kind} ${String(pageno)}`, Number(pageno));
    else if (!pages.has(kind)) pages.set(kind, Number(pageno));
  }
});

afterAll(() => rmSync(folder, { recursive: true }));

const damages: Readonly<Record<string, (page: Buffer) => Buffer>> = {
  zeroed: (page) => page.fill(0),
  'zeroed in its second half': (page) => page.fill(0, pageBytes / 2),
  'zeroed where its last cells are': (page) =>
    page.fill(0, page.readUInt16BE(5), Math.min(page.readUInt16BE(5) + 200, pageBytes)),
  'overwritten from its quarter on': (page) => page.fill(0x5a, pageBytes / 4),
};

/** What of the page is in use; the rest may be anything. */
function isUsed(before: Buffer, after: Buffer): boolean {
  const cells = before.readUInt16BE(5);
  return !before.subarray(0, 8).equals(after.subarray(0, 8)) || !before.subarray(cells).equals(after.subarray(cells));
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'no error';
  } catch (error) {
    if (!CairnError.is(error)) throw error;
    return error.code;
  }
}

const told = ['STORE_CORRUPT', 'CHECKPOINT_CORRUPT', 'RUN_NOT_FOUND', 'CHECKPOINT_VERSION_UNKNOWN'];

/** Opens the damaged file, verifies it, and resumes every run; says whether the damage was told, and what runs came to. */
async function useDamaged(path: string): Promise<void> {
  const { store, engine } = open(path, 'two');
  try {
    const context = { store, blobs, tenant: 'default', isWorkerDead: () => undefined, now: () => 0 };
    const { isValid }: Pick<Verification, 'isValid'> = await verifyRuns.run(context, {});
    expect(isValid).toBe(false);
    for (const runId of all) {
      const handle = engine.resume(runId).then((resumed) => resumed.result());
      const outcome = await handle.then(
        ({ status }) => status,
        () => codeOf(handle),
      );
      if (told.includes(outcome)) continue;
      // An answer that was acknowledged is never passed over, and a cut effect is always asked about.
      expect([runId, outcome]).toEqual([runId, runId.startsWith('answered') ? 'completed' : 'paused']);
    }
  } finally {
    await store.close().catch(() => undefined);
  }
}

test.each(Object.keys(damages))(
  'P6 a page of any kind, %s: verify says so, resumes end in an error or as they should, no effect runs twice',
  async (name) => {
    expect(pages.size).toBeGreaterThan(25);
    for (const [kind, number] of sample([...pages], 10)) {
      const path = join(folder, `${kind.replaceAll(/\W/g, '-')}.db`);
      const at = (number - 1) * pageBytes;
      const bytes = Buffer.from(sound);
      damages[name]?.(bytes.subarray(at, at + pageBytes));
      if (!isUsed(sound.subarray(at, at + pageBytes), bytes.subarray(at, at + pageBytes))) continue;
      writeFileSync(path, bytes);
      const before = effects.length;
      const code = await codeOf(useDamaged(path));
      expect(['no error', 'STORE_CORRUPT']).toContain(code);
      const again = effects.slice(before).filter((effect) => !effect.endsWith('last'));
      expect([kind, ...again]).toEqual([kind]);
      rmSync(path, { force: true });
    }
  },
  120_000,
);
