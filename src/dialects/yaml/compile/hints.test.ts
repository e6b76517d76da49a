/** Faults that people make often: each is found when the file is read, and its hint says what was meant. */
import { expect, test } from 'vitest';
import { faultsOf, note, types } from '../../../../test/yaml-kit.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { createNodeTypes } from '../../../nodes/blocks/index.ts';

test('T5 a condition that is a value which is never true or false is a fault, whatever names it', () => {
  const text = (condition: string): string =>
    `name: w\ninputs: { n: { type: int }, s: { type: str }, b: { type: bool }, x: {}, l: { type: list, required: false } }\nblocks: [{ id: a, type: Sized }, { id: c, type: Note, depends_on: [a], condition: "${condition}" }]\n`;
  const sized: NodeType = { ...note, name: 'Sized', outputs: { size: { schema: { type: 'integer' }, description: 'd' }, ok: { schema: { type: 'boolean' }, description: 'd' } } }; // prettier-ignore
  const more = { nodeTypes: [...types, sized] };
  for (const wrong of [
    '${n}',
    's',
    'inputs.l',
    "${inputs['s']}",
    '{{ inputs.n }}',
    'a.size',
    '${blocks.a.outputs.size}',
    "blocks['a'].size",
  ])
    expect(faultsOf(text(wrong), more)).toEqual([
      expect.stringMatching(/the condition is a value of type \w+, not true or false \| compare/),
    ]);
  for (const right of ['b', '${inputs.b}', 'x', 'a.ok', 'blocks.a.succeeded', '{{ inputs.b }}', 'n == 1', 'truthy(s)'])
    expect(faultsOf(text(right), more)).toEqual([]);
});

test.each([
  ['message: "${x | trim}"', /no filters \| write trim\(x\)/],
  ['message: "${x | default(3)}"', /no filters \| write default\(x, y\)/],
  ['message: "${{ x }}"', /form of another system \| write \$\{ … \}, with one brace/],
  ['message: |\n      hi', /indent the text below `\|` or `>` deeper than its key/],
])('Y2 T4 a hint of %s says what was meant', (line, hint) => {
  const text = `name: w\ninputs: { x: {} }\nblocks:\n  - id: a\n    type: EchoBlock\n    inputs:\n      ${line}\n`;
  expect(faultsOf(text, { nodeTypes: createNodeTypes() }).join('\n')).toMatch(hint);
});

test('Y1 Y2 a line that is not indented as it should be is told where it belongs', () => {
  const nodeTypes = createNodeTypes();
  const item = 'name: w\nblocks:\n  - id: a\n   type: EchoBlock\n';
  expect(faultsOf(item, { nodeTypes }).join()).toMatch(/two columns behind the `-`/);
  const flat = 'name: w\nblocks:\n  - id: a\n    type: EchoBlock\n    inputs:\n    message: hi\n';
  expect(faultsOf(flat, { nodeTypes }).join()).toMatch(
    /no field `message` \| if it is an input of the block type, indent it below `inputs:`/,
  );
});

test('T5 a field that a block does not have is told with each name that it has, once', () => {
  const call = '{ id: a, type: LLMCall, inputs: { provider: openai, model: m, prompt: p } }';
  const text = `name: w\nblocks: [${call}, { id: b, type: Note, depends_on: [a], condition: "\${a.nothing_like_it} == 1" }]\n`;
  const [fault = ''] = faultsOf(text, { nodeTypes: [...types, ...createNodeTypes()] });
  const names = (/use one of: (.*)$/.exec(fault)?.[1] ?? '').split(', ');
  expect(names).toContain('metadata');
  expect(new Set(names).size).toBe(names.length);
});
