/** Labels of a run are changed at any time, bounded as at its start, and by whom is recorded (D53). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openApp, type App } from '../../app/open-app.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import { perform } from '../contract/perform.ts';
import * as operations from '../table.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-label-'));
writeFileSync(join(folder, 'ask.yaml'), 'name: ask\nblocks:\n  - { id: q, type: Prompt, inputs: { prompt: "Go?" } }\n');
const apps: App[] = [];
afterAll(async () => {
  for (const app of apps) await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function house(): Promise<App> {
  const app = await openApp({ cwd: folder, storeUrl: 'memory:' });
  apps.push(app);
  await perform(operations.run, app, { file: 'ask.yaml', runId: 'r', label: { tier: 'gold' } });
  return app;
}

const found = async (app: App, label: Readonly<Record<string, string>>): Promise<readonly string[]> =>
  (await perform(operations.listRuns, app, { label })).runs.map(({ runId }) => runId);

test('D53 labels are set and removed while a run waits and when it has ended; a fork made later has them, and its past', async () => {
  const app = await house();
  const first = await perform(operations.label, app, { run: 'r', set: { tier: 'free', team: '' }, by: 'ann' });
  expect(first).toEqual({ runId: 'r', labels: { tier: 'free', team: '' } });
  expect([await found(app, { tier: 'gold' }), await found(app, { tier: 'free', team: '' })]).toEqual([[], ['r']]);
  await perform(operations.answer, app, { run: 'r', value: 'yes' });
  await perform(operations.resume, app, { run: 'r' });
  expect((await perform(operations.label, app, { run: 'r', unset: ['team', 'none'] })).labels).toEqual({
    tier: 'free',
  });
  await perform(operations.fork, app, { checkpoint: 'r@1', runId: 'f' });
  expect(await found(app, { tier: 'free' })).toEqual(['f', 'r']);
  const { acts } = await perform(operations.audit, app, { run: 'r' });
  expect(acts.filter(({ act }) => act === 'label').map(({ by, said }) => [by, said])).toEqual([
    ['ann', { set: { tier: 'free', team: '' } }],
    ['person', { unset: ['team', 'none'] }],
  ]);
  expect((await perform(operations.audit, app, { run: 'f' })).acts.some(({ act }) => act === 'label')).toBe(false);
});

test('D53 a change that changes nothing is not recorded, and the newest eight are', async () => {
  const app = await house();
  await perform(operations.label, app, { run: 'r', set: { tier: 'gold' }, unset: ['none'] });
  const labelled = async (): Promise<readonly unknown[]> =>
    (await perform(operations.audit, app, { run: 'r' })).acts
      .filter(({ act }) => act === 'label')
      .map(({ said }) => said);
  expect(await labelled()).toEqual([]);
  for (let n = 1; n <= 10; n += 1) await perform(operations.label, app, { run: 'r', set: { n: String(n) } });
  expect((await labelled()).map((said) => (said as { set: { n: string } }).set.n)).toEqual(
    '3 4 5 6 7 8 9 10'.split(' '),
  );
});

test('D53 changes of one run at once all land', async () => {
  const app = await house();
  const names = Array.from({ length: 8 }, (_, index) => `l${index}`);
  await Promise.all(names.map((name) => perform(operations.label, app, { run: 'r', set: { [name]: 'x' } })));
  const { runs } = await perform(operations.listRuns, app, {});
  expect(Object.keys(runs[0]?.labels ?? {}).sort()).toEqual([...names, 'tier']);
});

test('D53 labels have the bounds of a start, and the labels by which the system finds its own runs stay', async () => {
  const app = await house();
  const set = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`l${index}`, '']));
  await expect(perform(operations.label, app, { run: 'r', set })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  await expect(perform(operations.label, app, { run: 'r', set: { a: 'x'.repeat(257) } })).rejects.toMatchObject({
    code: 'ID_INVALID',
  });
  await expect(perform(operations.label, app, { run: 'r' })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  await expect(perform(operations.label, app, { run: 'none', set: { a: '' } })).rejects.toMatchObject({
    code: 'RUN_NOT_FOUND',
  });
  await perform(operations.schedule, app, { action: 'add', target: 'ask.yaml', cron: '0 2 * * *' });
  await expect(
    perform(operations.label, app, { run: 'cairn:schedule:ask', set: { schedule: 'x' } }),
  ).rejects.toMatchObject({
    code: 'USAGE_INVALID',
  });
  const row = await app.store.readRun({ tenant: app.tenant, runId: 'r' });
  const meta = Buffer.from(JSON.stringify({ ...metaOf(row as never), fixedLabels: ['tier'] }));
  await app.store.labelRun?.({ tenant: app.tenant, runId: 'r', labels: { tier: 'gold' }, meta, oldMeta: row!.meta });
  await expect(perform(operations.label, app, { run: 'r', unset: ['tier'] })).rejects.toMatchObject({
    code: 'USAGE_INVALID',
  });
  expect((await perform(operations.label, app, { run: 'r', set: { team: 'a' } })).labels).toEqual({
    tier: 'gold',
    team: 'a',
  });
  const store = { ...app.store };
  delete store.labelRun;
  await expect(perform(operations.label, { ...app, store }, { run: 'r', set: { a: '' } })).rejects.toMatchObject({
    code: 'STORE_UNSUPPORTED',
  });
});
