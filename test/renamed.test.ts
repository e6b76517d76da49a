/** Nodes, steps, blocks and stages that were renamed under waiting runs. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { CairnError } from '../src/errors.ts';
import { readDot } from '../src/dialects/dot/index.ts';
import type { Graph } from '../src/graph/graph.ts';
import { AgentGraph, createMemoryStore, END, humanNode, START, workflow, type NodeContext } from '../src/index.ts';
import { createBench } from './engine-kit.ts';
import { read } from './yaml-kit.ts';

const choices = ['yes', 'no'] as const;
const rowsOf = (rows: readonly { readonly node: readonly string[]; readonly prediction: string }[]): string =>
  rows.map(({ node, prediction }) => `${node.join('/')} ${prediction}`).join(', ');

/** A price, a question about it, and a payment. */
function paying(store: ReturnType<typeof createMemoryStore>, priced: string[]) {
  const before = new AgentGraph({}, { id: 'pay' })
    .addNode('price', () => (priced.push('price'), 40))
    .addNode('ask', humanNode({ prompt: 'Pay it?', choices: [...choices] }))
    .addNode('pay', ({ state }) => `paid ${state.outputs.price}`, { effectClass: 'external' })
    .addEdge(START, 'price')
    .addEdge('price', 'ask')
    .addEdge('ask', 'pay')
    .addEdge('pay', END)
    .compile({ store });
  const after = new AgentGraph({}, { id: 'pay' })
    .addNode('quote', () => (priced.push('price'), 40))
    .addNode('ask', humanNode({ prompt: 'Pay it?', choices: [...choices] }))
    .addNode(
      'pay',
      ({ state, nodeId }) => `${nodeId}: ${state.outputs.quote} of ${Object.keys(state.outputs).join()}`,
      {
        effectClass: 'external',
      },
    )
    .addEdge(START, 'quote')
    .addEdge('quote', 'ask')
    .addEdge('ask', 'pay')
    .addEdge('pay', END)
    .compile({ store, renamed: { quote: 'price' } });
  return { before, after };
}

