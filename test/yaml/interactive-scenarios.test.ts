/** Blocks that ask, and runs that pause for them: the scenarios of the third phase. */
import { expect, test } from 'vitest';
import type { RunResult } from '../../src/engine/api.ts';
import { InteractiveBlock, interactiveNodeType, pause } from '../../src/nodes/blocks/index.ts';
import { findQuestion, outputsOf, promptsOf, yamlBench } from '../yaml-bench.ts';

const block = (id: string, type: string, inputs: string, more = ''): string =>
  `  - { id: ${id}, type: ${type}, inputs: { ${inputs} }${more} }`;
const workflow = (name: string, blocks: readonly string[], outputs: string): string =>
  `name: ${name}\nblocks:\n${blocks.join('\n')}\noutputs: { ${outputs} }\n`;

const confirm = workflow(
  'confirm',
  [block('ask', 'ConfirmOperation', 'message: Go on, operation: go_on')],
  'confirmed: "${ask.confirmed}", response: "${ask.response}"',
);

test.each([
  ['yes', true],
  [' Y ', true],
  ['TRUE', true],
  ['confirm', true],
  ['approved', true],
  ['no', false],
  ['maybe', false],
  ['yes please', false],
])('W1 test_confirm_operation_pause_and_resume: %j is %j', async (response, confirmed) => {
  const { start, answer } = yamlBench();
  const paused = await start(confirm);
  expect(paused.status).toBe('paused');
  expect(paused.waits[0]).toMatchObject({
    prompt: "Confirm operation: Go on\n\nRespond with 'yes' or 'no'",
    metadata: { operation: 'go_on', details: {} },
  });
  expect(outputsOf(await answer(paused.runId, response))).toEqual({ confirmed, response });
});

const choice = workflow(
  'choice',
  [block('ask', 'AskChoice', 'question: Which?, choices: [red, green, light green]')],
  'choice: "${ask.choice}", index: "${ask.choice_index}"',
);

test.each([
  ['1', { choice: 'red', index: 0 }],
  [' 3 ', { choice: 'light green', index: 2 }],
  ['Green', { choice: 'green', index: 1 }],
  ['I would take light green', { choice: 'green', index: 1 }],
  [2, { choice: 'green', index: 1 }],
])('W1 test_ask_choice_valid_selection: %j', async (response, chosen) => {
  const { start, answer } = yamlBench();
  const paused = await start(choice);
  expect(promptsOf(paused)).toEqual([
    'Which?\n\nChoices:\n1. red\n2. green\n3. light green\n\nRespond with the number of your choice.',
  ]);
  expect(outputsOf(await answer(paused.runId, response))).toEqual(chosen);
});

test.each(['0', '4', '-1', 'blue', ''])(
  'W3 test_ask_choice_invalid_selection: %j is refused with its reason, and the question stays open',
  async (response) => {
    const { start, answer } = yamlBench();
    const { runId } = await start(choice);
    await expect(answer(runId, response)).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
    expect(outputsOf(await answer(runId, '1'))).toEqual({ choice: 'red', index: 0 });
  },
);

test('W3 test_get_input_with_validation: the pattern holds from the start of the text', async () => {
  const { start, answer } = yamlBench();
  const { runId } = await start(
    workflow(
      'name',
      [block('ask', 'GetInput', 'prompt: Name?, validation_pattern: "[a-z]+-"')],
      'name: "${ask.input_value}"',
    ),
  );
  for (const refused of ['Upper-', '1a-', '']) {
    await expect(answer(runId, refused)).rejects.toMatchObject({
      code: 'ANSWER_INVALID',
      message: expect.stringContaining('[a-z]+-'),
    });
  }
  expect(outputsOf(await answer(runId, 'my-project 7'))).toEqual({ name: 'my-project 7' });
});

class Countdown extends InteractiveBlock {
  override readonly name = 'Countdown';
  override readonly description = 'Asks as often as it is told, and remembers every answer.';
  override readonly inputs = { times: { schema: { type: 'integer' }, description: 'How often.', isRequired: true } };
  override readonly outputs = { answers: { schema: { type: 'array' }, description: 'What was said.' } };
  override execute({ inputs }: { readonly inputs: Readonly<Record<string, unknown>> }): ReturnType<typeof pause> {
    return pause({ prompt: `1 of ${String(inputs['times'])}?`, metadata: { answers: [] } });
  }
  override resume(
    { inputs }: { readonly inputs: Readonly<Record<string, unknown>> },
    answer: unknown,
    metadata: unknown,
  ): ReturnType<typeof pause> | { readonly answers: readonly unknown[] } {
    const answers = [...(metadata as { readonly answers: readonly unknown[] }).answers, answer];
    if (answers.length === inputs['times']) return { answers };
    return pause({ prompt: `${answers.length + 1} of ${String(inputs['times'])}?`, metadata: { answers } });
  }
}

