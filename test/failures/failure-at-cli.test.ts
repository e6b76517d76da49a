/** What the command line says of a failed run: the line that threw, and what caused it. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test, vi } from 'vitest';
import { until } from '../support/awaited.ts';
import { environment, main, openFolder } from '../cli/cairn.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const library = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href;

const source = `import { AgentGraph, END, START, functionNode } from ${JSON.stringify(library)};
function dial() {
  throw Object.assign(new Error('no route to the bank'), { code: 'ECONNREFUSED' });
}
function charge() {
  try {
    dial();
  } catch (cause) {
    throw new Error('card refused', { cause });
  }
}
export const graph = new AgentGraph({}, { id: 'pay' })
  .addNode('charge', functionNode(() => charge(), { retry: { attempts: 2, delayMs: 1 } }))
  .addEdge(START, 'charge')
  .addEdge('charge', END)
  .compile();
`;

test('K1d H1 a failed run says on every surface which line of the user threw, and what caused it', () => {
  const folder = openFolder();
  writeFileSync(join(folder.path, 'pay.ts'), source);
  const run = folder.cairn('run', 'pay.ts', '--run-id', 'r1');
  expect(run.err).toMatch(/NODE_FAILED/u);
  const frames =
    /charge, attempt 2: card refused\n {4}at charge \(pay\.ts:9:11\)\n[^]*caused by: no route to the bank \[ECONNREFUSED\]\n {4}at dial \(pay\.ts:3:23\)/u;
  expect(run.err).toMatch(frames);
  expect(run.err).not.toContain('node_modules');

  expect(JSON.parse(folder.cairn('run', 'pay.ts', '--json').out)).toMatchObject({
    failures: [{ node: ['charge'], attempt: 2, message: 'card refused', causes: [{ code: 'ECONNREFUSED' }] }],
  });
  const log = folder.cairn('log', 'r1', '--json').out.trim().split('\n').slice(0, -1);
  const failed = log
    .flatMap((line) => (JSON.parse(line) as { change: { kind: string; error?: object }[] }).change)
    .filter(({ error }) => error !== undefined);
  expect(failed.map(({ kind }) => kind)).toEqual(['settle', 'retry']);
  for (const { error } of failed)
    expect(error).toMatchObject({
      stack: { frames: [expect.stringMatching(/^charge \(.*pay\.ts:9:11\)$/u), expect.anything()] },
    });
  expect(folder.cairn('post-mortem', 'r1').out).toMatch(
    /card refused \[NODE_FAILED\]\n.*at charge \(.*pay\.ts:9:11\)/u,
  );
  const shown = folder.cairn('show', 'r1@2', '--stack').out;
  expect(shown).toMatch(/at charge \(pay\.ts:9:11\)[^]*caused by: no route to the bank/u);
});

test('K1d H1 with CAIRN_DEBUG=1 a failed run shows all frames that are on record, and else the first three', () => {
  const folder = openFolder();
  const deep = ['dial', 'one', 'two', 'three', 'four']
    .map((name, at, all) => (at === 0 ? '' : `function ${name}() { ${all[at - 1]}(); }\n`))
    .join('');
  writeFileSync(
    join(folder.path, 'pay.ts'),
    source.replace('function charge() {', `${deep}function charge() {\n  four();`),
  );
  const framesWith = (debug: string): readonly string[] => {
    const env = { ...environment(), CAIRN_DEBUG: debug };
    const { stderr } = spawnSync('node', [main, 'run', 'pay.ts'], { cwd: folder.path, env, encoding: 'utf8' });
    return stderr.split('\n').filter((line) => /^ {4}at /u.test(line));
  };
  expect(framesWith('')).toHaveLength(3);
  expect(framesWith('1').length).toBeGreaterThan(5);
  expect(framesWith('1')[4]).toMatch(/at four \(pay\.ts:\d+:\d+\)/u);
}, 60_000);

test('K1d H1 a worker names the node that failed, the error and the line', async () => {
  const folder = openFolder();
  const asks = "async (ctx) => { await ctx.ask({ prompt: 'Go on?' }); return charge(); }";
  writeFileSync(join(folder.path, 'pay.ts'), source.replace(/functionNode\(.*\)\)$/mu, `functionNode(${asks}))`));
  expect(folder.cairn('run', 'pay.ts', '--run-id', 'w1').code).toBe(0);
  expect(folder.cairn('answer', 'w1', 'yes').code).toBe(0);
  const worker = folder.start('worker');
  let out = '';
  for (const stream of [worker.stdout, worker.stderr]) stream?.on('data', (data) => (out += String(data)));
  await until('the worker tells of the failure', () => out.includes('"failed"'), 20);
  worker.kill('SIGTERM');
  const events = out.split('\n').filter((line) => line.includes('"failed"'));
  expect(events.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({
      level: 50,
      run: 'w1',
      graph: 'pay',
      node: 'charge',
      msg: expect.stringMatching(/^charge: card refused at charge \(.*pay\.ts:9:11\)$/u) as string,
      err: {
        type: 'Error',
        code: 'NODE_FAILED',
        message: 'card refused',
        stack: expect.stringMatching(/^Error: card refused\n {4}at charge/u) as string,
      },
    }),
  ]);
});
