/** Blocks that run other workflows. */
import { expect, test } from 'vitest';
import { createBench, runToRest } from '../../../../test/engine-kit.ts';
import { answerAll, faultsOf, note, optionsOf, read, runText } from '../../../../test/yaml-kit.ts';
import { readBundle } from '../index.ts';

const head = 'name: w\ndescription: d\n';
const call = (name: string, more = ''): string => `{ id: c, type: Workflow, inputs: { workflow: ${name}${more} } }`;
const doubling = `name: doubling
description: d
inputs: { n: { type: int } }
blocks: [{ id: a, type: Note, inputs: { value: "\${n * 2}" } }]
outputs: { twice: "\${a.value}" }
`;
const asking = `name: asking
description: d
inputs: { what: { type: str, default: it } }
blocks: [{ id: a, type: Ask, inputs: { prompt: "do \${what}?" } }, { id: b, type: Ask, depends_on: [a], inputs: { prompt: "sure?" } }]
outputs: { answer: "\${a.answer}", sure: "\${b.answer}" }
`;

test('Y11 a called workflow gets inputs and gives outputs, also as fields of the block', async () => {
  const { result, outputs } = await runText(
    `${head}blocks: [${call('doubling', ', inputs: { n: "${3 + 1}" }')}, { id: e, type: ExecuteWorkflow, inputs: { workflow: doubling, inputs: '{"n": 1}' } }]
outputs: { flat: "\${c.twice}", under: "\${c.outputs.twice}", of: "\${blocks.c.outputs.twice}", ok: "\${c.success}", name: "\${c.workflow}", blocks: "\${c.total_blocks}", waves: "\${c.execution_waves}", e: "\${e.twice}" }
`,
    {},
    { others: { doubling } },
  );
  expect(result.status).toBe('completed');
  expect(outputs).toEqual({ flat: 8, under: 8, of: 8, ok: true, name: 'doubling', blocks: 1, waves: 1, e: 2 });
});

test('Y11 what a called workflow gives is known when the file is read', () => {
  const text = `${head}blocks: [${call('doubling', ', inputs: { n: 1 }')}]\noutputs: { a: "\${c.twyce}" }\n`;
  expect(faultsOf(text, { others: { doubling } })).toEqual([expect.stringMatching(/"twyce" \| write twice/)]);
});

test('W6 a called workflow asks in the run that called it, twice, and says who asks', async () => {
  const others = { asking };
  let ran = await runText(
    `${head}blocks: [${call('asking')}]\noutputs: { a: "\${c.answer}", s: "\${c.sure}" }\n`,
    {},
    { others },
  );
  expect(ran.result.waits).toMatchObject([{ prompt: "[Child workflow 'asking'] do it?", node: ['c', 'asking', 'a'] }]);
  ran = await answerAll(ran, () => 'yes');
  expect(ran.result.waits.map(({ prompt }) => prompt)).toEqual(["[Child workflow 'asking'] sure?"]);
  ran = await answerAll(ran, () => 'very');
  expect(ran.outputs).toEqual({ a: 'yes', s: 'very' });
});

test.each(['parallel', 'sequential'])('W6 workflows that run for each item ask, at any depth: %s', async (mode) => {
  const middle = `name: middle\ndescription: d\ninputs: { items: { type: list } }\nblocks: [{ id: m, type: Workflow, for_each: "\${items}", for_each_mode: ${mode}, inputs: { workflow: asking, inputs: { what: "\${each.value}" } } }]\noutputs: { all: "\${m.iterations}" }\n`;
  const text = `${head}blocks: [{ id: c, type: Workflow, for_each: { p: [a, b], q: [z] }, for_each_mode: ${mode}, inputs: { workflow: middle, inputs: { items: "\${each.value}" } } }]\noutputs: { p: '\${c["p"].all[1].outputs.outputs.answer}', q: '\${c["q"].all[0].outputs.outputs.sure}' }\n`;
  let ran = await runText(text, {}, { others: { asking, middle } });
  const asked: string[] = [];
  for (let round = 0; round < 10 && ran.result.status === 'paused'; round += 1) {
    asked.push(...ran.result.waits.map(({ prompt = '' }) => prompt));
    ran = await answerAll(ran, (prompt) => `${prompt.split('] ')[1]} yes`);
  }
  expect(ran.result.error).toBeUndefined();
  expect(ran.outputs).toEqual({ p: 'do b? yes', q: 'sure? yes' });
  expect(asked).toHaveLength(6);
  expect(asked[0]).toBe("[Child workflow 'asking'] do a?");
});

test('W2 workflows that run for each item all ask in parallel mode, however few may work at once', async () => {
  const asked = async (more: string): Promise<number> => {
    const text = `${head}blocks: [{ id: c, type: Workflow, for_each: [1, 2, 3, 4, 5, 6, 7, 8], ${more} inputs: { workflow: asking } }]\n`;
    return (await runText(text, {}, { others: { asking } })).result.waits.length;
  };
  expect(await Promise.all(['', 'max_parallel: 3,', 'for_each_mode: sequential,'].map(asked))).toEqual([8, 8, 1]);
});

