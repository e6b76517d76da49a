/** Blocks that run once for each item. */
import { describe, expect, test } from 'vitest';
import { killedInEffect } from '../../../../test/dying-engine.ts';
import { afterCrash, createBench, resumeToRest, runToRest } from '../../../../test/engine-kit.ts';
import { answerAll, journal, optionsOf, read, runText, type Ran } from '../../../../test/yaml-kit.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';

const head = 'name: w\ndescription: d\n';

test('Y10 items of a list and of a mapping, with key, value, index and count', async () => {
  const { outputs, result } = await runText(`${head}inputs: { names: { default: [x, y] } }
blocks:
  - id: a
    type: Note
    for_each: "\${names}"
    inputs: { value: "\${each.index}/\${each.count} \${each.key}=\${each.value}" }
  - id: b
    type: Note
    for_each: { "10": ten, z: last, "2": two }
    for_each_mode: sequential
    inputs: { value: "\${each.key}:\${each.value}" }
outputs:
  first: "\${a.iterations[0].value}"
  keyed: '\${blocks.b["z"].value}'
  count: "\${a.count}"
  all: "\${a.iterations}"
  failed: "\${b.count_failed}"
`);
  expect(result.status).toBe('completed');
  expect(outputs).toMatchObject({ first: '0/2 0=x', keyed: 'z:last', count: 2, failed: 0 });
  expect(outputs?.['all']).toMatchObject([
    { key: '0', status: 'completed', outputs: { value: '0/2 0=x' } },
    { key: '1', status: 'completed', outputs: { value: '1/2 1=y' } },
  ]);
});

test('C1 outputs of completed iterations are stored once', async () => {
  const { graph } = read(
    `${head}blocks: [{ id: a, type: Note, for_each: [1, 2], inputs: { value: "\${each.value}" } }]\n`,
  );
  const { engine } = createBench();
  const { state } = await runToRest(engine, graph);
  // The steps hold them: the node's own output is the list of theirs.
  expect(state.outputs['a']).toMatchObject([{ key: '0' }, { key: '1' }]);
});

test.each(['[]', '{}', '"${inputs.none}"'])(
  'Y10 an empty collection completes with no iterations: %s',
  async (over) => {
    const { result, outputs } = await runText(`${head}inputs: { none: { default: [] } }
blocks:
  - { id: a, type: Note, for_each: ${over} }
  - { id: b, type: Note, depends_on: [a] }
outputs: { n: "\${a.count}", b: "\${blocks.b.status}" }
`);
    expect([result.status, outputs]).toEqual(['completed', { n: 0, b: 'completed' }]);
  },
);

test('Y10 a condition is read for each item', async () => {
  const { outputs } = await runText(`${head}blocks:
  - { id: a, type: Note, for_each: [1, 2, 3], condition: "each.value != 2", inputs: { value: "\${each.value}" } }
outputs: { all: "\${a.iterations}", skipped: "\${a.count_skipped}", ok: "\${blocks.a.succeeded}" }
`);
  expect(outputs).toMatchObject({
    all: [{ status: 'completed' }, { key: '1', status: 'skipped' }, { status: 'completed' }],
    skipped: 1,
    ok: true,
  });
});

describe('Y10 a failed iteration', () => {
  /** Runs the block `a` over the values and tells which of its items began. */
  const runOver = async (values: string, more: string): Promise<Ran & { readonly begun: readonly unknown[] }> => {
    journal.done.length = 0;
    const ran = await runText(`${head}blocks:
  - { id: a, type: Effect, for_each: ${values}, ${more}, inputs: { fail: "\${each.value == 'bad'}", value: "\${each.value}" } }
outputs: { a: "\${a.iterations}", n: "\${a.count_failed}", e: "\${a.iterations[1].error.message}" }
`);
    return { ...ran, begun: journal.done.map(({ value }) => value) };
  };

  test.each([
    ['sequential', '[one, bad, three, four]', 'for_each_mode: sequential', ['one', 'bad']],
    ['parallel, one at once', '[one, bad, three]', 'for_each_mode: parallel, max_parallel: 1', ['one', 'bad']],
    ['parallel', '[bad, two, three, four]', 'for_each_mode: parallel, max_parallel: 2', ['bad', 'two']],
  ])('Y10 fails the block, and no item starts after it: %s', async (_, values, mode, expected) => {
    const { result, begun } = await runOver(values, mode);
    expect(begun).toEqual(expected);
    expect(result.error?.data).toMatchObject({ node: 'a', code: 'ITEM_FAILED' });
    expect(result.error?.message).toContain(`item '${expected.indexOf('bad')}' failed: no effect`);
  });

  test('Y10 under continue_on_error the others go on', async () => {
    const { outputs, begun } = await runOver('[one, bad, three]', 'continue_on_error: true, for_each_mode: sequential');
    expect(begun).toEqual(['one', 'bad', 'three']);
    expect(outputs).toMatchObject({
      a: [{ status: 'completed' }, { status: 'failed', error: { code: 'NOT_DONE' } }, { status: 'completed' }],
      n: 1,
      e: 'no effect',
    });
  });
});

