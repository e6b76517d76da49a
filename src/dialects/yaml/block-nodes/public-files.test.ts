/** What files that people wrote for other engines of this format read: their run's folder in defaults, times of blocks, items by key. */
import { sep } from 'node:path';
import { expect, test } from 'vitest';
import { createBench, resumeToRest } from '../../../../test/engine-kit.ts';
import { faultsOf, optionsOf, read, runText } from '../../../../test/yaml-kit.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';

const head = 'name: w\ndescription: d\n';

test.each(['{{tmp}}/out', '{{ tmp }}/out', '${metadata.tmp}/out'])(
  'T11 the default %s of an input names the folder of the run, a given value does not',
  async (initial) => {
    const text = `${head}inputs: { dir: { type: str, default: "${initial}" } }
blocks: [{ id: a, type: Note, inputs: { value: "\${inputs.dir}", text: "\${metadata.tmp}" } }]
outputs: { dir: "\${blocks.a.value}", flat: "\${dir}", tmp: "\${blocks.a.text}", all: "\${inputs}" }
`;
    expect(faultsOf(text)).toEqual([]);
    const { outputs = {} } = await runText(text);
    const dir = `${String(outputs['tmp'])}/out`;
    expect([sep, outputs]).toEqual(['/', { dir, flat: dir, tmp: outputs['tmp'], all: { dir } }]);
    expect((await runText(text, { dir: '/x' })).outputs).toMatchObject({ dir: '/x' });
  },
);

test('Y4 a condition does not read an input whose default names the folder of the run, and other references in defaults are told to be text', () => {
  const block = '{ id: a, type: Note, condition: "${inputs.dir != \'\'}" }';
  expect(faultsOf(`${head}inputs: { dir: { default: "{{tmp}}/x" } }\nblocks: [${block}]\n`)).toEqual([
    expect.stringContaining('the default of dir names {{tmp}}, which is not known to conditions'),
  ]);
  const other = `${head}inputs: { a: { default: 1 }, b: { default: "{{ inputs.a }}" } }\nblocks: [{ id: a, type: Note }]\n`;
  expect(faultsOf(other)).toEqual([expect.stringContaining('warning: the default of b is text')]);
});

/** A block that takes as long as it is told, and asks before that on request. */
function slowly(clock: { sleep: (ms: number) => Promise<void> }): NodeType {
  return {
    name: 'Slowly',
    description: 'Takes time.',
    inputs: {
      ms: { schema: { type: 'number' }, description: 'how long' },
      asks: { schema: { type: 'boolean' }, description: 'whether it asks first' },
    },
    outputs: { done: { schema: { type: 'boolean' }, description: 'true' } },
    effect: 'human',
    run: async (ctx) => {
      if (ctx.inputs['asks'] === true) await ctx.ask({ prompt: 'go on?' });
      await ctx.step('work', {}, () => clock.sleep(Number(ctx.inputs['ms'] ?? 0)));
      return { done: true };
    },
  };
}

test('T3 execution_time_ms of a workflow and of any block is recorded where a text reads it, waits included, and is the same in a repetition', async () => {
  const bench = createBench();
  const nodeTypes = [slowly(bench.clock)];
  const child = 'name: child\nblocks: [{ id: s, type: Slowly, inputs: { ms: 40 } }]\n';
  const text = `${head}blocks:
  - { id: s, type: Slowly, inputs: { ms: 20, asks: true } }
  - { id: c, type: Workflow, inputs: { workflow: child } }
  - { id: e, type: Workflow, for_each: [1], inputs: { workflow: child } }
  - { id: unread, type: Workflow, inputs: { workflow: child } }
outputs:
  block: "\${blocks.s.metadata.execution_time_ms}"
  under: "\${blocks.c.outputs.execution_time_ms}"
  flat: "\${blocks.c.execution_time_ms}"
  each: "\${blocks.e.metadata.execution_time_ms}"
`;
  const { graph } = read(text, { nodeTypes, others: { child } });
  const handle = await bench.engine.start(graph, {});
  const first = await handle.result();
  const { waits } = first;
  const { runId } = handle;
  await bench.clock.sleep(1000);
  await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
  const { state, status } = await resumeToRest(bench.engine, runId, graph);
  const { block, under, flat, each } = state.outputs['outputs'] as Record<string, number>;
  expect(status).toBe('completed');
  expect(block).toBeGreaterThanOrEqual(1020);
  expect([under, flat]).toEqual([40, 40]);
  expect(each).toBe(40);
  expect(state.outputs['unread']).not.toHaveProperty('execution_time_ms');
  expect(optionsOf({ nodeTypes }).nodeTypes).toHaveLength(1);
});

