/** Processes that remove expired runs and are killed while they do: a run is whole, or gone with all that was its own, and remembered. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, test } from 'vitest';
import { openHistory, openStore } from '../../src/index.ts';
import { tablesOfRun } from '../../src/stores/sqlite/tables/schema.ts';
import { buildStore, builtRunId } from '../support/built-store.ts';
import { scale } from '../support/scale.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-cleaner-'));
afterAll(() => rmSync(folder, { recursive: true }));

const program = join(import.meta.dirname, 'expiring-process.ts');
const runs = scale(600, 6000);
const killed = scale(2, 40);

/** Runs two cleaners at once. @param afterLines - how many removals one may tell of before both are killed; Infinity: none is killed */
async function clean(url: string, afterLines: number): Promise<void> {
  const cleaners = [1, 2].map(() => spawn(process.execPath, [program, url], { stdio: ['ignore', 'pipe', 'inherit'] }));
  let lines = 0;
  for (const cleaner of cleaners)
    cleaner.stdout.on('data', (text: Buffer) => {
      lines += text.toString().split('\n').length - 1;
      if (lines >= afterLines) for (const one of cleaners) one.kill('SIGKILL');
    });
  await Promise.all(cleaners.map((cleaner) => once(cleaner, 'exit')));
}

test('D18 cleaners that are killed leave whole runs and lines of the others', async () => {
  const path = join(folder, 'store.db');
  const url = `sqlite:${path}`;
  const building = openStore(url);
  await buildStore(building, runs, Date.now());
  await building.close();
  for (let round = 0; round < killed; round += 1) await clean(url, 1 + round * 7);
  await clean(url, Infinity);
  const store = openStore(url);
  const { reports, damage, isValid } = await openHistory(store).verify();
  expect([damage, isValid]).toEqual([[], true]);
  const there = new Set(reports.map(({ runId }) => runId));
  expect(there.size).toBeGreaterThan(20);
  expect(there.size).toBeLessThan(runs / 2);
  for (let n = 0; n < runs; n += 1) {
    const runId = builtRunId(n);
    const line = await store.removals?.read({ tenant: 'default', runId });
    expect([runId, line !== undefined]).toEqual([runId, !there.has(runId)]);
  }
  await store.close();
  const db = new DatabaseSync(path);
  for (const table of [...tablesOfRun, 'checkpoints', 'places'])
    expect(db.prepare(`select count(*) as n from ${table} where run not in (select no from runs)`).get()).toEqual({
      n: 0,
    });
  db.close();
}, 240_000);
