/** The installed package on the versions of Node it is for, and on one that is too old. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest';
import { installPackage, manifest, type InstalledPackage } from './support/installed-package.ts';
import { findNode } from './support/node-versions.ts';

const timeoutMs = 180_000;
const doors = Object.keys(manifest.exports)
  .filter((name) => name !== './package.json')
  .map((name) => join('cairn-workflows', name));

let installed: InstalledPackage;
beforeAll(() => {
  installed = installPackage();
  writeFileSync(
    join(installed.app, 'hello.yaml'),
    'name: hello\ndescription: d\nblocks: [{ id: a, type: Shell, inputs: { command: echo hi } }]\noutputs: { o: "${a.stdout}" }\n',
  );
  writeFileSync(
    join(installed.app, 'graph.ts'),
    `import { AgentGraph, END, humanNode, START } from 'cairn-workflows';
export const graph = new AgentGraph({}).addNode('ask', humanNode({ prompt: 'Go on?' })).addEdge(START, 'ask').addEdge('ask', END).compile();
`,
  );
}, timeoutMs);
afterAll(() => installed.remove());

function nodeFor(version: string, context: TestContext): string {
  const found = findNode(version);
  return 'path' in found ? found.path : context.skip(found.reason);
}

function start(node: string, args: readonly string[]): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(node, args, { cwd: installed.app, encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

for (const version of ['22.18.0', '24', 'latest']) {
  test(
    `P6 on Node ${version} each door can be imported, and YAML and TypeScript run, are asked and resumed`,
    { timeout: timeoutMs },
    (context) => {
      const node = nodeFor(version, context);
      const cairn = (...args: readonly string[]): string => {
        const { status, said } = start(node, [installed.executable, ...args]);
        expect([args, said, [0, 10].includes(status ?? 1)]).toEqual([args, said, true]);
        return said;
      };
      const script = doors.map((door) => `await import(${JSON.stringify(door)});`).join('\n');
      expect(start(node, ['--input-type=module', '-e', script])).toEqual({ status: 0, said: '' });
      expect(JSON.parse(cairn('run', 'hello.yaml', '--json'))).toMatchObject({
        status: 'completed',
        outputs: { o: 'hi\n' },
      });
      const runId = `asked-${version}`;
      expect(JSON.parse(cairn('run', 'graph.ts', '--run-id', runId, '--json'))).toMatchObject({ status: 'paused' });
      cairn('answer', runId, 'ask', 'yes');
      expect(JSON.parse(cairn('resume', runId, '--json'))).toMatchObject({ status: 'completed' });
      expect(cairn('ls')).toContain(runId);
    },
  );
}

test(
  'P6 a Node that is too old is told in a sentence, by each door and by the command',
  { timeout: timeoutMs },
  (context) => {
    const node = nodeFor('20', context);
    for (const door of doors) {
      const { status, said } = start(node, ['--input-type=module', '-e', `import ${JSON.stringify(door)}`]);
      expect([door, status, said]).toEqual([
        door,
        1,
        expect.stringMatching(/^Error: Cairn needs Node 22\.18 or newer; this is Node 20\./u),
      ]);
    }
    const { status, said } = start(node, [installed.executable, 'ls']);
    expect(said).toMatch(/^cairn: Node 20\.[\d.]+ is too old: Cairn needs Node 22\.18 or newer\.\n$/u);
    expect(status).toBe(2);
  },
);