test('Y11 a workflow that fails fails the block, with its error as the cause; also after an answer', async () => {
  const failing = `name: failing\ndescription: d\nblocks: [{ id: q, type: Ask, inputs: { prompt: go } }, { id: a, type: Note, depends_on: [q], inputs: { fail: true } }]\n`;
  const paused = await runText(`${head}blocks: [${call('failing')}]\n`, {}, { others: { failing } });
  const { result } = await answerAll(paused, () => 'x');
  expect(result.error?.data).toMatchObject({ node: 'c', code: 'CHILD_FAILED' });
  expect(result.error?.message).toContain('workflow failing failed: it failed');
  const passed = await runText(
    `${head}blocks: [{ id: c, type: Workflow, continue_on_error: true, inputs: { workflow: bad } }]\noutputs: { ok: "\${blocks.c.failed}" }\n`,
    {},
    { others: { bad: 'name: bad\nblocks: [{ id: a, type: Note, inputs: { fail: true } }]' } },
  );
  expect(passed.outputs).toEqual({ ok: true });
});

test('Y11 inputs that the workflow does not take fail the block', async () => {
  const { result } = await runText(
    `${head}blocks: [${call('doubling', ', inputs: { m: 1 }')}]\n`,
    {},
    { others: { doubling } },
  );
  expect(result.error?.message).toMatch(/n: is missing.*m: is no input/);
});

test('Y7 workflows that call each other in a circle are a fault that shows the way round', () => {
  const others = { a: `name: a\nblocks: [${call('b')}]`, b: `name: b\nblocks: [${call('w')}]` };
  expect(faultsOf(`${head}blocks: [${call('a')}]\n`, { others })).toEqual(
    expect.arrayContaining([expect.stringMatching(/in a circle: w -> a -> b -> w/)]),
  );
  expect(faultsOf(`${head}blocks: [${call('w')}]\n`)).toEqual([expect.stringMatching(/in a circle: w -> w/)]);
});

/** Counts down: calls itself while there is something left. */
const countdown = (more = ''): string => `name: countdown
${more}inputs: { n: { type: int } }
blocks:
  - { id: say, type: Note, inputs: { value: "\${n}" } }
  - { id: more, type: Workflow, depends_on: [say], condition: "\${n > 0}", inputs: { workflow: countdown, inputs: { n: "\${n - 1}" } } }
outputs: { said: "\${[say.value] + default(more.said, [])}" }
`;

test('Y7 a workflow may call itself where a condition ends it, as deep as the limit allows', async () => {
  expect(faultsOf(countdown())).toEqual([]);
  expect((await runText(countdown(), { n: 3 })).outputs).toEqual({ said: [3, 2, 1, 0] });
  const deep = await runText(countdown('limits: { depth: 2 }\n'), { n: 3 });
  expect(deep.result.error?.message).toMatch(/countdown -> countdown -> countdown -> countdown/);
  expect((await runText(countdown('limits: { depth: 3 }\n'), { n: 3 })).outputs).toEqual({ said: [3, 2, 1, 0] });
  expect((await runText(countdown(), { n: 32 })).outputs).toMatchObject({ said: { length: 33 } });
});

test('Y7 workflows may call each other in turn, also by way of a block that is skipped with another, and for each item', async () => {
  const odd = `name: odd
inputs: { n: { type: int } }
blocks:
  - { id: check, type: Note, condition: "\${n > 0}" }
  - { id: c, type: Workflow, depends_on: [check], inputs: { workflow: even, inputs: { n: "\${n - 1}" } } }
outputs: { is: "\${default(c.is, false)}" }
`;
  const even = `name: even
inputs: { n: { type: int } }
blocks: [{ id: c, type: Workflow, for_each: "\${range(n > 0 ? 1 : 0)}", inputs: { workflow: odd, inputs: { n: "\${n - 1}" } } }]
outputs: { is: "\${c.count == 0 or c['0'].is}" }
`;
  const others = { odd, even };
  expect(faultsOf(even, { others })).toEqual([]);
  expect((await runText(even, { n: 5 }, { others })).outputs).toEqual({ is: false });
  expect((await runText(even, { n: 4 }, { others })).outputs).toEqual({ is: true });
});

test('Y7 a text that calls itself by a name of the operator is still that text, and held to its grants', async () => {
  const text = `name: mine
inputs: { n: { type: int } }
blocks:
  - { id: e, type: Note, inputs: { value: "\${n}" } }
  - { id: c, type: Workflow, condition: "\${n > 0}", inputs: { workflow: mine, inputs: { n: 0 } } }
outputs: { who: text, c: "\${c.who}" }
`;
  const others = {
    mine: 'name: mine\ninputs: { n: {} }\nblocks: [{ id: a, type: Effect }]\noutputs: { who: operator }',
  };
  expect((await runText(text, { n: 1 }, { others, origin: 'inline' })).outputs).toEqual({ who: 'text', c: 'text' });
});