test('Y10 a wrong collection, a wrong key and an input that does not fit fail the block, never nothing', async () => {
  const run = async (v: unknown): Promise<unknown> => {
    const { result } = await runText(
      `${head}inputs: { v: {} }\nblocks: [{ id: a, type: Note, for_each: "\${v}", inputs: { size: "\${each.value}" } }]\n`,
      { v },
    );
    return result.error?.data['reason'];
  };
  expect(await run(3)).toBe('for_each gives 3, not a list or a mapping');
  expect(await run({ 'a\u0001': 1 })).toMatch(/no control characters/);
  expect(await run(['x'])).toMatch(/item '0' failed: .*`size` is string/);
});

test.each(['parallel', 'sequential'])('W2 items that ask are answered each by itself: %s', async (mode) => {
  const text = `${head}blocks:
  - { id: a, type: Ask, for_each: [x, y, z], for_each_mode: ${mode}, max_parallel: 2, inputs: { prompt: "\${each.value}?" } }
outputs: { all: "\${a.iterations}" }
`.replace(mode === 'sequential' ? ' max_parallel: 2,' : '', '');
  let ran = await runText(text);
  const asked: (readonly (string | undefined)[])[] = [];
  for (let round = 0; round < 4 && ran.result.status === 'paused'; round += 1) {
    asked.push(ran.result.waits.map(({ prompt }) => prompt));
    ran = await answerAll(ran, (prompt) => `${prompt}!`);
  }
  expect(asked).toEqual(mode === 'parallel' ? [['x?', 'y?', 'z?']] : [['x?'], ['y?'], ['z?']]);
  expect(ran.outputs?.['all']).toMatchObject([
    { outputs: { answer: 'x?!' } },
    { outputs: { answer: 'y?!' } },
    { outputs: { answer: 'z?!' } },
  ]);
});

test('X4 each item has a key of its own, and a resume runs only what is missing', async () => {
  const done: string[] = [];
  let isDown = true;
  const flaky: NodeType = {
    name: 'Flaky',
    description: 'Fails while it is down.',
    inputs: { value: { schema: {}, description: '' } },
    outputs: {},
    effect: 'write',
    run: ({ inputs, idempotencyKey }) => {
      if (inputs['value'] === 2 && isDown) throw Object.assign(new Error('down'), { applied: 'no' });
      done.push(`${String(inputs['value'])} ${idempotencyKey}`);
      return {};
    },
  };
  const { graph } = read(
    `${head}blocks: [{ id: a, type: Flaky, for_each: [1, 2, 3], inputs: { value: "\${each.value}" } }]\n`,
    { nodeTypes: [flaky] },
  );
  const bench = createBench();
  const failed = await runToRest(bench.engine, graph);
  expect(failed.status).toBe('failed');
  isDown = false;
  const { status } = await (await afterCrash(bench).resume(failed.runId, { graph })).result();
  expect(status).toBe('completed');
  expect(new Set(done.map((line) => line.split(' ')[0]))).toEqual(new Set(['1', '2', '3']));
  expect(done).toHaveLength(3);
  expect(new Set(done.map((line) => line.split(' ')[1])).size).toBe(3);
});

test('Y10 at most max_parallel items run at once', async () => {
  let open = 0;
  let most = 0;
  const slow: NodeType = {
    name: 'Slow',
    description: '',
    inputs: {},
    outputs: {},
    effect: 'read',
    run: async () => {
      most = Math.max(most, (open += 1));
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      return {};
    },
  };
  const { graph } = read(
    `${head}blocks: [{ id: a, type: Slow, for_each: [1, 2, 3, 4, 5, 6, 7, 8, 9], max_parallel: 3 }]\n`,
    { nodeTypes: [slow] },
  );
  await runToRest(createBench().engine, graph);
  expect(most).toBe(3);
});

