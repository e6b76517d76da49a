/** What the configuration keeps out of the store cannot be read by a workflow: told when it is loaded (T14). */
import { expect, test } from 'vitest';
import { createNodeTypes } from '../../../nodes/blocks/index.ts';
import { checkWorkflow } from '../index.ts';

const nodeTypes = createNodeTypes();

function faultsOf(text: string, store: readonly string[]): readonly string[] {
  return checkWorkflow(text, { nodeTypes, redact: { store } })
    .violations.filter(({ severity }) => severity === 'error')
    .map(({ rule, message }) => `${rule} ${message.split(' is kept')[0]}`);
}

const file = (reads: string): string => `name: w
inputs: { pin: { type: str }, card: { type: dict }, user: { type: str } }
blocks:
  - { id: login, type: Shell, inputs: { command: echo hi } }
  - { id: use, type: EchoBlock, depends_on: [login], inputs: { message: '${reads}' } }
outputs: { o: "\${use.echoed}" }
`;

test.each([
  ['${inputs.pin}', ['pin'], 'inputs.pin'],
  ['a ${pin} b', ['PIN'], 'pin'],
  ['${inputs.card.number}', ['input.card.number'], 'inputs.card.number'],
  ['${card.number + 1}', ['inputs.card.number'], 'card.number'],
  ['${card.number.deep}', ['inputs.card'], 'card.number.deep'],
  ['${blocks.login.outputs.stdout}', ['outputs.login.stdout'], 'blocks.login.outputs.stdout'],
  ['${login.stdout}', ['blocks.login.outputs.stdout'], 'login.stdout'],
  ['${login.stdout}', ['stdout'], 'login.stdout'],
  ['${login.outputs.stdout}', ['outputs.*.stdout'], 'login.outputs.stdout'],
])('T14 %s is refused under the rule %s', (reads, store, named) => {
  expect(faultsOf(file(reads), store)).toEqual([`T14 ${named}`]);
});

test.each([
  ['${inputs.user}', ['pin', 'inputs.card.number']],
  ['${card}', ['inputs.card.number']],
  ['${login.exit_code}', ['stdout']],
  ['pin', ['pin']],
])('T14 %s is read under the rule %s', (reads, store) => {
  expect(faultsOf(file(reads), store)).toEqual([]);
});

test('T14 conditions, items, commands and outputs are held to it alike', () => {
  const text = `name: w
inputs: { pin: { type: str }, pins: { type: list } }
blocks:
  - { id: a, type: EchoBlock, condition: "\${inputs.pin} == 'x'", inputs: { message: hi } }
  - { id: b, type: EchoBlock, for_each: "\${inputs.pins}", inputs: { message: "\${each.value.pin}" } }
  - { id: c, type: Shell, inputs: { command: 'echo \${pin}' } }
outputs: { o: "\${inputs.pin}" }
`;
  expect(faultsOf(text, ['pin', 'inputs.pins'])).toHaveLength(5);
});
