/** A run whose module is elsewhere now: the file that a resume names is the run's file from then on. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openFolder } from './cli/cairn.ts';

vi.setConfig({ testTimeout: 60_000 });

const door = new URL('../src/index.ts', import.meta.url).href;
const module = `
import { AgentGraph, END, humanNode, START } from '${door}';
export const graph = new AgentGraph({}, { id: 'two' })
  .addNode('first', humanNode({ prompt: 'First?', choices: ['yes', 'no'] }))
  .addNode('second', humanNode({ prompt: 'Second?', choices: ['yes', 'no'] }))
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .addEdge('second', END);
`;

test('H3 the file that a resume names is taken by later resumes, and the log says so', () => {
  const folder = openFolder();
  folder.write('a.ts', module);
  expect(folder.cairn('run', 'a.ts', '--run-id', 'r').code).toBe(0);
  folder.write('b.ts', module);
  rmSync(join(folder.path, 'a.ts'));
  folder.cairn('answer', 'r', 'yes');
  const moved = folder.cairn('resume', 'r', '--file', 'b.ts');
  expect([moved.code, moved.err]).toEqual([0, expect.stringContaining("The run's file is b.ts from now on.")]);
  expect(folder.cairn('log', 'r').out).toContain('file b.ts from now on');
  folder.cairn('answer', 'r', 'yes');
  const { code, out } = folder.cairn('resume', 'r');
  expect([code, out]).toEqual([0, expect.stringMatching(/^completed r@/u)]);
});

test('H3 a resume that is refused under the file that it names does not say that this is the run’s file now', () => {
  const folder = openFolder();
  folder.write('a.ts', module);
  folder.write('b.ts', module.replace("id: 'two'", "id: 'three'"));
  expect(folder.cairn('run', 'a.ts', '--run-id', 'r').code).toBe(0);
  const refused = folder.cairn('resume', 'r', '--file', 'b.ts');
  expect([refused.code, refused.err]).toEqual([3, expect.stringContaining('RUN_GRAPH_CHANGED')]);
  expect(refused.err).not.toContain('from now on');
  expect(refused.err).toContain('Give the graph its id back, or name the file that has the graph');
});