test('Y13 a run of a workflow that calls itself goes on from the text that was kept', async () => {
  const text = `name: asks
inputs: { n: { type: int } }
blocks:
  - { id: q, type: Ask, inputs: { prompt: "\${n}?" } }
  - { id: c, type: Workflow, condition: "\${n > 0}", inputs: { workflow: asks, inputs: { n: "\${n - 1}" } } }
outputs: { a: "\${q.answer}", c: "\${c.a}" }
`;
  const ran = await runText(text, { n: 1 }, { others: { asks: text } });
  const again = readBundle(ran.workflow.graph.text ?? '', optionsOf());
  expect(again.graph.hash).toBe(ran.workflow.graph.hash);
  const { outputs } = await answerAll({ ...ran, workflow: again }, (prompt) => prompt.slice(-2));
  expect(outputs).toEqual({ a: '1?', c: '0?' });
});

test('Y7 a computed name is found in the run, a circle too', async () => {
  const text = `${head}inputs: { which: {} }\nblocks: [{ id: c, type: Workflow, inputs: { workflow: "\${which}", inputs: { which: w } } }]\noutputs: { w: "\${c.workflow}" }\n`;
  const again = `name: again\ninputs: { which: {} }\nblocks: [{ id: c, type: Workflow, inputs: { workflow: "\${which}", inputs: { which: w } } }]`;
  const others = { again, w: text, leaf: 'name: leaf\ninputs: { which: {} }\nblocks: [{ id: a, type: Note }]' };
  expect((await runText(text, { which: 'leaf' }, { others })).outputs).toEqual({ w: 'leaf' });
  const circle = await runText(text, { which: 'again' }, { others });
  expect(circle.result.error?.message).toContain('w -> again -> w');
  const none = await runText(text, { which: 'leav' }, { others });
  expect(none.result.error?.data).toMatchObject({ node: 'c', code: 'WORKFLOW_NOT_FOUND' });
});

test('Y7 limits.depth bounds how deep workflows call workflows', async () => {
  const others = { a: `name: a\nblocks: [${call('b')}]`, b: 'name: b\nblocks: [{ id: a, type: Note }]' };
  const text = (depth: number): string => `${head}limits: { depth: ${depth} }\nblocks: [${call('a')}]\n`;
  expect(faultsOf(text(2), { others })).toEqual([]);
  expect(faultsOf(text(1), { others }).join()).toMatch(/2 deep, over the limit of 1/);
  const computed = `${head}limits: { depth: 0 }\ninputs: { x: {} }\nblocks: [${call('"${x}"')}]\n`;
  expect((await runText(computed, { x: 'b' }, { others })).result.error?.data).toMatchObject({ code: 'RUN_LIMIT' });
});

test('Y7 a fault of a called workflow is reported with its own place', () => {
  const others = { bad: 'name: bad\nblocks: [{ id: a, type: Nope }]' };
  expect(faultsOf(`${head}blocks: [${call('bad')}]\n`, { others })).toEqual([
    expect.stringMatching(/^bad.yaml:2:25 there is no block type Nope/),
    expect.stringMatching(/^3:55 the workflow bad has 1 fault/),
  ]);
});

test('Y13 the text kept with a run holds every workflow that it may call, and no other', async () => {
  const others = { asking, doubling, other: 'name: other\nblocks: [{ id: a, type: Note }]' };
  const kept = (text: string): readonly string[] =>
    Object.keys((JSON.parse(read(text, { others }).graph.text ?? '{}') as { workflows: object }).workflows);
  expect(kept(`${head}blocks: [${call('doubling', ', inputs: { n: 1 }')}]\n`)).toEqual(['w', 'doubling']);
  expect(kept(`${head}inputs: { x: {} }\nblocks: [${call('"${x}"')}]\n`)).toEqual(['w', 'asking', 'doubling', 'other']);
  const workflow = read(`${head}blocks: [${call('asking')}]\noutputs: { s: "\${c.sure}" }\n`, {
    others,
    origin: 'inline',
    permissions: { workflow: ['asking'] },
  });
  const { engine } = createBench();
  let result = await runToRest(engine, workflow.graph);
  for (const answer of ['a', 'b']) {
    await engine.answer(result.runId, result.waits[0]?.waitId ?? '', answer);
    // The workflows there were are gone; the run has its own.
    const { nodeTypes } = optionsOf();
    const { graph } = readBundle(workflow.graph.text ?? '', { nodeTypes, permissions: { workflow: true } });
    result = await (await engine.resume(result.runId, { graph })).result();
  }
  expect(result.state.outputs['outputs']).toEqual({ s: 'b' });
});

test("Y11 a block of the user's own may bear the name of ours", async () => {
  const own = { ...note, name: 'Workflow' };
  const text = `${head}blocks: [{ id: a, type: Workflow, effect: read, inputs: { value: 3 } }]\noutputs: { v: "\${a.value}" }\n`;
  expect((await runText(text, {}, { nodeTypes: [own] })).outputs).toEqual({ v: 3 });
});
