/** The blocks over what TypeScript calls: `Embed`, `Retrieve`, `Transcribe`, `ImageGen`, `Sandbox` and `Mission`, in workflows. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../src/app/process/system-clock.ts';
import { builtInBlocks } from '../src/app/workflows/built-in-blocks.ts';
import { createMemoryStore } from '../src/stores/memory/index.ts';
import { createScriptedModels, type ScriptedModels } from '../src/models/scripted.ts';
import { crashEverywhere } from '../src/testing/crash-kit/crash-everywhere.ts';
import { createBench, resumeToRest, runToRest } from './engine-kit.ts';
import { faultsOf, read, type More } from './yaml-kit.ts';
import { sampleCrashes } from './support/scale.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-media-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const nodeTypes = builtInBlocks();
const head = 'name: w\ndescription: d\n';

async function run(text: string, input: unknown = {}, models: ScriptedModels = createScriptedModels([])) {
  const { graph } = read(text, { nodeTypes });
  const bench = createBench({ clock: systemClock, models });
  const result = await runToRest(bench.engine, graph, input);
  return { ...bench, graph, result, outputs: result.state.outputs['outputs'] as Readonly<Record<string, unknown>> };
}

const library = `${head}inputs: { question: { type: str } }
blocks:
  - id: known
    type: Embed
    inputs: { model: m, texts: [Green tea is steeped briefly., The bridge was built by monks., Letters are answered on Fridays.], batch: 2 }
  - id: found
    type: Retrieve
    depends_on: [known]
    inputs: { model: m, query: "\${question}", passages: "\${known.passages}", top: 1, rerank_model: r }
outputs: { count: "\${known.count}", found: "\${found.passages}", content: "\${found.content}", at: "\${found.matches}" }
`;

test('B100 vectors are made in steps, and the nearest passages are found', async () => {
  const models = createScriptedModels([]);
  const { outputs } = await run(library, { question: 'Who built the bridge?' }, models);
  expect(outputs).toMatchObject({
    count: 3,
    found: ['The bridge was built by monks.'],
    content: 'The bridge was built by monks.',
    at: [{ index: 1 }],
  });
  expect([models.embedded.length, models.reranked.length]).toEqual([3, 1]);
});

test('B100 X4 killed anywhere, what was bought and recorded is not bought again', async () => {
  const report = await crashEverywhere(
    {
      graph: () => read(library, { nodeTypes }).graph,
      input: { question: 'tea' },
      models: () => createScriptedModels([]),
      answer: () => undefined,
    },
    { open: (now) => ({ store: createMemoryStore({ now }) }), choose: sampleCrashes(8) },
  );
  expect([report.trials > 5, report.faults]).toEqual([true, []]);
});

test('B100 vectors of another model are told, and not compared', async () => {
  const text = `${head}blocks: [{ id: a, type: Retrieve, inputs: { model: m, query: q, passages: [{ text: x, vector: [1, 2] }] } }]\n`;
  const { result } = await run(text);
  expect(result.error?.message).toContain('the model is another');
});

test('B101 an image is a file of the run, and a recording is heard from a path or from such a file', async () => {
  const path = join(folder, 'speech.mp3');
  writeFileSync(path, 'Tea is ready');
  const text = `${head}inputs: { path: { type: str } }
blocks:
  - { id: heard, type: Transcribe, inputs: { model: m, file: "\${path}" } }
  - { id: drawn, type: ImageGen, depends_on: [heard], inputs: { model: m, prompt: "\${heard.text}", count: 2, size: 64x64 } }
  - { id: again, type: Transcribe, depends_on: [drawn], inputs: { model: m, file: "\${drawn.image}" } }
outputs: { text: "\${heard.text}", images: "\${drawn.images}", again: "\${again.text}" }
`;
  const { outputs, result } = await run(text, { path });
  expect(result.error).toBeUndefined();
  expect(outputs['text']).toBe('Tea is ready');
  expect(outputs['images']).toMatchObject([{ type: 'image/png', name: 'image-1.png' }, { name: 'image-2.png' }]);
  expect(outputs['again']).toContain('Tea is ready');
});

test('B102 commands in a sandbox see their files, give theirs, and fail as a command does', async () => {
  const text = (code: number): string => `${head}blocks:
  - id: work
    type: Sandbox
    inputs:
      commands: [[sh, -c, 'tr a-z A-Z < in.txt > out.txt'], [sh, -c, 'cat out.txt -; exit ${code}']]
      files: { in.txt: words }
      stdin: ' and more'
outputs: { said: "\${work.stdout}", files: "\${work.files}", code: "\${work.exit_code}" }
`;
  const { outputs, result } = await run(text(0));
  expect(result.error).toBeUndefined();
  expect(outputs).toMatchObject({ said: 'WORDS and more', code: 0, files: { 'out.txt': { sizeBytes: 5 } } });
  expect((await run(text(3))).result).toMatchObject({ status: 'failed', failed: ['work'] });
});

const missionText = (more: string): string => `${head}blocks:
  - id: page
    type: Mission
    inputs:
      goal: A page on tides.
      agents:
        searcher: { model: searcher, description: Searches., ask_person: false }
        writer: { model: writer, description: Writes., ask_person: false }
      ${more}
outputs: { results: "\${page.results}", plan: "\${page.plan}" }
`;
const tasks = `[{ id: find, agent: searcher, task: Find., needs: [] }, { id: write, agent: writer, task: Write., needs: [find] }]`;
const plan = {
  tasks: [
    { id: 'find', agent: 'searcher', task: 'Find.', needs: [] },
    { id: 'write', agent: 'writer', task: 'Write.', needs: ['find'] },
  ],
};
const answering = (): ScriptedModels =>
  createScriptedModels(({ model }) => (model === 'planner' ? JSON.stringify(plan) : `by ${model}`));

test('B103 a mission asks about the plan that its planner made, and carries it out', async () => {
  const { engine, result, graph } = await run(missionText('planner: planner'), {}, answering());
  expect(result.waits).toMatchObject([{ isApproval: true, prompt: expect.stringContaining('Carry out this plan?') }]);
  await engine.answer(result.runId, result.waits[0]?.waitId ?? '', 'approve');
  const done = await resumeToRest(engine, result.runId, graph);
  expect(done.state.outputs['outputs']).toEqual({
    results: { find: 'by searcher', write: 'by writer' },
    plan: expect.objectContaining(plan),
  });
});

test('B103 a plan that the file gives is checked when it is read', async () => {
  const { outputs } = await run(missionText(`plan: { tasks: ${tasks} }\n      autonomy: full`), {}, answering());
  expect(outputs['results']).toEqual({ find: 'by searcher', write: 'by writer' });
  const faults = (more: string): string => faultsOf(missionText(more), { nodeTypes }).join('\n');
  expect(faults(`plan: { tasks: ${tasks.replace('agent: writer', 'agent: painter')} }`)).toContain('plan');
  expect(faults(`planner: p\n      plan: { tasks: ${tasks} }`)).toContain('a planner or a plan');
  expect(faults('planner: p\n      max_tasks: 0')).toContain('max_tasks');
  expect(faultsOf(missionText('planner: p').replace('Searches.', 'x, tools: [a]'), { nodeTypes }).join()).toContain(
    'tools',
  );
});

test('Y6 each is refused without its grant, by name, and plans tell what they may do', () => {
  const block = (type: string, inputs: string): string =>
    `${head}blocks: [{ id: a, type: ${type}, inputs: { ${inputs} } }]\n`;
  const more: More = { origin: 'inline', nodeTypes, permissions: {} };
  const refusal = (text: string, permissions = {}): string | undefined => {
    try {
      read(text, { ...more, permissions });
      return undefined;
    } catch (error) {
      return String((error as { data?: { reason?: unknown } }).data?.reason);
    }
  };
  const embed = block('Embed', 'model: m, texts: x');
  const sandbox = block('Sandbox', 'commands: [[ls]]');
  const open = block('Sandbox', 'commands: [[ls]], network: true');
  const mission = missionText('planner: p');
  expect(refusal(embed)).toContain('--allow model=m');
  expect(refusal(embed, { model: ['m'] })).toBeUndefined();
  expect(refusal(block('Retrieve', 'model: m, query: q, passages: [], rerank_model: r'), { model: ['m'] })).toContain(
    'model=r',
  );
  expect(refusal(block('ImageGen', 'model: m, prompt: x'))).toContain('model=m');
  expect(refusal(block('Transcribe', 'model: m, file: /etc/passwd'), { model: ['m'] })).toContain('/etc/passwd');
  expect(refusal(sandbox, { shell: true })).toContain('--allow sandbox');
  expect(refusal(sandbox, { sandbox: true })).toBeUndefined();
  expect(refusal(open, { sandbox: true, net: ['a.org'] })).toContain('--allow net');
  expect(refusal(open, { sandbox: true, net: true })).toBeUndefined();
  expect(refusal(mission, { model: ['p', 'searcher'] })).toContain('model=writer');
  expect(refusal(mission, { model: ['p', 'searcher', 'writer'] })).toBeUndefined();
  expect(read(open, { nodeTypes }).blocks).toMatchObject([
    { tools: [{ name: 'exec', effect: 'external', asks: true }] },
  ]);
  expect(read(open, { nodeTypes }).effect).toBe('external');
});
