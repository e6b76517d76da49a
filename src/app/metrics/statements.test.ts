/** What it costs to be watched: a log and counters ask nothing of the store (E10.9). */
import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { edges, graphOf, node } from '../../../test/engine-kit.ts';
import { isOfSlowMachine } from '../../../test/support/slow-machine.ts';
import { openSqliteStore } from '../../stores/sqlite/index.ts';
import { createDefaultEngine, type DefaultEngineSettings } from '../default-engine.ts';
import { createLineLog } from '../log/line-log.ts';
import { createMetrics } from './metrics.ts';

const folders: string[] = [];
afterEach(() => {
  vi.restoreAllMocks();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
const chain = graphOf(
  'chain',
  ids.map((id, index) => node(id, index === 3 ? 'external' : 'pure', () => id)),
  ['> a', ...ids.slice(1).map((id, index) => `${ids[index]} > ${id}`), 'f >'].flatMap((pair) => edges(pair)),
);

/** How many statements SQLite is asked for by healthy runs, and what was logged. */
async function statementsOf(watchers: Partial<DefaultEngineSettings>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-statements-'));
  folders.push(folder);
  const store = openSqliteStore({ path: join(folder, 'runs.db') });
  const calls = (['run', 'get', 'all', 'iterate'] as const).map((name) => vi.spyOn(StatementSync.prototype, name));
  const texts = vi.spyOn(DatabaseSync.prototype, 'exec');
  const engine = createDefaultEngine({ store, busyMaxMs: 0, ...watchers });
  for (const runId of ['one', 'two', 'three']) {
    const { status } = await (await engine.start(chain, {}, { runId })).result();
    expect(status).toBe('completed');
  }
  // Files that are watched for the writes of others are looked at from time to time.
  const isOurs = (statement: unknown): boolean => (statement as StatementSync).sourceSQL !== 'pragma data_version';
  const asked = calls.reduce((sum, { mock }) => sum + mock.contexts.filter(isOurs).length, 0);
  const count = asked + texts.mock.calls.length;
  vi.restoreAllMocks();
  await engine.close();
  await store.close();
  return count;
}

test('E10.9 healthy runs make the same statements with a log and counters as with neither', async () => {
  const lines: string[] = [];
  const log = createLineLog({ write: (line) => lines.push(line), isPlain: false });
  const metrics = createMetrics();
  const bare = await statementsOf({});
  expect(bare).toBeGreaterThan(20);
  expect(await statementsOf({ log, metrics })).toBe(bare);
  const events = lines.map((line) => JSON.parse(line) as { readonly event: string });
  expect(events.filter((line) => !isOfSlowMachine(line)).length).toBe(6);
  expect(await metrics.text()).toContain('cairn_runs_ended_total{graph="chain",status="completed"} 3');
});
