/** What a person at the command line meets: faulty graphs, input that misses its schema, nodes that end the process, two processes at once. */
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { within } from '../support/awaited.ts';
import { openFolder } from '../cli/cairn.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const library = JSON.stringify(new URL('../../src/index.ts', import.meta.url).href);
const zod = JSON.stringify(import.meta.resolve('zod'));
const heading = `import { appendFileSync, existsSync } from 'node:fs';
import { AgentGraph, END, functionNode, humanNode, START } from ${library};
import { z } from ${zod};
`;

test('G7 a graph with several faults is refused with all of them, each with its file, line and fix', () => {
  const folder = openFolder();
  folder.write(
    'faulty.ts',
    `${heading}
export const graph = new AgentGraph({}, { id: 'faulty' })
  .addNode('a', functionNode(() => 1, { timeoutMs: -1 }))
  .addNode('b', functionNode(() => 1, { retry: { attempts: 0 } }))
  .addNode('lonely', functionNode(() => 1))
  .addEdge(START, 'a')
  .addEdge('a', 'nowhere' as never)
  .addEdge('a', 'b')
  .addEdge('b', END)
  .compile();
`,
  );
  const { code, out, err } = folder.cairn('run', 'faulty.ts');
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain('faulty is not valid: 4 faults');
  for (const [line, word] of [
    [6, 'timeoutMs'],
    [7, 'attempts'],
    [8, 'can never run'],
    [10, 'nowhere'],
  ])
    // The place, what is wrong, and what to do, a line each.
    expect(err).toMatch(new RegExp(`faulty\\.ts:${line}\\n +.*${word}.*\\n +\\S`));
  expect(err).not.toContain('    at ');
});

test('P6 input that misses the schema is refused with every path, and no run is left behind', () => {
  const folder = openFolder();
  folder.write(
    'typed.ts',
    `${heading}
export const graph = new AgentGraph({ input: z.object({ count: z.number(), name: z.string() }) }, { id: 'typed' })
  .addNode('a', functionNode(() => 1))
  .addEdge(START, 'a')
  .addEdge('a', END)
  .compile();
`,
  );
  const { code, err } = folder.cairn('run', 'typed.ts', '--input', 'count=many');
  expect(code).toBe(2);
  expect(err).toMatch(/count: .*name: .*\[INPUT_INVALID\]/);
  expect(folder.cairn('ls').err).toContain('No runs here');
});

const leaving = `${heading}
export const graph = new AgentGraph({}, { id: 'leaving' })
  .addNode('note', functionNode(() => { appendFileSync('note.txt', 'noted\\n'); return 'noted'; }, { effectClass: 'write' }))
  .addNode('leave', functionNode(() => {
    appendFileSync('left.txt', 'here\\n');
    if (!existsSync('stay.txt')) process.reallyExit(7);
    return 'stayed';
  }, { effectClass: 'EFFECT' }))
  .addEdge(START, 'note')
  .addEdge('note', 'leave')
  .addEdge('leave', END)
  .compile();
`;

test('P2 a write that ends the process is in doubt: the run resumes at once, asks, and repeats nothing', () => {
  const folder = openFolder();
  folder.write('leaving.ts', leaving.replace('EFFECT', 'write'));
  expect(folder.cairn('run', 'leaving.ts', '--run-id', 'r').code).toBe(7);
  folder.write('stay.txt', '');
  const { out, err } = folder.cairn('resume', 'r');
  expect(`${out}${err}`).toContain('It is not known whether');
  expect(folder.cairn('answer', 'r', 'happened').code).toBe(0);
  expect(folder.cairn('resume', 'r').code).toBe(0);
  expect((folder.json('ls') as { runs: { status: string }[] }).runs.map(({ status }) => status)).toEqual(['completed']);
  expect([folder.lines('note.txt'), folder.lines('left.txt')]).toEqual([['noted'], ['here']]);
});

test('P1 a pure node that ends the process is run again, and what came before it is not', () => {
  const folder = openFolder();
  folder.write('leaving.ts', leaving.replace('EFFECT', 'pure'));
  expect(folder.cairn('run', 'leaving.ts', '--run-id', 'r').code).toBe(7);
  folder.write('stay.txt', '');
  expect(folder.cairn('resume', 'r').code).toBe(0);
  expect([folder.lines('note.txt'), folder.lines('left.txt')]).toEqual([['noted'], ['here', 'here']]);
});

test('O3 of two processes on one run, the second is told who holds it, and the first goes on', async () => {
  const folder = openFolder();
  folder.write(
    'slow.ts',
    `${heading}
export const graph = new AgentGraph({}, { id: 'slow' })
  .addNode('wait', functionNode(async () => {
    appendFileSync('started.txt', 'one\\n');
    for (let looks = 0; !existsSync('go.txt') && looks < 4_000; looks += 1)
      await new Promise((resolve) => setTimeout(resolve, 10));
  }))
  .addEdge(START, 'wait')
  .addEdge('wait', END)
  .compile();
`,
  );
  const first = folder.start('run', 'slow.ts', '--run-id', 'r');
  const ended = new Promise((resolve) => first.once('exit', resolve));
  await folder.until('started.txt');
  const second = folder.cairn('resume', 'r');
  expect(second.code).toBe(4);
  expect(second.err).toMatch(/run r is held by .* \[CLAIM_TAKEN\]/);
  folder.write('go.txt', '');
  expect(await within('the first process ends', ended)).toBe(0);
  expect(folder.lines('started.txt')).toEqual(['one']);
});

test('C6 a damaged checkpoint is named by every command, with the one to fork from, and the run is still listed', () => {
  const folder = openFolder();
  folder.write(
    'asking.ts',
    `${heading}
export const graph = new AgentGraph({}, { id: 'asking' })
  .addNode('a', functionNode(() => 'a'))
  .addNode('ask', humanNode({ prompt: 'Go on?' }))
  .addEdge(START, 'a')
  .addEdge('a', 'ask')
  .addEdge('ask', END)
  .compile();
`,
  );
  folder.cairn('run', 'asking.ts', '--run-id', 'r');
  const db = new DatabaseSync(join(folder.path, '.cairn/cairn.db'));
  db.exec('delete from snapshots; update checkpoints set body = substr(body, 1, 40) where seq = 2');
  db.close();
  for (const command of [
    ['resume', 'r'],
    ['state', 'r'],
    ['fork', 'r'],
  ]) {
    const { code, err } = folder.cairn(...command);
    expect(code).toBe(5);
    expect(err).toMatch(/checkpoint [0-9a-f]{16}\.2 is damaged: .*\[CHECKPOINT_CORRUPT\]\n.*[0-9a-f]{16}\.1/);
  }
  expect(folder.cairn('ls').out).toContain('paused');
  expect(folder.cairn('verify', 'r').code).toBe(5);
  expect(folder.cairn('fork', 'r@1', '--run').out).toContain('Go on?');
});