describe('G15 in code', () => {
  test('G15 a renamed node is restored, its value is read under the new name, and the hash is the same', async () => {
    const [store, priced]: [ReturnType<typeof createMemoryStore>, string[]] = [createMemoryStore(), []];
    const { before, after } = paying(store, priced);
    await before.invoke({}, { runId: 'r' });
    expect(after.graph.hash).toBe(before.graph.hash);
    const rows = await after.preview('r');
    expect(rowsOf(rows)).toBe('price restored, ask asks, pay unknown');
    expect(rows[0]?.inCode).toBe('quote');
    const result = await after.resume('r', { answers: { ask: 'yes' } });
    expect([result.status, result.state.outputs.pay, priced]).toEqual(['completed', 'pay: 40 of quote,ask', ['price']]);
    expect(Object.keys(result.state.outputs)).toEqual(['quote', 'ask', 'pay']);
  });

  test('G15 X2 a fork reuses what is on record under the old name, though others read it otherwise now', async () => {
    const [store, priced]: [ReturnType<typeof createMemoryStore>, string[]] = [createMemoryStore(), []];
    const { before, after } = paying(store, priced);
    await before.invoke({}, { runId: 'r' });
    await before.resume('r', { answers: { ask: 'yes' } });
    expect(rowsOf(await after.preview('r@0', { asFork: true }))).toBe('price reused, ask replayed, pay replayed');
    const rows = await after.preview('r@0', { set: { 'outputs.quote': 41 } });
    expect(rowsOf(rows)).toContain('price restored');
  });

  test('G15 a renamed question takes the answer that is given to it under its new name', async () => {
    const store = createMemoryStore();
    const asking = (name: string, renamed?: Readonly<Record<string, string>>) =>
      new AgentGraph({}, { id: 'ask' })
        .addNode(name, humanNode({ prompt: 'Pay it?', choices: [...choices] }))
        .addEdge(START, name)
        .addEdge(name, END)
        .compile({ store, ...(renamed && { renamed }) });
    await asking('ask').invoke({}, { runId: 'r' });
    const result = await asking('approve', { approve: 'ask' }).resume('r', { answers: { approve: 'yes' } });
    expect([result.status, result.state.outputs['approve']]).toEqual(['completed', 'yes']);
  });

  test('G15 two nodes may change names with each other, and goto and choices use the new ones', async () => {
    const store = createMemoryStore();
    const swapped = (a: string, b: string, renamed?: Readonly<Record<string, string>>) =>
      new AgentGraph({}, { id: 'swap' })
        .addNode('first', humanNode({ prompt: 'Go?', choices: [...choices] }))
        .addNode(a, () => 'one')
        .addNode(b, () => 'two')
        .addEdge(START, 'first')
        .addConditionalEdge(
          'first',
          (({ outcome }: { outcome: { output: unknown } }) => (outcome.output === 'yes' ? a : b)) as never,
          [a, b] as never,
        )
        .addEdge(a, END)
        .addEdge(b, END)
        .compile({ store, ...(renamed && { renamed }) });
    const before = swapped('a', 'b');
    const after = swapped('b', 'a', { b: 'a', a: 'b' });
    const labelsOf = ({ structure }: Graph): unknown => structure.edges.map(({ key, label }) => [key, label]);
    expect(labelsOf(after.graph)).toEqual(labelsOf(before.graph));
    await before.invoke({}, { runId: 'r' });
    const result = await after.resume('r', { answers: { first: 'yes' } });
    expect([result.status, result.state.outputs]).toMatchObject(['completed', { b: 'one' }]);
  });

  test('G15 a workflow, its artifacts and the nodes whose names are made of a step are renamed with it', async () => {
    const store = createMemoryStore();
    const selling = (name: string, renamed?: Readonly<Record<string, string>>) =>
      workflow('sell')
        .input(z.object({}))
        .step(name, () => 40)
        .parallel({ a: () => 'a', b: () => 'b' })
        .step('ask', humanNode({ prompt: 'Pay it?', choices: [...choices] }))
        .step('pay', ({ state }) => (state.artifacts as Record<string, unknown>)[name])
        .returns(({ state }) => state.artifacts.pay)
        .compile({ store, ...(renamed && { renamed }) });
    const [before, after] = [selling('price'), selling('quote', { quote: 'price' })];
    expect(after.graph.hash).toBe(before.graph.hash);
    await before.invoke({}, { runId: 'r' });
    const result = await after.resume('r', { answers: { ask: 'yes' } });
    expect([result.output, Object.keys(result.state.artifacts)]).toEqual([40, ['quote', 'a', 'b', 'ask', 'pay']]);
  });

  test('G15 an approval that waits is not asked anew when its node is renamed', async () => {
    const store = createMemoryStore();
    const sent: unknown[] = [];
    const sending = (name: string, renamed?: Readonly<Record<string, string>>) =>
      new AgentGraph({}, { id: 'send' })
        .addNode(name, ({ input }) => void sent.push(input), {
          effectClass: 'external',
          approval: { prompt: 'Send it?' },
        })
        .addEdge(START, name)
        .addEdge(name, END)
        .compile({ store, ...(renamed && { renamed }) });
    const asked = await sending('mail').invoke({ to: 'ann' }, { runId: 'r' });
    const after = sending('letter', { letter: 'mail' });
    const again = await after.resume('r');
    expect(again.waits.map(({ waitId }) => waitId)).toEqual(asked.waits.map(({ waitId }) => waitId));
    const done = await after.resume('r', { answers: { 'letter?': 'approve' } });
    expect([done.status, sent]).toEqual(['completed', [{ to: 'ann' }]]);
  });

  test('G15 X4.18 a renamed step with an effect is the one on record; ctx.past tells of it under its new name', async () => {
    const store = createMemoryStore();
    const charged: string[] = [];
    const pasts: unknown[] = [];
    const selling = (step: string, renamed?: Readonly<Record<string, string>>) =>
      new AgentGraph({}, { id: 'order' })
        .addNode('sell', async (ctx: NodeContext) => {
          pasts.push([ctx.past.isRecorded(step), [...ctx.past.names()].includes(step)]);
          await ctx.step(step, { effect: 'external' }, () => void charged.push(step));
          return ctx.ask({ prompt: 'Pack it?', choices: ['yes', 'no'] });
        })
        .addEdge(START, 'sell')
        .addEdge('sell', END)
        .compile({ store, ...(renamed && { renamed }) });
    await selling('charge').invoke({}, { runId: 'r' });
    const done = await selling('charge card', { 'sell/charge card': 'charge' }).resume('r', {
      answers: { sell: 'yes' },
    });
    expect([done.status, charged, pasts]).toEqual([
      'completed',
      ['charge'],
      [
        [false, false],
        [true, true],
      ],
    ]);
  });

  test('G15 a rename that cannot be meant is refused, with its fix', () => {
    const store = createMemoryStore();
    const graph = new AgentGraph({}, { id: 'g' })
      .addNode('price', () => 1)
      .addNode('pay', () => 2)
      .addEdge(START, 'price')
      .addEdge('price', 'pay')
      .addEdge('pay', END);
    const messagesOf = (renamed: Readonly<Record<string, string>>): unknown => {
      try {
        return graph.compile({ store, renamed });
      } catch (error) {
        return ((error as CairnError).data['violations'] as readonly { message: string; fix: string }[]).map(
          ({ message, fix }) => `${message}; ${fix}`,
        );
      }
    };
    expect(messagesOf({ prise: 'cost' })).toEqual([
      `there is no node "prise"; did you mean price? write { NEW: 'OLD' } for a node, { 'NODE/NEW': 'OLD' } for a step of it`,
    ]);
    expect(messagesOf({ price: 'pay' })).toEqual([
      'another node is "pay" already; give the other node a name of its own',
    ]);
    expect(messagesOf({ price: '' })).toEqual(['the recorded name is empty; give the name that runs have on record']);
  });
});

