/** An agent's writes of which nobody knows whether they happened, since somebody else has changed the file (A31). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import { afterCrash, createBench, edges, graphOf, resumeToRest } from '../../../test/engine-kit.ts';
import { createScriptedModels } from '../../models/scripted.ts';
import { agent } from '../agent.ts';
import { localFiles } from './local-files.ts';

const root = mkdtempSync(join(tmpdir(), 'cairn-doubted-writes-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const path = join(root, 'a.md');

/** What the model is told of its write when a person said that it happened. Undefined: nobody was asked, or the run had ended. */
async function toldAfterDeathAt(commit: number): Promise<unknown> {
  writeFileSync(path, 'old\n');
  let told: unknown;
  const models = createScriptedModels(({ messages }) => {
    for (const { role, content } of messages) if (role === 'tool') told = content[0]?.output;
    return told === undefined
      ? { calls: [{ tool: 'write_file', input: { path: 'a.md', content: 'new\n' } }] }
      : 'Done.';
  });
  const bench = createBench({ models });
  const own = agent({ model: 'm', prompt: 'Go.', files: localFiles({ root }), allow: ['write_file'] });
  const graph = graphOf('g', [{ id: 'a', ...own }], edges('> a', 'a >'));
  const died = Promise.withResolvers<undefined>();
  const handle = await dyingEngine(bench, commit, () => died.resolve(undefined)).start(graph, {}, { runId: 'r' });
  if ((await Promise.race([handle.result(), died.promise])) !== undefined) return undefined;
  await settleDown();
  if (readFileSync(path, 'utf8') === 'new\n') writeFileSync(path, 'of somebody else\n');
  const engine = afterCrash(bench);
  const { waits } = await resumeToRest(engine, 'r', graph);
  if (waits[0]?.kind !== 'doubt') return undefined;
  await engine.answer('r', waits[0].waitId, 'happened');
  expect((await resumeToRest(engine, 'r', graph)).status).toBe('completed');
  return told;
}

test('A31 X3.9 a write of which a person says that it happened is told to the model as made', async () => {
  const told: unknown[] = [];
  for (let commit = 1; commit < 12; commit += 1) told.push(await toldAfterDeathAt(commit));
  expect(new Set(told.filter((output) => output !== undefined))).toEqual(new Set(['a.md: written, 4 bytes']));
});
