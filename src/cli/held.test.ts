/** The command line as a process: a resume that waits for an effect whose owner may still be in it. */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test, vi } from 'vitest';
import { openFolder } from '../../test/cli/cairn.ts';
import { testIds } from '../../test/engine-kit.ts';
import { systemClock } from '../app/process/system-clock.ts';
import { createFileBlobs } from '../blobs/file-blobs.ts';
import { createEngine } from '../engine/engine.ts';
import type { Graph } from '../graph/graph.ts';
import { openSqliteStore } from '../stores/sqlite/index.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const library = new URL('../index.ts', import.meta.url).href;
const paying = `import { AgentGraph, END, functionNode, START } from '${library}';
export const begun = { count: 0 };
export const graph = new AgentGraph({}, { id: 'paying' })
  .addNode('pay', functionNode(() => { begun.count += 1; return new Promise(() => {}); }, { effectClass: 'write', timeoutMs: 600_000 }))
  .addEdge(START, 'pay').addEdge('pay', END).compile().graph;
`;

test('O2 what is waited for is told at once, and a resume that is stopped meanwhile says how to go on', async () => {
  const folder = openFolder();
  folder.write('paying.ts', paying);
  const module = join(folder.path, 'paying.ts');
  const { graph, begun } = (await import(pathToFileURL(module).href)) as { graph: Graph; begun: { count: number } };
  const store = openSqliteStore({ path: join(folder.path, 'runs.db') });
  const blobs = createFileBlobs(join(folder.path, 'runs.db.blobs'));
  // A worker of another machine: nobody here can tell whether it is still in its effect.
  const engine = createEngine({ store, blobs, clock: systemClock, ids: testIds('elsewhere:7:x') });
  const handle = await engine.start(graph, {}, { runId: 'r', meta: { source: module } });
  handle.result().catch(() => undefined);
  await vi.waitUntil(() => begun.count === 1, { timeout: 10_000, interval: 5 });
  await engine.close();
  await store.close();
  const child = folder.start('resume', 'r', '--file', 'paying.ts', '--store', 'runs.db');
  let err = '';
  child.stderr?.on('data', (data) => (err += String(data)));
  await vi.waitUntil(() => err.includes('waits for'), { timeout: 40_000, interval: 5 });
  expect(err).toMatch(/pay +waiting +on in \d+ m[^\n]*, waits for process 7 on elsewhere/);
  child.kill('SIGINT');
  expect(await once(child, 'close')).toEqual([130, null]);
  expect(err).toMatch(/Stopped\. Go on: cairn resume r .*--store runs\.db\n$/);
});

test('O2 a resume that is stopped before anything was heard of the run says how to go on: it is recorded', async () => {
  const folder = openFolder();
  const slow = `import { existsSync, writeFileSync } from 'node:fs';
import { AgentGraph, END, humanNode, START } from '${library}';
if (existsSync('slow')) {
  writeFileSync('loading', '');
  await new Promise((resolve) => setTimeout(resolve, 500));
}
export const graph = new AgentGraph({}, { id: 'slow' })
  .addNode('ask', humanNode({ prompt: '?' })).addEdge(START, 'ask').addEdge('ask', END).compile();
`;
  folder.write('slow.ts', slow);
  expect(folder.cairn('run', 'slow.ts', '--run-id', 'r').code).toBe(0);
  folder.write('slow', '');
  for (const args of [
    ['resume', 'r'],
    ['answer', 'r', 'yes', '--resume'],
    ['answer', 'r', 'ask=yes', '--resume'],
  ]) {
    rmSync(join(folder.path, 'loading'), { force: true });
    const child = folder.start(...args);
    let err = '';
    child.stderr?.on('data', (data) => (err += String(data)));
    await folder.until('loading');
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([130, null]);
    expect(err).toMatch(/^Stopped\. Go on: cairn resume r\n$/);
  }
});

test('B2.2 a run that is held goes on by no command, and the ones that hold and release it say what comes next', () => {
  const folder = openFolder();
  const asks = `import { AgentGraph, END, humanNode, START } from '${library}';
export const graph = new AgentGraph({}, { id: 'asks' })
  .addNode('ask', humanNode({ prompt: '?' })).addEdge(START, 'ask').addEdge('ask', END).compile();
`;
  folder.write('asks.ts', asks);
  expect(folder.cairn('run', 'asks.ts', '--run-id', 'r').code).toBe(0);
  expect(folder.cairn('hold', '--all')).toMatchObject({
    code: 0,
    out: 'held  r  paused at checkpoint 2\n',
    err: 'Let them go on: cairn release --all\n',
  });
  expect(folder.cairn('ls', '--status', 'held')).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringContaining('held') as string,
  });
  expect(folder.cairn('answer', 'r', 'yes', '--resume')).toMatchObject({ code: 4 });
  expect(JSON.parse(folder.cairn('hold', 'r', '--json').out)).toEqual({
    held: [{ runId: 'r', graphId: 'asks', status: 'paused', head: 2 }],
  });
  expect(folder.cairn('release', 'r').out).toBe('r goes on from checkpoint 2\n');
  expect(folder.cairn('resume', 'r')).toMatchObject({ code: 0 });
  expect(folder.cairn('hold', 'r').err).toContain('is completed');
});