test('W1 test_interactive_block_multi_pause: a block of the user asks again, in new processes, and keeps what it knows', async () => {
  let bench = yamlBench([interactiveNodeType(new Countdown())]);
  const text = workflow('count', [block('ask', 'Countdown', 'times: 3')], 'all: "${ask.answers}"');
  const { runId } = await bench.start(text);
  const results: RunResult[] = [];
  for (const said of ['a', 'b', 'c']) {
    bench = bench.afterDeath();
    results.push(await bench.answer(runId, said));
  }
  expect(results.map(promptsOf)).toEqual([['2 of 3?'], ['3 of 3?'], []]);
  expect(results.map(outputsOf).at(-1)).toEqual({ all: ['a', 'b', 'c'] });
});

const child = workflow('child', [block('ask', 'GetInput', 'prompt: Who?')], 'who: "${ask.input_value}"');
const parent = (name: string, called: string): string =>
  workflow(
    name,
    [
      block('before', 'EchoBlock', 'message: hello'),
      block('call', 'Workflow', `workflow: ${called}`, ', depends_on: [before]'),
      block('after', 'EchoBlock', 'message: "${call.outputs.who}"', ', depends_on: [call]'),
    ],
    'who: "${call.who}", said: "${after.echoed}"',
  );

test('W6 test_nested_workflow_pause_propagation: the question of a child is asked by its parent, under the name of the child', async () => {
  const bench = yamlBench();
  const paused = await bench.start(parent('parent', 'child'), {}, { others: { child } });
  expect(promptsOf(paused)).toEqual(["[Child workflow 'child'] Who?"]);
  expect(outputsOf(await bench.afterDeath().answer(paused.runId, 'Ada'))).toEqual({ who: 'Ada', said: 'Echo: Ada' });
});

test('W6 test_multi_level_nested_pause: at any depth', async () => {
  const bench = yamlBench();
  const others = { child, parent: parent('parent', 'child'), grandparent: parent('grandparent', 'parent') };
  const paused = await bench.start(parent('top', 'grandparent'), {}, { others });
  expect(paused.status).toBe('paused');
  expect(promptsOf(paused)[0]).toContain('Who?');
  expect(outputsOf(await bench.afterDeath().answer(paused.runId, 'Ada'))).toMatchObject({ who: 'Ada' });
});

test('W6 a child that pauses a second time is asked a second time', async () => {
  const twice = workflow(
    'twice',
    [
      block('first', 'GetInput', 'prompt: First?'),
      block('second', 'GetInput', 'prompt: "After ${first.input_value}?"', ', depends_on: [first]'),
    ],
    'who: "${first.input_value} ${second.input_value}"',
  );
  const bench = yamlBench();
  const paused = await bench.start(parent('parent', 'twice'), {}, { others: { twice } });
  const again = await bench.afterDeath().answer(paused.runId, 'one');
  expect(promptsOf(again)).toEqual(["[Child workflow 'twice'] After one?"]);
  expect(outputsOf(await bench.afterDeath().answer(paused.runId, 'two'))).toMatchObject({ who: 'one two' });
});

test('W4 test_pause_checkpoint_persists_until_resume: however often it is looked at, by whichever process', async () => {
  const bench = yamlBench();
  const { runId, seq } = await bench.start(confirm);
  for (const other of [bench, bench.afterDeath(), bench.afterDeath()]) {
    const still = await other.resume(runId);
    expect(still).toMatchObject({ status: 'paused', seq });
    expect(still.waits).toHaveLength(1);
  }
});

test('W3 test_resume_with_incorrect_response: nothing is lost, and a right answer goes on', async () => {
  const { engine, start, answer } = yamlBench();
  const { runId } = await start(choice);
  await expect(answer(runId, 'blue')).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  await expect(engine.answer(runId, 'w_nothing', 'red')).rejects.toMatchObject({ code: 'WAIT_NOT_FOUND' });
  expect(outputsOf(await answer(runId, 'red'))).toMatchObject({ choice: 'red' });
});

test('W2 test_workflow_pause_and_resume_end_to_end: two questions of one wave are open at once, and each is answered by itself', async () => {
  const bench = yamlBench();
  const text = workflow(
    'two',
    [
      block('left', 'GetInput', 'prompt: Left?'),
      block('right', 'GetInput', 'prompt: Right?'),
      block('done', 'EchoBlock', 'message: meanwhile'),
      block('both', 'EchoBlock', 'message: "${left.input_value} ${right.input_value}"', ', depends_on: [left, right]'),
    ],
    'said: "${both.echoed}", meanwhile: "${done.echoed}"',
  );
  const paused = await bench.start(text);
  expect(new Set(promptsOf(paused))).toEqual(new Set(['Left?', 'Right?']));
  expect(paused.state.outputs['done']).toMatchObject({ echoed: 'Echo: meanwhile' });
  const one = await bench.answer(paused.runId, 'r', 'right');
  expect(promptsOf(one)).toEqual(['Left?']);
  const left = await findQuestion(bench.engine, paused.runId, 'left');
  const done = await bench.afterDeath().answer(paused.runId, 'l', 'left');
  expect(outputsOf(done)).toEqual({ said: 'Echo: l r', meanwhile: 'Echo: meanwhile' });
  await expect(bench.engine.answer(paused.runId, left.waitId, 'other')).rejects.toMatchObject({ code: 'WAIT_CLOSED' });
});
