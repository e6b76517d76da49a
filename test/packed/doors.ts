/** What the doors of the installed package say. */
import { spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { until } from '../support/awaited.ts';
import { root, type InstalledPackage } from '../support/installed-package.ts';
import { asking, filesIn, type Place } from '../support/packed-place.ts';

export function doorCases(place: () => Place, installed: () => InstalledPackage): void {
  test('`run --json` is one JSON document, whatever the program prints', () => {
    const at = place();
    at.file('g.mjs', `console.log('noise'); ${asking('?')} process.stdout.write('more');`);
    expect(at.json('run', 'g.mjs', '--run-id', 'r')).toMatchObject({ status: 'paused' });
  });

  test('a workflow that is not compiled runs, and gives what `returns` made', () => {
    const at = place();
    at.file(
      'w.mjs',
      `
import { z } from 'zod';
import { AgentGraph, END, humanNode, START, workflow } from 'cairn-workflows';
import { durable } from 'cairn-workflows/ai-sdk';
export const refund = workflow('refund').input(z.object({})).step('a', () => 2).returns(({ state }) => ({ doubled: state.artifacts.a * 2 }));
`,
    );
    const ran = at.cairn('run', 'w.mjs', '--run-id', 'r', '--json');
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(ran.out).toContain('"doubled":4');
  });

  test('the types are whole under the settings of the guide', () => {
    const at = place();
    at.file(
      'g.ts',
      `import { z } from 'zod';
export const graph = new AgentGraph({ input: z.object({}) }).addNode('a', async (ctx) => {
const { amount } = await ctx.receive('paid', { schema: z.object({ amount: z.number() }), timeoutMs: 5 });
const n: number = amount; return [n, typeof durable];
}, { effectClass: 'read' }).addEdge(START, 'a').addEdge('a', END).compile();
`,
    );
    at.file(
      'tsconfig.json',
      '{ "compilerOptions": { "target": "es2023", "module": "nodenext", "strict": true, "noEmit": true, "skipLibCheck": true, "types": ["node"] }, "include": ["g.ts"] }',
    );
    const { status, stdout } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.'], {
      cwd: at.path,
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([0, '']);
  });

  test('the reference comes with the package', () => {
    const pages = readdirSync(join(installed().home, 'dist/reference'));
    expect(pages).toContain('main.md');
    expect(readFileSync(join(installed().home, 'dist/reference/main.md'), 'utf8')).toContain('humanNode');
  });

  test('a step that was put in where a run is past is told in the result, the log and the story, and the guide says so', () => {
    const at = place();
    const withStep = (isInserted: boolean): string => `
export const graph = new AgentGraph({}, { id: 'g' }).addNode('a', () => 1)${isInserted ? ".addNode('inserted', () => 2)" : ''}.addNode('ask', humanNode({ prompt: '?' }))
  .addEdge(START, 'a')${isInserted ? ".addEdge('a', 'inserted').addEdge('inserted', 'ask')" : ".addEdge('a', 'ask')"}.addEdge('ask', END).compile();
`;
    at.file('one.mjs', withStep(false));
    at.file('two.mjs', withStep(true));
    expect(at.cairn('run', 'one.mjs', '--run-id', 'r').code).toBe(0);
    expect(at.cairn('answer', 'r', 'x').code).toBe(0);
    const resumed = at.json('resume', 'r', '--file', 'two.mjs');
    expect(resumed).toMatchObject({ status: 'completed', skipped: ['inserted'] });
    const told = /node added inserted \(the run is past it/u;
    expect(at.cairn('log', 'r').out).toMatch(told);
    expect(JSON.stringify(at.json('post-mortem', 'r'))).toContain('inserted; the run is past it: it is never run');
    const guides = readdirSync(join(installed().home, 'docs/guide')).filter((name) => name.endsWith('.md'));
    const texts = guides.map((name) => readFileSync(join(installed().home, 'docs/guide', name), 'utf8')).join('\n');
    expect(texts).toMatch(/the run is past/u);
  });

  test('a start of the same id from a second process is the run, while the first runs and when it rests', async () => {
    const at = place();
    at.file(
      'g.mjs',
      `
import { appendFileSync, existsSync } from 'node:fs';
export const graph = new AgentGraph({}, { id: 'slow' }).addNode('a', async () => {
  appendFileSync('begun', 'x');
  while (!existsSync('go')) await new Promise((r) => setTimeout(r, 20));
  return 'done';
}, { effectClass: 'read' }).addEdge(START, 'a').addEdge('a', END).compile();
`,
    );
    const outputOf = async (child: ChildProcess): Promise<unknown> => {
      let said = '';
      child.stdout?.on('data', (piece) => (said += String(piece)));
      const [code] = (await once(child, 'close')) as [number];
      return [code, JSON.parse(said)];
    };
    const start = (): Promise<unknown> => outputOf(at.start('run', 'g.mjs', '--run-id', 'r', '--json'));
    const first = start();
    await until('the first process is at work', () => existsSync(join(at.path, 'begun')), 20);
    const second = start();
    await until('both follow the run', () => at.cairn('ls').out.includes('running'), 50);
    at.file('go', '');
    const done = [
      0,
      expect.objectContaining({
        runId: 'r',
        status: 'completed',
        state: expect.objectContaining({ outputs: { a: 'done' } }),
      }),
    ];
    expect(await Promise.all([first, second])).toEqual([done, done]);
    expect(readFileSync(join(at.path, 'begun'), 'utf8')).toBe('x');
  });

  test('a run whose process died is stopped at each door', async () => {
    const at = place();
    at.file(
      'workflows/w.yaml',
      'name: w\nblocks: [{ id: a, type: Shell, inputs: { command: "kill -9 $PPID; sleep 5" } }]\n',
    );
    expect(at.cairn('run', 'workflows/w.yaml', '--run-id', 'r', '--store', 'runs.db').code).not.toBe(0);
    expect(at.cairn('ls', '--store', 'runs.db').out).toMatch(/r +stopped/u);
    expect(at.cairn('log', 'r', '--store', 'runs.db').out).toMatch(/^r w stopped/u);
    expect(at.cairn('post-mortem', 'r', '--store', 'runs.db').out).toMatch(/r@\d+ w stopped/u);
    const call = await at.mcp();
    expect(await call('get_run', { run_id: 'r' })).toMatchObject({ status: 'stopped' });
    const { runs } = (await call('list_runs', {})) as { readonly runs: readonly object[] };
    expect(runs).toMatchObject([{ run_id: 'r', status: 'stopped' }]);
  });

  test('a fork tells whose it is, once, and what was taken over from where', () => {
    const at = place();
    at.file('g.mjs', asking('Go?'));
    expect(at.cairn('run', 'g.mjs', '--run-id', 'r').code).toBe(0);
    expect(at.cairn('answer', 'r', 'yes').code).toBe(0);
    expect(at.cairn('resume', 'r', '--file', 'g.mjs').code).toBe(0);
    const fork = at.cairn('fork', 'r', '--answer', 'ask=no', '--run-id', 'f', '--run', '--file', 'g.mjs');
    expect([fork.code, fork.out]).toEqual([0, expect.stringContaining('completed f@')]);
    const story = at.cairn('post-mortem', 'f').out;
    const origins = [...story.matchAll(/forked from (\S+)/gu)].map(([, origin]) => origin?.replace(/;$/u, ''));
    expect([origins.length > 1, [...new Set(origins)]]).toEqual([true, ['r@2']]);
    expect(story).toMatch(/answered "no"/u);
    expect(story).not.toMatch(/answered "yes"/u);
    for (const run of ['r', 'f']) expect([run, at.json('show', run)['isInDoubt']]).toEqual([run, false]);
  });

  test('a diff of a `workflow()` tells each value once, and a fork before a question names a way that is one', () => {
    const at = place();
    at.file(
      'w.mjs',
      `
import { z } from 'zod';
export const w = workflow('w').input(z.object({})).step('a', () => 'first value').step('b', () => 'second value').returns(({ state }) => Object.keys(state.artifacts).length);
`,
    );
    expect(at.cairn('run', 'w.mjs', '--run-id', 'w').code).toBe(0);
    const diff = at.cairn('diff', 'w@0', 'w').out;
    for (const value of ['first value', 'second value'])
      expect([value, diff.split(value)]).toEqual([value, [expect.anything(), expect.anything()]]);
    const { code, hint, message } = at.program(`
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', () => 1).addNode('ask', humanNode({ prompt: '?' })).addEdge(START, 'a').addEdge('a', 'ask').addEdge('ask', END).compile();
await graph.invoke({}, { runId: 'w' });
const { code, hint, message } = await graph.fork('w@1', { answers: { ask: 'no' } }).catch((error) => error);
console.log(JSON.stringify({ code, hint, message })); await graph.close();
`) as { readonly code: string; readonly hint: string; readonly message: string };
    expect([code, message]).toEqual(['WAIT_NOT_FOUND', expect.stringContaining('up to checkpoint 1')]);
    expect(hint).toMatch(/Fork at a later checkpoint, or without answers/u);
    expect(hint).not.toMatch(/fork the run/iu);
  });

  test('a hint is told once', () => {
    const at = place();
    at.file('w.yaml', 'name: w\nblocks: [{ id: a, type: Shell, inputs: { command: "exit 3" } }]\n');
    for (const words of [
      ['run', 'w.yaml', '--run-id', 'r'],
      ['show', 'none'],
      ['resume', 'r@9'],
      ['answer', 'r', 'yes'],
      ['run', 'none.yaml'],
    ]) {
      const lines = at
        .cairn(...words)
        .err.split('\n')
        .filter((line) => line.trim() !== '');
      expect([words, lines]).toEqual([words, [...new Set(lines)]]);
      // No clause of three words or more either.
      const clauses = lines
        .flatMap((line) => line.split(/[.;:,] ?/u))
        .filter((clause) => clause.trim().split(' ').length > 2);
      expect([words, clauses]).toEqual([words, [...new Set(clauses)]]);
    }
  });

  // Large values stay until they are a day old, and `rm` says so.
  test('a file of a store gives room back', () => {
    const at = place();
    at.file(
      'g.mjs',
      `
export const graph = new AgentGraph({}, { id: 'g' }).addNode('a', () => Array.from({ length: 2000 }, () => Math.random().toString(36)).join('')).addEdge(START, 'a').addEdge('a', END).compile();
`,
    );
    const size = (): number =>
      filesIn(at.path)
        .filter((name) => name.startsWith('runs.db'))
        .reduce((sum, name) => sum + statSync(join(at.path, name)).size, 0);
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f'])
      expect(at.cairn('run', 'g.mjs', '--run-id', id, '--store', 'runs.db').code).toBe(0);
    const before = size();
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f'])
      expect(at.cairn('rm', id, '--yes', '--store', 'runs.db').code).toBe(0);
    const cleaned = at.cairn('cleanup', '--vacuum', '--yes', '--store', 'runs.db');
    expect([cleaned.code, size() < before]).toEqual([0, true]);
  });
}
