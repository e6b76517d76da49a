/** What the built-in interactive blocks ask, and what they make of the answers. */
import { expect, test } from 'vitest';
import type { Inputs, NodeType } from '../../../graph/contracts/node-type.ts';
import { schemaFault, type Schema } from '../../../schema/json-schema.ts';
import { createFakeContext, type FakeContext } from '../../../testing/node-suite/fake-context.ts';
import { askChoice } from './ask-choice.ts';
import { confirmOperation, prompt } from './confirm-operation.ts';
import { getInput } from './get-input.ts';

/** A block that was begun, up to its first question that has no answer. */
interface Asked {
  readonly ctx: FakeContext;
  readonly output: Promise<unknown>;
}

async function ask(type: NodeType, inputs: Inputs, ...answers: readonly unknown[]): Promise<Asked> {
  const ctx = createFakeContext({ answers: { question: answers } });
  const output = Promise.resolve(type.run({ ...ctx, inputs, fileOutputs: [] }));
  await new Promise(setImmediate);
  return { ctx, output };
}

const outputOf = async (...args: Parameters<typeof ask>): Promise<unknown> => (await ask(...args)).output;

const confirm = { message: 'Deploy?', operation: 'deploy', details: { to: 'production' } };

test('B41 the prompt, choices and metadata of ConfirmOperation', async () => {
  const { ctx } = await ask(confirmOperation, confirm);
  expect(ctx.record.questions).toEqual([
    {
      prompt: "Confirm operation: Deploy?\n\nRespond with 'yes' or 'no'",
      choices: ['yes', 'no'],
      matching: 'open',
      schema: { type: ['string', 'boolean'] },
      metadata: { operation: 'deploy', details: { to: 'production' } },
    },
  ]);
});

test.each([
  ['yes', true],
  [' Y\n', true],
  ['TRUE', true],
  ['Confirm', true],
  ['approved', true],
  ['no', false],
  ['yes please', false],
  ['', false],
])('B41 %j gives %j', async (answer, confirmed) => {
  await expect(outputOf(confirmOperation, confirm, answer)).resolves.toEqual({ confirmed, response: answer });
});

test('B41 booleans are taken as their text', async () => {
  await expect(outputOf(confirmOperation, confirm, true)).resolves.toEqual({ confirmed: true, response: 'true' });
  await expect(outputOf(confirmOperation, confirm, false)).resolves.toEqual({ confirmed: false, response: 'false' });
});

test('B42 the prompt of AskChoice numbers the choices', async () => {
  const { ctx } = await ask(askChoice, { question: 'Which?', choices: ['red', 7, true] });
  expect(ctx.record.questions).toEqual([
    {
      prompt: 'Which?\n\nChoices:\n1. red\n2. 7\n3. true\n\nRespond with the number of your choice.',
      choices: ['red', '7', 'true'],
      matching: 'lenient',
      metadata: { choices: ['red', '7', 'true'] },
    },
  ]);
});

test('B42 the output names the choice and its place', async () => {
  const { output } = await ask(askChoice, { question: 'Which?', choices: ['red', 'blue'] }, 'blue');
  await expect(output).resolves.toEqual({ choice: 'blue', choice_index: 1 });
});

test('B42 an answer that is no choice is refused, and the question asked again with the reason', async () => {
  const { ctx, output } = await ask(askChoice, { question: 'Which?', choices: ['red', 'blue'] }, 'green', 'red');
  await expect(output).resolves.toEqual({ choice: 'red', choice_index: 0 });
  expect(ctx.record.questions[1]?.prompt).toMatch(/^Invalid choice: green\n\nWhich\?/u);
});

test('B42 the same choice twice is a fault of the input, known before anything is asked', () => {
  expect(askChoice.check?.({ question: '', choices: ['1', 1] })).toMatchObject([{ input: 'choices' }]);
  expect(askChoice.check?.({ question: '', choices: ['1', '2'] })).toEqual([]);
  expect(askChoice.check?.({ question: '' })).toEqual([]);
  expect(schemaFault(askChoice.inputs['choices']?.schema ?? {}, [], 'choices')).toBeDefined();
});

test('B43 a pattern holds the beginning of the answer, and its end only if it says so', async () => {
  const faultOf = async (pattern: string, answer: string): Promise<string | undefined> => {
    const { ctx } = await ask(getInput, { prompt: '?', validation_pattern: pattern });
    return schemaFault((ctx.record.questions[0]?.schema ?? {}) as Schema, answer, 'answer');
  };
  expect(await faultOf('[a-z]+', 'abc!')).toBeUndefined();
  expect(await faultOf('[a-z]+', '!abc')).toBeDefined();
  expect(await faultOf('^[a-z0-9-]+$', 'my-app')).toBeUndefined();
  expect(await faultOf('^[a-z0-9-]+$', 'My App')).toBeDefined();
  expect(await faultOf('a|b', 'xb')).toBeDefined();
  expect(await faultOf('\\A(?P<x>\\w)\\-(?P=x)\\Z', 'a-a')).toBeUndefined();
  expect(await faultOf('\\A(?P<x>\\w)\\-(?P=x)\\Z', 'a-b')).toBeDefined();
  expect(await faultOf('[\\w.\\-]+\\@\\"', 'a.b-c@"')).toBeUndefined();
});

test('B43 the answer is given back untouched; numbers are taken as their text and held to the pattern', async () => {
  await expect(outputOf(getInput, { prompt: '?' }, '  ')).resolves.toEqual({ input_value: '  ' });
  const { ctx, output } = await ask(getInput, { prompt: 'How many?', validation_pattern: '[1-9]$' }, 12, 7);
  await expect(output).resolves.toEqual({ input_value: '7' });
  expect(ctx.record.questions.map((question) => question.prompt)).toEqual([
    'How many?',
    "Input doesn't match pattern [1-9]$: 12\n\nHow many?",
  ]);
  expect(ctx.record.questions[1]?.metadata).toEqual({ validation_pattern: '[1-9]$' });
});

test('B43 a pattern that is no regular expression is a fault of the input', () => {
  for (const pattern of ['[a-', '(?i)x', '*'])
    expect(getInput.check?.({ prompt: '?', validation_pattern: pattern })).toMatchObject([
      { input: 'validation_pattern' },
    ]);
  expect(getInput.check?.({ prompt: '?', validation_pattern: '^a$' })).toEqual([]);
});

test('B44 any answer is taken as text', async () => {
  for (const [answer, response] of [
    ['', ''],
    [' Alice ', ' Alice '],
    [3, '3'],
    [null, ''],
    [{ a: [1] }, '{"a":[1]}'],
  ])
    await expect(outputOf(prompt, { prompt: 'Name?' }, answer)).resolves.toEqual({ response });
});

test('B44 operation and details are shown with the question', async () => {
  const { ctx, output } = await ask(prompt, { prompt: 'Ship?', operation: 'ship', details: { files: 3 } }, 'ok');
  await expect(output).resolves.toEqual({ response: 'ok' });
  expect(ctx.record.questions).toMatchObject([
    { prompt: 'Ship?', metadata: { operation: 'ship', details: { files: 3 } } },
  ]);
});
