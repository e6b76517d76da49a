/** Stages that are agents: their tools, what asks, hooks around calls, attempts, threads, and kills. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { digraph, dotOptions, lintOf, runDot, type RanDot } from '../../../../../test/dot-kit.ts';
import { restartedAfter } from '../../../../../test/dying-engine.ts';
import { afterCrash, createBench, resumeToRest, runToRest } from '../../../../../test/engine-kit.ts';
import { stageAgent } from '../../../../agents/stage/stage-agent.ts';
import { createScriptedModels, type Script, type ScriptedModels } from '../../../../models/scripted.ts';
import { checkDot, readDot } from '../../index.ts';

let folder = '';
const made: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-test-'));
  made.push(folder);
});
afterAll(() => made.forEach((each) => rmSync(each, { recursive: true, force: true })));

const quoted = (text: string): string => JSON.stringify(text);
const agent = stageAgent();

/** Writes a file, looks at it, and says what it saw. */
const writer: Script = ({ messages }) => {
  const results = messages.filter(({ role }) => role === 'tool').length;
  if (results === 0)
    return { calls: [{ id: 'c1', tool: 'write_file', input: { path: 'made.txt', content: 'three' } }] };
  if (results === 1) return { calls: [{ id: 'c2', tool: 'read_file', input: { path: 'made.txt' } }] };
  return `It says ${JSON.stringify(messages.at(-1))}.\n{"outcome": "success", "context_updates": {"seen": true}}`;
};

async function work(models: ScriptedModels, more: string, attributes = ''): Promise<RanDot> {
  const body = `start -> a -> exit\na [prompt="Do it.", workdir=${quoted(folder)}${more}]`;
  const text = digraph(body, attributes);
  const { graph } = readDot(text, dotOptions({ agent }));
  const bench = createBench({ models });
  const result = await runToRest(bench.engine, graph, {}, 'r');
  return { ...(await runDot(digraph('start -> exit'))), result, bench, engine: bench.engine };
}

test('DOT23 a stage with tools is an agent: it works with files of its folder until it answers, and reports as a model does', async () => {
  const models = createScriptedModels(writer);
  const { result } = await work(models, ', tools="write", allow_tools="write", goal_gate=true');
  expect(result.status).toBe('completed');
  expect(readFileSync(join(folder, 'made.txt'), 'utf8')).toBe('three');
  expect(result.state.scratch).toMatchObject({ seen: true });
  expect(result.state.outputs['a']).toMatchObject({ outcome: 'success' });
  expect(models.requests[0]?.tools?.map(({ name }) => name)).toEqual([
    'list_files',
    'search_files',
    'read_file',
    'write_file',
    'edit_file',
  ]);
});

test('DOT23 a folder that is not there is made for an agent that may write in it, as for a command, and not for one that only reads', async () => {
  const top = folder;
  const inOwn = async (name: string, tools: string, script: Script = writer): Promise<ScriptedModels> => {
    folder = join(top, name, 'deep');
    const models = createScriptedModels(script);
    const { result } = await work(models, `, tools="${tools}", allow_tools="${tools}"`);
    expect([tools, result.status]).toEqual([tools, 'completed']);
    return models;
  };
  await inOwn('writes', 'write');
  expect(readFileSync(join(folder, 'made.txt'), 'utf8')).toBe('three');
  const shell: Script = ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 'shell', input: { command: ['true'] } }] };
  await inOwn('runs', 'shell', shell);
  expect(existsSync(folder)).toBe(true);
  const look: Script = ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 'read_file', input: { path: 'made.txt' } }] };
  const { requests } = await inOwn('reads', 'read', look);
  expect(JSON.stringify(requests.at(-1)?.messages.at(-1))).toContain('is the root, and does not exist');
  expect(existsSync(folder)).toBe(false);
  const command = `start -> a -> exit\na [shape=parallelogram, tool_command="pwd > here", workdir=${quoted(join(top, 'command', 'deep'))}]`;
  const { graph } = readDot(digraph(command), dotOptions());
  expect((await runToRest(createBench().engine, graph)).status).toBe('completed');
  expect(existsSync(join(top, 'command', 'deep', 'here'))).toBe(true);
});

test('DOT23 what acts asks first, unless the stage allows it; the answer is recorded, and the model is not asked again', async () => {
  const models = createScriptedModels(writer);
  const { result, engine, bench } = await work(models, ', tools="write"');
  expect([result.status, result.waits.length, models.requests.length]).toEqual(['paused', 1, 1]);
  expect(existsSync(join(folder, 'made.txt'))).toBe(false);
  await engine.answer('r', result.waits[0]?.waitId ?? '', { decision: 'approve' });
  const { graph } = readDot(
    digraph(`start -> a -> exit\na [prompt="Do it.", workdir=${quoted(folder)}, tools="write"]`),
    dotOptions({ agent }),
  );
  const done = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([done.status, models.requests.length]).toEqual(['completed', 3]);
});

