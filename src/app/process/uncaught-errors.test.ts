import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { openFolder } from '../../../test/cli/cairn.ts';
import { until } from '../../../test/support/awaited.ts';
import * as all from '../../../test/poison/graphs.ts';
import { createDefaultEngine } from '../default-engine.ts';

const folder = openFolder();
/** Those that end their process in a way that no code sees come are for another test. */
const {
  killed: _,
  aborts: __,
  exhausts: ___,
  endsParent: ____,
  killedInStep: _5,
  recovers: _6,
  patient: _7,
  blocks: _8,
  computes: _9,
  ...graphs
} = all;
const file = fileURLToPath(new URL('../../../test/poison/graphs.ts', import.meta.url));

test('E6.9 an error that nobody caught, and process.exit, fail the attempt they arose in, and neither their worker nor its other runs', async () => {
  const store = `sqlite:${join(folder.path, 'p.db')}`;
  const engine = createDefaultEngine({ store });
  const names = Object.keys(graphs);
  for (const { graph } of Object.values(graphs)) await engine.start(graph, {}, { runId: graph.id, detach: true });
  const worker = folder.start('worker', '--modules', file, '--store', store);
  let told = '';
  for (const stream of [worker.stdout, worker.stderr])
    stream?.on('data', (chunk: Buffer) => (told += chunk.toString()));
  const statusOf = async (runId: string): Promise<string> =>
    (await engine.ports.store.readRun({ tenant: 'default', runId }))?.status ?? '';
  const ids = Object.values(graphs).map(({ graph }) => graph.id);
  const rests = async (): Promise<boolean> =>
    (await Promise.all(ids.map(statusOf))).every((status) => ['completed', 'failed', 'paused'].includes(status));
  await until('all runs have come to rest', rests, 50);
  expect(worker.exitCode).toBeNull();
  expect(names).toHaveLength(ids.length);

  for (const { graph } of Object.values(graphs)) engine.know(graph);
  const shown: Record<string, unknown> = {};
  for (const id of ids) {
    const { status, error, waits } = await engine.inspect(id);
    const cause = error?.cause as { readonly code?: string; readonly message?: string } | undefined;
    shown[id] = [status, cause?.code ?? cause?.message ?? waits[0]?.kind]
      .filter((part) => part !== undefined)
      .join(' ');
  }
  expect(shown).toEqual({
    rejects: 'failed forgotten',
    throws: 'failed in a timer',
    late: 'completed',
    external: 'failed beside an effect',
    retried: 'completed',
    'in-step': 'completed',
    exits: 'failed NODE_EXITED',
    'exits-quietly': 'failed NODE_EXITED',
    healthy: 'completed',
  });
  expect((await engine.inspect('in-step')).state.outputs['first']).toBe('caught: in a step');
  const log = folder.cairn('log', 'late', '--json', '--store', store).out;
  expect(log).toContain('"warning"');
  expect(log).toContain('too late');
  expect(told).toContain('in node first of run rejects: a promise that nobody awaited was rejected; its attempt fails');
  expect(told).toContain('forgotten');
  worker.kill('SIGTERM');
  await engine.close();
});

const program = (option: string): string => `
  import { AgentGraph, END, START } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../index.ts')).href)};
  const graph = new AgentGraph({}, { id: 'g' })
    .addNode('n', async () => { Promise.reject(new Error('forgotten')); await new Promise((r) => setTimeout(r, 1000)); })
    .addEdge(START, 'n').addEdge('n', END).compile({ ${option} });
  const { status } = await (await graph.start({})).result();
  console.log(status);
  await graph.close();
  Promise.reject(new Error("the program's own"));
`;

function runProgram(option: string): { readonly out: string; readonly err: string } {
  try {
    const out = execFileSync('node', ['--input-type=module', '-e', program(option)], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
    return { out, err: '' };
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    return { out: stdout, err: stderr };
  }
}

test("E6.9 a program's own errors stay its own, and those of its nodes too unless it says otherwise", () => {
  const plain = runProgram('');
  expect(plain.out).toBe('');
  expect(plain.err).toContain('Error: forgotten');
  const caught = runProgram('catchUncaught: true');
  expect(caught.out).toBe('failed\n');
  expect(caught.err).toContain("Error: the program's own");
});
