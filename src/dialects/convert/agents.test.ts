/** Models that work with tools: carried over where a stage and a block name the same tools. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { converted, readText, wayOf, worldOf } from '../../../test/convert-kit.ts';
import { createBench, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { told, withoutContents, type Stored } from '../../../test/support/bare-history.ts';
import { fileTools } from '../../agents/files/file-tools.ts';
import { localFiles } from '../../agents/files/local-files.ts';
import { createScriptedModels } from '../../models/scripted.ts';
import { checkDot } from '../dot/index.ts';
import { writingTools } from './outline/outline.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-convert-agents-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pipeline = (attributes: string, body = 'start -> work -> exit'): string =>
  `digraph p {\nstart [shape=Mdiamond]\nexit [shape=Msquare]\nwork [prompt="Mend it.", fidelity=truncate, ${attributes}]\nmend [shape=parallelogram, tool_command="echo mend"]\n${body}\nmend -> exit\n}\n`.replace(
    body.includes('mend') ? '\u0000' : /mend \[.*\n|mend -> exit\n/gu,
    '',
  );
const block = (inputs: string, more = ''): string =>
  `name: w\nblocks:\n  - { id: work, type: Agent, ${more} inputs: { prompt: Mend it., ${inputs} } }\n  - { id: after, type: Shell, depends_on: [work], timeout: 600, inputs: { command: echo after } }\n`;
const write = 'tools="write,shell,ask_person", allow_tools="write,shell", max_turns=7';

test.each([
  ['tools="read,ask_person"', { files: '.', files_read_only: true, max_loops: 50 }],
  ['tools="read,write"', { files: '.', ask_person: false, max_loops: 50 }],
  [
    'tools="read", on_change="refuse"',
    { files: '.', files_read_only: true, ask_person: false, max_loops: 50, on_change: 'refuse' },
  ],
  ['tools="shell", llm_model="m"', { model: 'm', shell: true, ask_person: false, max_loops: 50 }],
  [
    'tools="write,shell,ask_person", allow_tools="write,shell", max_turns=7, workdir="a/b"',
    { files: 'a/b', shell: true, allow: ['write_file', 'edit_file', 'shell'], max_loops: 7 },
  ],
])('CV1 an agent of a pipeline with %s is a block with the same tools, and back', (attributes, inputs) => {
  const { text, lost } = converted(pipeline(attributes));
  expect(lost).toEqual([]);
  expect(readText(text).graph.nodes.find(({ id }) => id === 'work')?.config).toEqual({
    inputs: { prompt: 'Mend it.', ...inputs },
  });
  const back = converted(text);
  expect([back.lost, converted(back.text).text]).toEqual([[], text]);
  expect(checkDot(back.text, { source: 'w.dot' }).violations).toEqual([]);
});

test('CV1 P5 an agent whose verdict leads on goes the same ways in both dialects', async () => {
  const text = pipeline(write, 'start -> work -> exit\nwork -> mend [condition="outcome=fail"]');
  const { text: yaml, lost } = converted(text);
  expect(lost).toEqual([]);
  const statuses = new Set<string>();
  for (let seed = 1; seed <= 8; seed += 1) {
    const way = await wayOf(text, worldOf(seed));
    expect(await wayOf(yaml, worldOf(seed))).toEqual(way);
    statuses.add(way.done.join());
  }
  expect(statuses.size).toBeGreaterThan(1);
});

test('CV1 P5 an agent leaves the same checkpoints and changes in both dialects, where it asks and where it writes', async () => {
  const attributes = `tools="write,ask_person", workdir="${folder}"`;
  const dot = pipeline(attributes);
  const historyOf = async (text: string): Promise<readonly string[]> => {
    writeFileSync(join(folder, 'a.txt'), 'old');
    const models = createScriptedModels([
      { calls: [{ tool: 'read_file', input: { path: 'a.txt' } }] },
      { calls: [{ tool: 'write_file', input: { path: 'a.txt', content: 'new' } }] },
      'Done.',
    ]);
    const { graph } = readText(text);
    const { engine, store } = createBench({ models, findGraph: () => Promise.resolve(graph) });
    const { runId, waits } = await runToRest(engine, graph, {});
    await engine.answer(runId, waits[0]?.waitId ?? '', 'approve');
    const done = await resumeToRest(engine, runId, graph);
    expect([done.status, done.error, readFileSync(join(folder, 'a.txt'), 'utf8')]).toEqual([
      'completed',
      undefined,
      'new',
    ]);
    const rows = await store.readCheckpoints({ tenant: 'default', runId }, { from: 0, to: 99 });
    const stored = rows.map(({ body }) => JSON.parse(new TextDecoder().decode(body)) as Stored);
    return told(stored.map((one) => withoutContents(one, ['work'])))
      .filter((line) => line.includes(' 0'))
      .map((line) => line.replace(/intent 0 \+ | \+ (?:settle|intent) (?!0).*$/u, ''));
  };
  const before = await historyOf(dot);
  expect(before.length).toBeGreaterThan(5);
  expect(await historyOf(converted(dot).text)).toEqual(before);
});

test.each([
  [block('workflows: [other]'), 'WORK work is what Agent does'],
  [block('blocks: [ReadFiles]'), 'WORK work is what Agent does'],
  [block('ask_person: false'), 'WORK work is what Agent does'],
  [pipeline('tools="shell", workdir="there"'), 'WORK work is of type codergen'],
])('CV3 an agent whose tools only one dialect has is done by hand, and told (%#)', (text, note) => {
  const others = { 'other.yaml': 'name: other\nblocks: [{ id: a, type: EchoBlock, inputs: { message: m } }]\n' };
  const { text: written, lost } = converted(text, others);
  expect(lost.join('\n')).toContain(note);
  expect(() => readText(written)).not.toThrow();
});

test.each([
  [block('files: ., allow: [write_file]'), 'work asks before it uses write_file, too'],
  [block('files: ., mode: json'), 'mode of work has no counterpart'],
  [block('files: ., fallbacks: [b]'), 'fallbacks of work has no counterpart'],
  [block('files: ., history: { messages_max: 4 }'), 'history of work has no counterpart'],
  [block('files: ., temperature: 1'), 'temperature of work is not told'],
  [block('files: ., instructions: Be brief.'), 'the system instructions of work stand before its prompt'],
  [block('files: .', 'retry: 2,'), 'retry of work has no counterpart'],
  [pipeline('tools=read, timeout=5'), 'work has no limit of time for its calls'],
  [pipeline('tools=read, max_retries=2'), 'work has one attempt'],
  [pipeline('tools=read, reasoning_effort=high'), 'the reasoning effort of work is not told'],
])('CV3 what of an agent does not carry over is told (%#)', (text, note) => {
  const { text: written, lost } = converted(text);
  expect(lost.join('\n')).toContain(note);
  expect(() => readText(written)).not.toThrow();
});

test('CV1 the tools that a block must allow for a stage to write unasked are all those that write', () => {
  const [all, reading] = [false, true].map((isReadOnly) =>
    Object.keys(fileTools(localFiles({ root: '.', isReadOnly }))),
  );
  expect(all?.filter((name) => reading?.includes(name) !== true)).toEqual([...writingTools]);
});
