/** Pipelines that workflows run: carried over as a stage or a block, and what of them is not. */
import { expect, test } from 'vitest';
import { converted, readText, wayOf, worldOf, type Files, type WayOfRun } from '../../../test/convert-kit.ts';
import { createBench, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { told, withoutContents, type Stored } from '../../../test/support/bare-history.ts';
import { createNodeTypes } from '../../nodes/blocks/index.ts';
import { checkDot } from '../dot/index.ts';

const pipeline = (name: string, body: string, graph = ''): string =>
  `digraph ${name} {\n${graph}\nstart [shape=Mdiamond]\nexit [shape=Msquare]\n${body}\n}\n`;

const inner = pipeline(
  'inner',
  'start -> say -> gate\nsay [shape=parallelogram, idempotent=true, tool_command="echo $goal $who $own"]\ngate [shape=hexagon, label="Go on?"]\ngate -> after [label=Yes]\ngate -> exit [label=No]\nafter [shape=parallelogram, tool_command="echo after"]\nafter -> exit',
  'graph [params="who=nobody,own=mine"]',
);
const files: Files = { 'inner.dot': inner };
const outer = (
  more = '',
  body = 'start -> h -> done -> exit\nh -> mend [condition="outcome=fail"]\nmend -> exit',
): string =>
  pipeline(
    'outer',
    `h [shape=house, stack.child_dotfile="inner.dot"${more}]\ndone [shape=parallelogram, tool_command="echo done"]\nmend [shape=parallelogram, tool_command="echo mend"]\n${body}`,
    'graph [goal="all of it", params="who=ada"]',
  );
const block = (
  more = '',
  inputs = '{ workflow: inner, inputs: { goal: "${inputs.goal}", who: "${who}" } }',
): string => `name: outer
inputs: { goal: { type: str, default: all of it }, who: { type: str, default: ada } }
blocks:
  - { id: h, type: Workflow, ${more} inputs: ${inputs} }
  - { id: done, type: Shell, depends_on: [h], timeout: 600, inputs: { command: echo done } }
`;

/** Commands that take no time and succeed. */
const quick = createNodeTypes().map((type) =>
  type.name === 'Shell' ? { ...type, run: () => ({ exit_code: 0, stdout: '', stderr: '', success: true }) } : type,
);

/** A run's way, with one name for the child in both dialects. */
const way = async (text: string, seed: number, others: Files = files): Promise<WayOfRun> => {
  const world = worldOf(seed);
  const named = (one: string): string => one.replace('/child/', '/inner/');
  const alike = { ...world, chooses: (node: string, count: number) => world.chooses(named(node), count) };
  const { status, done } = await wayOf(text, alike, {}, others);
  return { status, done: done.map(named) };
};

test('CV1 P5 a stage that runs a pipeline is a block that runs it by name, with the inputs that it hands on, and back', async () => {
  const { text, lost } = converted(outer(), files);
  expect(lost).toEqual([]);
  expect(text).toContain(
    '  - id: h\n    type: Workflow\n    continue_on_error: true\n    inputs:\n      workflow: inner\n      inputs:\n        goal: ${inputs.goal}\n        who: ${inputs.who}\n',
  );
  const statuses = new Set<string>();
  for (let seed = 1; seed <= 12; seed += 1) {
    const expected = await way(outer(), seed);
    expect(await way(text, seed)).toEqual(expected);
    statuses.add(expected.done.join());
  }
  expect(statuses.size).toBeGreaterThan(3);
  const back = converted(text, files);
  expect(back.lost).toEqual([]);
  expect(back.text).toContain('stack.child_dotfile=inner.dot');
  expect(converted(back.text, files).text).toBe(text);
});

test('CV1 P5 a block that runs a pipeline is a stage that runs it, whether its failure ends the run or is passed over', async () => {
  for (const more of ['', 'continue_on_error: true,']) {
    const { text, lost } = converted(block(more), files);
    expect(lost).toEqual([]);
    const readFile = (path: string): string | undefined => files[path];
    expect(checkDot(text, { nodeTypes: createNodeTypes(), source: 'w.dot', readFile }).violations).toEqual([]);
    for (let seed = 1; seed <= 12; seed += 1) expect(await way(text, seed)).toEqual(await way(block(more), seed));
  }
});

test('CV1 a goal of its own is kept by the child, and what is not handed on is not given', () => {
  const own = { 'inner.dot': inner.replace('graph [', 'graph [goal="own", ') };
  expect(converted(outer(), own).text).toContain('workflow: inner\n      inputs:\n        who: ${inputs.who}\n');
  expect(converted(block('', '{ workflow: inner, inputs: { who: "${who}" } }'), own).lost).toEqual([]);
});

test('CV2 there and back, a text with a child converts to the same text again, also where the child alone has a goal', () => {
  const bare = 'name: outer\nblocks: [{ id: h, type: Workflow, inputs: { workflow: inner } }]\n';
  for (const text of [bare, block(), outer(), outer().replace('goal="all of it", ', '')]) {
    const there = converted(text, files).text;
    const back = converted(there, files).text;
    expect(converted(back, files).text).toBe(there);
  }
});

test('CV1 DOT33 P5 inside of the child a converted workflow leaves the same checkpoints and changes of the same records, under other names', async () => {
  const written = block('', '{ workflow: inner, inputs: { goal: "${goal}", who: "${who}" } }');
  const within = async (text: string, child: string): Promise<readonly Stored[]> => {
    const { graph } = readText(text, quick, files);
    const { engine, store } = createBench({ findGraph: () => Promise.resolve(graph) });
    const { runId, waits } = await runToRest(engine, graph, {});
    await engine.answer(runId, waits.find(({ kind }) => kind === 'question')?.waitId ?? '', 'Yes');
    const done = await resumeToRest(engine, runId, graph);
    expect([done.status, done.error]).toEqual(['completed', undefined]);
    const rows = await store.readCheckpoints({ tenant: 'default', runId }, { from: 0, to: 99 });
    const names = ['h', child, 'start', 'say', 'gate', 'after', 'exit', 'outputs'];
    return (
      rows
        .map(({ body }) => JSON.parse(new TextDecoder().decode(body)) as Stored)
        // A stage looks at its child by a timer: times, numbers of checkpoints and the order of the stage's own calls are others for that.
        .map(({ change, delta }) => ({
          change: change
            .filter(({ node = [] }) => node.length > 1)
            .map(({ kind, node = [], step }) => ({ kind, node, step })),
          delta: delta
            .filter(([, path]) => path.includes(child) && !(path.at(-1) === 'order' && path.at(-2) === child))
            .map(([kind, path]) => [kind, path] as const),
        }))
        .filter(({ change }) => change.length > 0)
        .map((checkpoint) => withoutContents(checkpoint, names))
    );
  };
  const before = await within(written, 'inner');
  expect(told(before)).toEqual([
    'start 0/1',
    'settle 0/1/2',
    'intent 0/1/3 work',
    'step 0/1/3 work + settle 0/1/3',
    'wait 0/1/4',
    'answer 0/1/4 question',
    'settle 0/1/4',
    'intent 0/1/5 work',
    'step 0/1/5 work + settle 0/1/5',
    'settle 0/1/6',
    'settle 0/1/7',
  ]);
  // What is committed together depends on the stage's timer too.
  const whole = (history: readonly Stored[]) => ({
    changes: history.flatMap(({ change }) => change),
    written: [...new Set(history.flatMap(({ delta }) => delta.map((one) => JSON.stringify(one))))].sort(),
  });
  expect(whole(before).written.length).toBeGreaterThan(10);
  expect(whole(await within(converted(written, files).text, 'child'))).toEqual(whole(before));
});

test.each([
  ['an input that is computed', block('', '{ workflow: inner, inputs: { goal: "${goal}", who: "${who}!" } }'), files],
  ['an input of another name', block('', '{ workflow: inner, inputs: { goal: "${who}", who: "${who}" } }'), files],
  ['an input that a stage would hand on', block('', '{ workflow: inner, inputs: { goal: "${goal}" } }'), files],
  [
    'a workflow in YAML',
    block('', '{ workflow: y }'),
    { 'y.yaml': 'name: y\nblocks: [{ id: a, type: EchoBlock, inputs: { message: m } }]\n' },
  ],
  ['items', block('for_each: [1, 2],'), files],
  ['another folder', outer(', stack.child_workdir="there"'), files],
  ['a name of two pipelines', outer().replace('digraph outer', 'digraph inner'), files],
])('CV3 a child with %s is run by hand, and told', async (_, text, others) => {
  const { text: written, lost } = converted(text, others);
  expect(lost.join('\n')).toMatch(/WORK h is .*a person does it by hand/);
  expect((await wayOf(written, worldOf(1), {}, others)).done[0]).toMatch(/^> h: done/);
});

test.each([
  [outer(', manager.max_cycles=3'), files, 'SETTING manager.max_cycles of h has no counterpart'],
  [outer(', manager.stop_condition="outcome=fail"'), files, 'SETTING manager.stop_condition of h'],
  [outer(', stack.child_autostart=false'), files, 'SETTING stack.child_autostart of h'],
  [
    outer('', 'start -> h -> done -> exit\nh -> mend [condition="outcome=partial_success"]\nmend -> exit'),
    files,
    'CONDITION where inner succeeds in part',
  ],
  [
    outer('', 'start -> h -> done -> exit\nm [prompt=x]\ndone -> m -> exit\nh -> mend -> exit'),
    files,
    'VALUE inner is given goal, who, own as the inputs of these names alone',
  ],
  [outer().replace('inner.dot', 'sub/inner.dot'), { 'sub/inner.dot': inner }, 'NAME h runs inner by its name'],
  [block('timeout: 5,'), files, 'SETTING timeout of h has no counterpart'],
  [block('retry: 2,'), files, 'SETTING retry of h has no counterpart'],
])('CV3 what of a child does not carry over is told (%#)', (text, others, note) => {
  const { lost, text: written } = converted(text, others);
  expect(lost.join('\n')).toContain(note);
  expect(() => readText(written, undefined, others)).not.toThrow();
});
