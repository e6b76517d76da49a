/**
 * `npm run demo -- deploy`: forty orders wait for people, in two places; `cairn check` says of five changes of their code what each would do
 * to them, before it is deployed.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { monday } from './graph.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'cairn-deploy-'));
const path = join(folder, 'orders.db');

/** Forty orders: all wait for an approval, and every second one goes on to be packed. */
async function takeOrders(): Promise<void> {
  const store = openSqliteStore({ path });
  const graph = monday.compile({ store });
  for (let order = 1; order <= 40; order += 1) {
    const runId = `order-${String(order).padStart(2, '0')}`;
    await graph.invoke({}, { runId });
    if (order % 2 === 0) await graph.resume(runId, { answers: { approve: 'yes' } });
  }
  await graph.close();
  await store.close();
}

function check(name: string): void {
  const file = join('examples', 'deploys', 'graph.ts');
  const line = ['check', '--file', file, '--export', name, '--replay'];
  console.log(`\n$ cairn ${line.join(' ')}`);
  const args = [join(root, 'src/cli/main.ts'), ...line, '--store', `sqlite:${path}`];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  console.log(`${stdout}${stderr}`.trimEnd());
  if (status !== 0) console.log(`(exit code ${status})`);
}

try {
  await takeOrders();
  for (const name of ['words', 'renamed', 'removed', 'added', 'step']) check(name);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