test('DOT23 P1 killed at every commit, an agent stage asks its model what it asks without, and writes what it writes', async () => {
  const text = digraph(
    `start -> a -> exit\na [prompt="Do it.", workdir=${quoted(folder)}, tools="write", allow_tools="write"]`,
  );
  const asked = ({ requests }: ScriptedModels): readonly string[] => [
    ...new Set(requests.map(({ messages }) => JSON.stringify(messages))),
  ];
  const quiet = createScriptedModels(writer);
  await runToRest(createBench({ models: quiet }).engine, readDot(text, dotOptions({ agent })).graph);
  let trials = 0;
  for (let commits = 1; commits < 60; commits += 1) {
    rmSync(join(folder, 'made.txt'), { force: true });
    const killed = createScriptedModels(writer);
    const bench = createBench({ models: killed });
    const { graph } = readDot(text, dotOptions({ agent }));
    const done = await restartedAfter(bench, commits, graph);
    if (done === undefined) break;
    expect(done.status).toBe('completed');
    expect([commits, asked(killed)]).toEqual([commits, asked(quiet)]);
    trials += 1;
  }
  expect(trials).toBeGreaterThan(5);
});

test('DOT23 an agent that comes to no end is tried again from its beginning, while attempts are left', async () => {
  const models = createScriptedModels(({ messages }, index) =>
    messages.length > 100 || index > 2 ? 'Done.' : { calls: [{ tool: 'list_files', input: {} }] },
  );
  const { result } = await work(models, ', tools="read", max_turns=2, max_retries=1');
  expect([result.status, models.requests.length]).toEqual(['completed', 4]);
  const spent = createScriptedModels(() => ({ calls: [{ tool: 'list_files', input: {} }] }));
  const failed = await work(spent, ', tools="read", max_turns=2, max_retries=1');
  expect(failed.result.error?.message).toContain('did not come to an end within 2 loops');
  expect(spent.requests.length).toBe(4);
});

test('DOT24 the hook before a call is told of it as data and may refuse it; the one behind it changes nothing', async () => {
  const log = join(folder, 'hooks.log');
  const pre = `cat >> "$log"; echo " $CAIRN_TOOL $CAIRN_STAGE" >> "$log"; test "$CAIRN_TOOL" != read_file`;
  const post = `cat >> "$log"; exit 7`;
  const events: unknown[] = [];
  const models = createScriptedModels(writer);
  const body = `start -> a -> exit
a [prompt="Do it.", workdir=${quoted(folder)}, tools="write", allow_tools="write", tool_hooks.pre=${quoted(pre)}]`;
  const { graph } = readDot(
    digraph(body, `graph [params=${quoted(`log=${log}`)}, tool_hooks.post=${quoted(post)}]`),
    dotOptions({ agent }),
  );
  const { engine } = createBench({ models, findGraph: () => graph });
  const result = await runToRest(engine, graph, {}, 'r');
  expect(result.status).toBe('completed');
  const told = readFileSync(log, 'utf8');
  expect(told).toContain('"content":"three"');
  expect(told).toContain(' write_file a');
  expect(told).toContain('"hook":"post"');
  // The refused call was not made: nothing came of it that could be told.
  expect(told.match(/"hook":"post"/gu)).toHaveLength(1);
  const last = JSON.stringify(models.requests.at(-1)?.messages.at(-1));
  expect(last).toContain('a hook refused the call: it exited with 1');
  expect(JSON.stringify(models.requests[1]?.messages.at(-1))).toContain('made, 5 bytes');
  for await (const event of engine.events('r', { after: -1 })) events.push(event);
  expect(JSON.stringify(events)).toContain('tool-hook-failed');
});

test('DOT23 lint tells of tools that there are not, and of attributes without tools', () => {
  expect(
    lintOf(
      digraph(
        'start -> a -> b -> exit\na [prompt=x, tools="read,fly", allow_tools=shell]\nb [prompt=x, allow_tools=read, max_turns=3, workdir=w]',
        'graph [tool_hooks.pre=x]',
      ),
    ),
  ).toEqual([
    'error attribute_value 6:20',
    'error attribute_value 6:44',
    'warning inert_attribute 7:26',
    'error attribute_value 7:26',
    'warning inert_attribute 7:42',
    'warning inert_attribute 7:53',
  ]);
  expect(lintOf(digraph('start -> a -> exit\na [prompt=x]', 'graph [tool_hooks.pre=x]'))).toEqual([
    'warning inert_attribute 2:23',
  ]);
});

test('DOT23 no tool that is refused is named as one to use', () => {
  const text = digraph('start -> a -> exit\na [prompt=x, tools="read,fly", allow_tools="shell,swim,read"]');
  expect(checkDot(text, dotOptions()).violations.map(({ message, fix }) => [message, fix])).toEqual([
    ['tools of a names fly', 'use read, write, shell, ask_person'],
    ['allow_tools of a names shell, which it has not', 'name it in tools too, or take it out'],
    ['allow_tools of a names swim, which it has not', 'take it out'],
  ]);
});

test('DOT23 an inline pipeline needs the grants of what its agents may do', () => {
  writeFileSync(join(folder, 'x'), '');
  const text = digraph(`start -> a -> exit\na [prompt=x, tools="read,shell", workdir=${quoted(folder)}]`);
  const read = (permissions: object): unknown => readDot(text, dotOptions({ agent, origin: 'inline', permissions }));
  expect(() => read({ model: true, shell: true })).toThrow(/fs=/u);
  expect(() => read({ model: true, fs: [folder] })).toThrow(/shell/u);
  expect(() => read({ shell: true, fs: [folder] })).toThrow(/model/u);
  expect(read({ model: true, shell: true, fs: [folder] })).toBeDefined();
});
