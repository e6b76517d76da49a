/** Limits over all workers, named in YAML and DOT (FL12). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openApp, type App } from '../src/app/open-app.ts';
import { perform } from '../src/operations/contract/perform.ts';
import * as operations from '../src/operations/table.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-limits-'));
const apps: App[] = [];
afterAll(async () => {
  for (const app of apps) await app.close();
  rmSync(folder, { recursive: true, force: true });
});
writeFileSync(join(folder, 'cairn.config.yaml'), 'limits:\n  desk: { concurrency: 1 }\n  door: { concurrency: 1 }\n');

/** A command that notes when it begins and ends. */
const told = join(folder, 'noted.txt');
const noted = `echo begin >> ${told}; sleep 0.05; echo end >> ${told}`;

async function runFile(name: string, text: string): Promise<string> {
  writeFileSync(join(folder, name), text);
  rmSync(told, { force: true });
  const app = await openApp({ cwd: folder, storeUrl: 'memory:' });
  apps.push(app);
  const { result } = await perform(operations.run, app, { file: name });
  expect(result?.status).toBe('completed');
  const { limits } = await perform(operations.limits, app, {});
  expect(limits.map(({ name: limit, taken }) => `${limit} ${taken}`)).toEqual(['desk 0', 'door 0']);
  return readFileSync(told, 'utf8').trim().split('\n').join(' ');
}

const oneByOne = 'begin end begin end begin end';

test('FL12 in YAML a workflow, blocks and the items of a list name their limits', async () => {
  const yaml = `name: desk
limit: door
blocks:
  - { id: one, type: Shell, limit: desk, inputs: { command: '${noted}' } }
  - { id: all, type: Shell, limit: [desk], for_each: [1, 2], inputs: { command: '${noted}' } }
`;
  expect(await runFile('desk.yaml', yaml)).toBe(oneByOne);
});

test('FL12 in DOT a pipeline and the work of a stage name their limits', async () => {
  const stage = (id: string): string => `${id} [shape=parallelogram, limit="desk", tool_command="${noted}"]`;
  const dot = `digraph desk { graph [limit="door"]
    start [shape=Mdiamond]; exit [shape=Msquare]; fan [shape=component]; in [shape=tripleoctagon]
    ${stage('a')}; ${stage('b')}; ${stage('c')}
    start -> fan; fan -> a -> in; fan -> b -> in; fan -> c -> in; in -> exit }`;
  expect(await runFile('desk.dot', dot)).toBe(oneByOne);
});