const yaml = (id: string, more = ''): string => `name: w
description: d
inputs: { amount: { type: int, default: 2 } }
blocks:
  - id: ${id}${more}
    type: Note
    inputs: { value: "\${amount}" }
  - id: ask
    type: Ask
    inputs: { prompt: "Pay \${${id}.value} or \${blocks.${id}.value} or \${blocks['${id}'].value}?" }
    depends_on: [${id}]
  - id: told
    type: Note
    condition: "\${${id}.value} > 1 and blocks.${id}.succeeded"
    inputs: { value: "\${'x \${${id}.value} ${id}'}" }
    depends_on: [ask, { block: ${id}, required: false }]
outputs:
  told: "\${told.value}"
  own: "\${${id}.value}"
`;

test('G15 Y a block keeps its record under renamed_from, whatever texts name it', async () => {
  const bench = createBench();
  const before = read(yaml('price')).graph;
  const after = read(yaml('get_quote', '\n    renamed_from: price')).graph;
  const named = (graph: Graph): string =>
    JSON.stringify(graph.structure).replaceAll(/(?<!blocks\[)'(price|get_quote)'|(price|get_quote)'\}/gu, '#');
  expect(named(after)).toBe(named(before));
  const handle = await bench.engine.start(before, { amount: 2 }, { runId: 'r' });
  const [wait] = (await handle.result()).waits;
  await bench.engine.answer('r', wait?.waitId ?? '', 'ok', { stays: true });
  const result = await (await bench.engine.resume('r', { graph: after })).result();
  expect([result.status, result.error]).toEqual(['completed', undefined]);
  expect(result.state.outputs['outputs']).toEqual({ told: 'x 2 get_quote', own: 2 });
});

const dot = (stage: string, branch: string, attributes: Readonly<Record<string, string>> = {}): string => {
  const of = (id: string): string => (attributes[id] === undefined ? '' : `, renamed_from="${attributes[id]}"`);
  return `digraph d {
  start [shape=Mdiamond]; exit [shape=Msquare, retry_target="${stage}"]
  ${stage} [shape=hexagon, label="Go?"${of(stage)}]
  fork [shape=component]; join [shape=tripleoctagon]
  ${branch} [shape=hexagon, label="Left?"${of(branch)}]; right [shape=hexagon, label="Right?"]
  start -> ${stage}; ${stage} -> fork [label="yes"]; ${stage} -> exit [label="no"]
  fork -> ${branch}; fork -> right; ${branch} -> join [label="ok"]; right -> join [label="ok"]; join -> exit
}`;
};

test('G15 a stage, and the first stage of a branch, keep their record under renamed_from', async () => {
  const bench = createBench();
  const before = readDot(dot('gate', 'left')).graph;
  const after = readDot(dot('entry', 'west', { entry: 'gate', west: 'left' })).graph;
  expect(after.hash).toBe(before.hash);
  await (await bench.engine.start(before, {}, { runId: 'r' })).result();
  const answer = async (prompt: RegExp, value: string): Promise<void> => {
    const wait = (await bench.engine.waits('r')).find((one) => prompt.test(one.prompt ?? ''));
    await bench.engine.answer('r', wait?.waitId ?? '', value, { stays: true });
  };
  await answer(/Go/u, 'yes');
  await (await bench.engine.resume('r', { graph: before })).result();
  await answer(/Left/u, 'ok');
  await (await bench.engine.resume('r', { graph: after })).result();
  await answer(/Right/u, 'ok');
  const result = await (await bench.engine.resume('r', { graph: after })).result();
  expect([result.status, result.error]).toEqual(['completed', undefined]);
  expect(result.repeated).toBeUndefined();
});