test('T3 items of a for_each are found by their keys under blocks', async () => {
  const text = `${head}blocks:
  - { id: l, type: Note, for_each: [x, y], inputs: { value: "\${each.value}" } }
  - { id: m, type: Note, for_each: { k: 1 }, inputs: { value: "\${each.value}" } }
outputs:
  first: "\${blocks.l.blocks['0'].outputs.value}"
  second: "\${blocks.l.blocks[1].value}"
  named: "\${blocks.m.blocks.k.outputs.value}"
  stands: "\${blocks.l.blocks['1'].succeeded}"
`;
  expect((await runText(text)).outputs).toEqual({ first: 'x', second: 'y', named: 1, stands: true });
});

/** Calls itself; fails at 0, where `end` says how that ends. */
const falling = (block: string, call: string): string => `name: falling
inputs: { n: { type: int } }
blocks:
  - { id: check, type: Note, inputs: { fail: "\${n == 0}", value: "\${n}" }${block} }
  - { id: more, type: Workflow, depends_on: [check], inputs: { workflow: falling, inputs: { n: "\${n - 1}" } }${call} }
outputs: { said: "\${[n] + default(more.said, [])}" }
`;

test.each([
  ['of a block that the call requires', ', continue_on_error: true', '', [2, 1, 0]],
  ['of the call itself', '', ', continue_on_error: true', [2, 1]],
])(
  'Y7 a workflow may call itself where a failure ends it under continue_on_error: %s',
  async (_, block, call, said) => {
    const text = falling(block, call);
    expect(faultsOf(text)).toEqual([]);
    expect((await runText(text, { n: 2 })).outputs).toEqual({ said });
    expect(faultsOf(falling('', ''))).toEqual([expect.stringContaining('in a circle')]);
  },
);

test('Y7 a recursion that nothing ends fails at limits.depth, whatever continue_on_error says', async () => {
  for (const more of ['continue_on_error: true', 'continue_on_error: true, for_each: [1]']) {
    const text = `name: deep\nlimits: { depth: 4 }\nblocks: [{ id: more, type: Workflow, ${more}, inputs: { workflow: deep } }]\n`;
    const { result } = await runText(text);
    expect([result.status, result.error?.message]).toEqual(['failed', expect.stringContaining('depth')]);
  }
});

test('T4 get() of an input that is not declared gives its default, with a warning, and in this form says what to write', async () => {
  const text = `${head}inputs: { a: { default: x } }\nblocks: [{ id: s, type: Note, inputs: { value: "{{ get(inputs, 'absent', {}) }}", text: "{{ get(inputs, 'a', 'z') }}" } }]\noutputs: { v: "{{ blocks.s.value }}", t: "{{ blocks.s.text }}" }\n`;
  expect(faultsOf(text)).toEqual([expect.stringContaining('warning: no input is called absent')]);
  expect((await runText(text)).outputs).toEqual({ v: {}, t: 'x' });
  const own = `${head}inputs: { a: { default: x } }\nblocks: [{ id: s, type: Note, inputs: { value: "\${get(inputs, 'a', {})}" } }]\n`;
  expect(faultsOf(own)).toEqual([expect.stringContaining('write default(x.key, other)')]);
});
