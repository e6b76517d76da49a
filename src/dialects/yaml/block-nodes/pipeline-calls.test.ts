/** Blocks that run pipelines in DOT. */
import { expect, test } from 'vitest';
import { box, digraph, scripted, type Script } from '../../../../test/dot-kit.ts';
import { createBench, resumeToRest, runToRest } from '../../../../test/engine-kit.ts';
import { answerAll, faultsOf, read, runText, textsOf, types, type More } from '../../../../test/yaml-kit.ts';
import { shellBlock } from '../../../nodes/blocks/shell.ts';
import { checkCalledDot, readDot } from '../../dot/read-dot.ts';
import { readBundle, type ReadOptions, type WorkflowText } from '../index.ts';

type Files = Readonly<Record<string, string>>;

/** Reads texts of files that end with `.dot`, whose stages end as a script says. */
function pipelines(files: Files, script: Script = {}): Required<Pick<ReadOptions, 'readOther'>> {
  const handlers = { codergen: scripted(script).handler };
  const readFile = (path: string): string | undefined => files[path];
  return {
    readOther: ({ text, source }, origin) =>
      source.endsWith('.dot')
        ? checkCalledDot(text, { nodeTypes: [shellBlock], handlers, source, readFile, origin })
        : undefined,
  };
}

/** A pipeline NAME is in NAME.dot; a workflow in YAML is in NAME.yaml. */
function given(files: Files, script?: Script): More {
  const get = (name: string): WorkflowText | undefined => {
    const source = [`${name}.dot`, `${name}.yaml`].find((path) => files[path] !== undefined);
    return source === undefined ? undefined : { text: files[source] ?? '', source };
  };
  const names = (): readonly string[] => Object.keys(files).map((path) => path.replace(/\..*/, ''));
  return { ...pipelines(files, script), workflows: { get, names } };
}

const call = (name: string, more = '', block = ''): string =>
  `name: w\nblocks: [{ id: c, type: Workflow, ${block} inputs: { workflow: ${name}${more} } }]\n`;
const gate = digraph(
  'start -> gate\ngate [shape=hexagon, label="Ship $goal for $who?"]\ngate -> a [label="[Y] Yes"]\ngate -> exit [label=No]\na -> exit\na [prompt=x]',
  'graph [goal="nothing", params="who=you"]',
);
const partly = digraph('start -> a\na -> exit [condition="outcome=fail"]\na [prompt=x]');

test('Y11 a block runs a pipeline: inputs are its goal and parameters, its result are fields of the block', async () => {
  const more = `outputs: { status: "\${c.outputs.status}", failures: "\${c.failures}", gates: "\${blocks.c.gates}", ok: "\${c.success}", name: "\${c.workflow}", blocks: "\${c.total_blocks}", waves: "\${c.execution_waves}" }\n`;
  const said = digraph(
    'start -> a -> exit\na [shape=parallelogram, tool_command="echo $goal, $who"]',
    'graph [params="who"]',
  );
  const text = `${call('said', ', inputs: { goal: "version ${1 + 1}", who: ada }')}${more}`;
  const { outputs, result } = await runText(text, {}, given({ 'said.dot': said }));
  expect(result.error).toBeUndefined();
  expect(outputs).toEqual({ status: 'success', failures: [], gates: {}, ok: true, name: 'p', blocks: 3, waves: 3 });
  const partial = await runText(`${call('partly')}${more}`, {}, given({ 'partly.dot': partly }, { a: ['fail'] }));
  expect(partial.outputs).toMatchObject({
    status: 'partial_success',
    failures: [{ stage: 'a', reason: 'a said fail' }],
  });
});

test('Y11 what a pipeline gives is known when the file is read, and what it does not take fails the block', async () => {
  const more = given({ 'gate.dot': gate });
  expect(faultsOf(`${call('gate')}outputs: { a: "\${c.failure}" }\n`, more)).toEqual([
    expect.stringMatching(/"failure" \| write failures/),
  ]);
  const { result } = await runText(call('gate', ', inputs: { whom: ada, goal: 3 }'), {}, more);
  expect(result.error?.message).toMatch(/goal: .*whom: is no input/);
});