test.each([
  ['parallel, which fails with an item', 'max_parallel: 1', []],
  ['sequential', 'for_each_mode: sequential, continue_on_error: true', []],
  ['parallel, which gathers failures', 'max_parallel: 1, continue_on_error: true', [2, 3]],
])('Y10 W2.5 beside an item in doubt after a crash: %s', async (_, how, expected) => {
  const begun: unknown[] = [];
  const { bench, graph } = await killedInEffect((effect) => {
    const act: NodeType = {
      name: 'Act',
      description: '',
      inputs: { value: { schema: {}, description: '' } },
      outputs: {},
      effect: 'external',
      run: ({ inputs: { value } }) => (value === 1 ? effect() : void begun.push(value)),
    };
    const block = `{ id: a, type: Act, for_each: [1, 2, 3], ${how}, inputs: { value: "\${each.value}" } }`;
    return read(`${head}blocks: [${block}]\n`, { nodeTypes: [act] }).graph;
  });
  const { waits } = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([waits.map(({ kind }) => kind), begun]).toEqual([['doubt'], expected]);
  await bench.engine.answer('r', waits[0]?.waitId ?? '', 'happened');
  expect((await resumeToRest(afterCrash(bench), 'r', graph)).status).toBe('completed');
  expect(begun).toEqual([2, 3]);
});

test('Y10 the items that failed are told in the order of the items', async () => {
  const fails: NodeType = {
    name: 'Fails',
    description: '',
    inputs: { turns: { schema: {}, description: '' } },
    outputs: {},
    effect: 'pure',
    run: async ({ inputs }) => {
      for (let turn = 0; turn < Number(inputs['turns']); turn += 1)
        await new Promise((resolve) => setImmediate(resolve));
      throw new Error(`after ${String(inputs['turns'])}`);
    },
  };
  const block = '{ id: a, type: Fails, for_each: { slow: 5, fast: 1 }, inputs: { turns: "${each.value}" } }';
  const { result } = await runText(`${head}blocks: [${block}]\n`, {}, { nodeTypes: [fails] });
  expect(result.error?.cause).toMatchObject({
    message: "item 'slow' failed: after 5",
    data: { failed: ['slow', 'fast'] },
  });
});

test('Y10 retries are those of an item', async () => {
  journal.done.length = 0;
  const { result } = await runText(
    `${head}blocks: [{ id: a, type: Effect, for_each: [1, 2], continue_on_error: true, retry: 2, inputs: { fail: "\${each.value == 1}", value: "\${each.value}" } }]\n`,
  );
  expect(result.status).toBe('completed');
  expect(journal.done.map(({ value, attempt }) => `${String(value)}.${attempt}`).toSorted()).toEqual([
    '1.1',
    '1.2',
    '2.1',
  ]);
});

test('Y10 secrets reach items, and only their names are kept', async () => {
  const seen: unknown[] = [];
  const taking: NodeType = {
    name: 'Taking',
    description: '',
    inputs: { token: { schema: { type: 'string' }, description: '', takesSecrets: true } },
    outputs: {},
    effect: 'write',
    run: async ({ inputs, secrets }) => {
      const value = await secrets.get('KEY');
      seen.push((inputs['token'] as { fill: (of: (name: string) => string) => string }).fill(() => value));
      return {};
    },
  };
  const { graph } = read(
    `${head}secrets: [KEY]\nblocks: [{ id: a, type: Taking, for_each: [1], inputs: { token: "Bearer \${secrets.KEY}" } }]\n`,
    { nodeTypes: [taking] },
  );
  const { engine } = createBench({ secrets: { read: () => 'hush' } });
  const { status } = await runToRest(engine, graph);
  expect([status, seen]).toEqual(['completed', ['Bearer hush']]);
});

test('Y10 thousands of items go through', async () => {
  const { graph } = read(
    `${head}inputs: { n: { type: int } }\nblocks: [{ id: a, type: Note, for_each: "\${range(n)}", max_parallel: 50, inputs: { value: "\${each.value}" } }]\noutputs: { n: "\${a.count}", last: "\${a.iterations[n - 1].value}" }\n`,
    optionsOf(),
  );
  const { engine } = createBench();
  const { state } = await runToRest(engine, graph, { n: 3_000 });
  expect(state.outputs['outputs']).toEqual({ n: 3_000, last: 2_999 });
}, 60_000);

test('Y10 iterations over a mapping, side by side, come in its order, whichever ends first', async () => {
  const late: NodeType = {
    name: 'Late',
    description: 'Ends later the smaller its value is.',
    inputs: { value: { schema: {}, description: 'a number' } },
    outputs: { value: { schema: {}, description: 'the number' } },
    effect: 'pure',
    run: async ({ inputs }) => {
      for (let turn = Number(inputs['value']); turn < 4; turn += 1) await new Promise(setImmediate);
      return { value: inputs['value'] };
    },
  };
  const text = `${head}blocks:
  - { id: a, type: Late, for_each: { x: 1, y: 2, z: 3 }, for_each_mode: parallel, inputs: { value: "\${each.value}" } }
outputs: { all: "\${a.iterations}", y: '\${blocks.a["y"].value}' }
`;
  const { outputs } = await runText(text, {}, { nodeTypes: [late] });
  expect(outputs).toMatchObject({ all: [{ key: 'x' }, { key: 'y' }, { key: 'z' }], y: 2 });
});
