/**
 * Our history behind the interface of another runtime's checkpoint stores: a run of the real AgentOS is killed, and resumed by a process
 * that has nothing but the SQLite file; then a fork of it is resumed too. `npm run test:agentos` runs it; it is no part of the gate,
 * since that package takes half a gigabyte.
 */
import { deepStrictEqual as same, ok } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Checkpoint, ICheckpointStore } from '@framers/agentos/orchestration';
import { checkpointStoreOver } from '../../src/app/checkpoint-store/index.ts';
import { openHistory } from '../../src/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-agentos-'));
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const order = (...args: readonly string[]): string | number | null => {
  const { signal, status, stderr } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, 'order.ts'), args[0]!, folder, ...args.slice(1)],
    { encoding: 'utf8' },
  );
  if (status !== 0 && signal === null) console.error(stderr);
  return signal ?? status;
};

try {
  same(order('begin'), 'SIGKILL');
  const runId = read('run');
  same(read('done'), 'pay\n');
  same(order('resume', runId), 0);
  same(read('done'), 'pay\nship\ntell\n');
  same(JSON.parse(read('result')), { pay: 'pay done', ship: 'ship done', tell: 'tell done' });
  console.log('killed in its second tool and resumed by another process: nothing was done twice');

  const store = openSqliteStore({ path: join(folder, 'runs.db') });
  // The interface is theirs, without a cast.
  const theirs: ICheckpointStore = checkpointStoreOver<Checkpoint>(store);
  const history = openHistory(store);
  const logged = [];
  for await (const { change, tags } of history.log(runId)) logged.unshift([change.at(-1)?.node?.[0], tags.length]);
  // Their resume saves nothing of what it does.
  same(logged, [['pay', 1]]);
  ok((await history.verify()).isValid);
  const first = await theirs.load(runId, 'pay');
  const forked = await theirs.fork(first!.id, { artifacts: { pay: 'paid by hand' } });
  await store.close();
  same(order('resume', forked), 0);
  same(read('done'), 'pay\nship\ntell\nship\ntell\n');
  same(JSON.parse(read('result')).pay, 'paid by hand');
  console.log('logged, verified, forked and resumed from the fork: the history is one of ours');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