test('Y11 a pipeline that fails fails the block, with its stage as the cause; or is passed over', async () => {
  const files = { 'bad.dot': digraph('start -> a -> exit\na [prompt=x]') };
  const { result } = await runText(call('bad'), {}, given(files, { a: ['fail'] }));
  expect(result.error?.data).toMatchObject({ node: 'c', code: 'CHILD_FAILED' });
  expect(result.error?.message).toMatch(/workflow p failed: a said fail/);
  const passed = `${call('bad', '', 'continue_on_error: true,')}outputs: { failed: "\${blocks.c.failed}" }\n`;
  expect((await runText(passed, {}, given(files, { a: ['fail'] }))).outputs).toEqual({ failed: true });
});

test('W6 Y11 a pipeline asks in the run that called it, and says which pipeline asks, also in a branch and in a child of its own', async () => {
  const asking = (more = ''): string =>
    digraph(`start -> q -> exit\nq [shape=hexagon, human.type=freeform, label="Why?"]${more}`);
  const files = {
    'gate.dot': gate,
    'outer.dot': digraph(
      `start -> p\np [shape=component]\np -> q -> j\np -> h -> j\nj [shape=tripleoctagon]\nj -> exit\nq [shape=hexagon, label="In a branch?"]\nh [shape=house, stack.child_dotfile="inner.dot"]`,
    ),
    'inner.dot': asking().replace('digraph p', 'digraph inner'),
  };
  const ran = await runText(
    `${call('gate', ', inputs: { goal: it }')}outputs: { s: "\${c.outputs.status}" }\n`,
    {},
    given(files),
  );
  expect(ran.result.waits).toMatchObject([
    {
      prompt: "[Child workflow 'p'] Ship it for you?",
      node: ['c', 'p', 'gate'],
      choices: [{ value: 'Yes' }, { value: 'No' }],
    },
  ]);
  expect((await answerAll(ran, () => 'y')).outputs).toEqual({ s: 'success' });
  const deep = await runText(call('outer'), {}, given(files));
  expect(deep.result.waits.flatMap(({ prompt = [] }) => prompt).toSorted()).toEqual([
    "[Child workflow 'inner'] Why?",
    "[Child workflow 'p'] In a branch?",
  ]);
  // By itself it asks in its own words.
  const { engine } = createBench();
  const alone = await runToRest(engine, readDot(gate, { source: 'gate.dot' }).graph, { goal: 'it' });
  expect(alone.waits.map(({ prompt }) => prompt)).toEqual(['Ship it for you?']);
});

test('W6 Y10 pipelines run for each item, and the questions of all are open at once', async () => {
  const text = `${call('gate', ', inputs: { who: "${each.value}" }', 'for_each: [ada, bob],')}outputs: { all: "\${c.iterations}" }\n`;
  const ran = await runText(text, {}, given({ 'gate.dot': gate }));
  expect(ran.result.waits.map(({ prompt, node }) => [prompt, node.join('/')])).toEqual([
    ["[Child workflow 'p'] Ship nothing for ada?", 'c/p[0]/gate'],
    ["[Child workflow 'p'] Ship nothing for bob?", 'c/p[1]/gate'],
  ]);
  const { result, outputs } = await answerAll(ran, (prompt) => (prompt.includes('ada') ? 'Yes' : 'No'));
  expect(result.status).toBe('completed');
  expect(outputs).toMatchObject({
    all: [
      { key: '0', status: 'completed' },
      { key: '1', status: 'completed' },
    ],
  });
});

test('Y7 a pipeline that is not there, has faults, or runs itself is told when the file is read', () => {
  const house = (file: string): string => digraph(`start -> h -> exit\nh [shape=house, stack.child_dotfile="${file}"]`);
  const faults = (files: Files, name: string): readonly string[] => faultsOf(call(name), given(files));
  expect(faults({ 'gate.dot': gate }, 'gato')).toEqual([
    expect.stringMatching(/no workflow gato \| did you mean gate\?/),
  ]);
  expect(faults({ 'odd.dot': digraph('start -> a -> exit\na [shape=parallelogram]') }, 'odd')).toEqual([
    expect.stringMatching(/the workflow odd has 1 fault \| correct it first/),
    expect.stringMatching(/^odd.dot:\d+:\d+ .*tool_command/),
  ]);
  expect(faults({ 'a.dot': house('gone.dot') }, 'a')[1]).toMatch(/^a.dot:\d+:\d+ there is no pipeline gone.dot/);
  expect(faults({ 'a.dot': house('b.dot'), 'b.dot': house('a.dot') }, 'a')[1]).toMatch(
    /pipelines run each other in a circle: a.dot -> b.dot -> a.dot/,
  );
  const deep = `name: w\nlimits: { depth: 0 }\nblocks: [{ id: c, type: Workflow, inputs: { workflow: gate } }]\n`;
  expect(faultsOf(deep, given({ 'gate.dot': gate }))[0]).toMatch(/1 deep, over the limit of 0/);
});

test('Y6 Y7 a pipeline of the operator may do what its file may, for a text only where it is granted by name', () => {
  const command = digraph('start -> a -> exit\na [shape=parallelogram, tool_command="true"]');
  const files = { 'act.dot': command };
  const alone = readDot(command, { nodeTypes: [shellBlock], source: 'act.dot' }).graph.hash;
  const called = (more: More): string | undefined =>
    read(call('act'), { ...given(files), ...more }).graph.nodes.find(({ id }) => id === 'c')?.subgraph?.hash;
  expect(called({})).toBe(alone);
  expect(() => called({ origin: 'inline', permissions: { shell: true } })).toThrow(/workflow=act/);
  expect(called({ origin: 'inline', permissions: { workflow: ['act'] } })).toBe(alone);
  // The same text given as text is held to its grants.
  expect(() => readDot(command, { nodeTypes: [shellBlock], origin: 'inline' })).toThrow(/shell/);
});

test('Y13 a run keeps its pipelines with all that they run, also those of computed names, and goes on without the files', async () => {
  const files = {
    'outer.dot': digraph('start -> h -> exit\nh [shape=house, stack.child_dotfile="inner.dot"]'),
    'inner.dot': digraph('start -> q -> exit\nq [shape=hexagon, human.type=freeform, label="Why?"]'),
    'bad.dot': 'digraph bad { a -> b',
    'leaf.yaml': 'name: leaf\nblocks: [{ id: a, type: Note }]',
  };
  const texts = [
    call('outer'),
    `name: w\ninputs: { x: { default: outer } }\nblocks: [{ id: c, type: Workflow, inputs: { workflow: "\${x}" } }]\n`,
  ];
  for (const text of texts) {
    const { graph } = read(text, given(files));
    const { engine } = createBench();
    const { runId, waits } = await runToRest(engine, graph, {});
    const again = readBundle(graph.text ?? '', { nodeTypes: types, ...pipelines({}) });
    expect(again.graph.hash).toBe(graph.hash);
    await engine.answer(runId, waits.find(({ kind }) => kind === 'question')?.waitId ?? '', 'so');
    const done = await resumeToRest(engine, runId, again.graph);
    expect([done.status, done.error]).toEqual(['completed', undefined]);
  }
  const kept = (text: string): readonly string[] =>
    Object.keys((JSON.parse(read(text, given(files)).graph.text ?? '{}') as { workflows: object }).workflows);
  expect(texts.map(kept)).toEqual([
    ['w', 'outer'],
    ['w', 'bad', 'inner', 'leaf', 'outer'],
  ]);
});

test('Y7 without a reader of other dialects a pipeline is a workflow that cannot be read', () => {
  const found = faultsOf(call('gate'), { workflows: textsOf({ gate }) });
  expect(found.at(-1)).toMatch(/the workflow gate has 1 fault/);
});

test.each(['x y/z', '__proto__', 'p[1]', 'naïve "p"', '%'])('Y11 a pipeline may be called %s', async (name) => {
  const dot = gate.replace('digraph p', `digraph ${JSON.stringify(name)}`);
  const workflows = { get: () => ({ text: dot, source: 'g.dot' }), names: () => [name] };
  const ran = await runText(call(JSON.stringify(name)), {}, { ...given({}), workflows });
  expect(ran.result.waits.map(({ node }) => node)).toEqual([['c', name, 'gate']]);
  expect((await answerAll(ran, () => 'No')).result.status).toBe('completed');
});

test('Y11 a pipeline that restarts counts as one block', async () => {
  const text = digraph(
    `start -> a -> b\nb -> a [label=again, loop_restart=true]\nb -> exit [label=done]\n${box('a', 'b')}`,
  );
  const script = {
    b: [
      { status: 'success', preferredLabel: 'again' },
      { status: 'success', preferredLabel: 'done' },
    ],
  } as const;
  const { outputs } = await runText(
    `${call('r')}outputs: { n: "\${c.total_blocks}", r: "\${c.restarts}" }\n`,
    {},
    given({ 'r.dot': text }, script),
  );
  expect(outputs).toEqual({ n: 1, r: 1 });
});
