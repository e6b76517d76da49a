/** Questions and answers: given by the model, or by the person behind the client (M4, M5, M13 of docs/spec/mcp.md). */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAnswer } from '../../src/engine/validate/read-answer.ts';
import { until } from '../support/awaited.ts';
import { builtMain } from '../support/built-package.ts';
import {
  createWorkspace,
  serveHere,
  type Connection,
  type Content,
  type Filled,
  type Form,
  type Listening,
} from './mcp-kit.ts';

const several = `
name: several
blocks:
  - { id: color, type: AskChoice, inputs: { question: "Which color?", choices: [red, green] } }
  - { id: size, type: GetInput, inputs: { prompt: "How large?", validation_pattern: "^[0-9]+$" } }
outputs:
  color: "\${color.choice}"
  size: "\${size.input_value}"
`;

const steps = `
name: steps
blocks:
  - { id: name, type: GetInput, inputs: { prompt: "Name?", validation_pattern: "^[a-z]+$" } }
  - id: sure
    type: ConfirmOperation
    depends_on: [name]
    inputs: { message: "Create \${name.input_value}?", operation: create }
outputs:
  name: "\${name.input_value}"
  sure: "\${sure.confirmed}"
`;

const plain = `
name: plain
blocks:
  - { id: one, type: EchoBlock, inputs: { message: hi } }
outputs: { said: "\${one.echoed}" }
`;

const doubtful = `
name: doubtful
blocks:
  - { id: breaks, type: Shell, inputs: { command: exit 3 } }
  - { id: later, type: EchoBlock, depends_on: [breaks], inputs: { message: "\${breaks.stdout}" } }
outputs: { said: "\${later.echoed}" }
`;

const workspace = createWorkspace({ several, steps, plain, doubtful });
let server: Listening;
let model: Connection;

beforeAll(async () => {
  server = await serveHere(workspace);
  model = await server.connect();
});
afterAll(() => workspace.remove());

/** Who answered, question by question, as the history has it. */
async function answerers(run: unknown, connection: Connection = model): Promise<Readonly<Record<string, unknown>>> {
  const { checkpoint_id: id } = await connection.call('get_run', { run_id: run });
  const head = Number(String(id).split('.').at(-1));
  const by: Record<string, unknown> = {};
  for (let seq = 0; seq <= head; seq++) {
    const uri = `cairn://runs/${String(run)}/checkpoints/${seq}`;
    const [content] = (await connection.client.readResource({ uri })).contents as readonly { readonly text: string }[];
    const { change } = JSON.parse(content!.text) as { change: { kind: string; node?: string[]; by?: string }[] };
    for (const { kind, node = [kind], by: who } of change)
      if (kind === 'answer' || kind === 'fork') by[node.join('/')] = who;
  }
  return by;
}

type Question = Readonly<Record<string, unknown>>;

async function ask(workflow: string, connection: Connection = model) {
  const paused = await connection.call('execute_workflow', { workflow });
  expect(paused).toMatchObject({ status: 'paused' });
  const questions = paused['questions'] as readonly Question[];
  const waitOf = (block: string): string => questions.find((each) => each['block'] === block)?.['wait'] as string;
  return { paused, id: paused['checkpoint_id'], run: paused['run_id'], questions, waitOf };
}

describe('a model answers', () => {
  test('M4 all open questions are told, the first also as prompt', async () => {
    const { paused, questions } = await ask('several');
    expect(questions.map(({ block }) => block)).toEqual(['color', 'size']);
    expect(questions[0]).toMatchObject({ choices: ['red', 'green'], kind: 'question' });
    expect(questions[1]).toMatchObject({ prompt: 'How large?', schema: { pattern: expect.any(String) as string } });
    expect(paused['prompt']).toBe(questions[0]?.['prompt']);
  });

  test('M5 several answers at once, by wait or by block', async () => {
    const { id, waitOf } = await ask('several');
    const answers = { [waitOf('color')]: '2', size: '12' };
    expect(await model.call('resume_workflow', { checkpoint_id: id, answers })).toMatchObject({
      status: 'success',
      outputs: { color: 'green', size: '12' },
    });
  });

  test('M5 llm_response answers the prompt that was shown; the others stay open', async () => {
    const { id, run } = await ask('several');
    const next = await model.call('resume_workflow', { checkpoint_id: id, llm_response: 'red' });
    expect(next).toMatchObject({
      status: 'paused',
      message: 'Workflow paused again - use resume_workflow to continue',
      prompt: 'How large?',
      questions: [{ block: 'size' }],
    });
    expect(await model.call('resume_workflow', { checkpoint_id: run, llm_response: '7' })).toMatchObject({
      status: 'success',
      outputs: { color: 'red', size: '7' },
    });
  });

  test('M13.4 what resume_workflow is given is recorded as given by a model, however the question is named', async () => {
    const { id, run, waitOf } = await ask('several');
    await model.call('resume_workflow', { checkpoint_id: id, answers: { [waitOf('size')]: '12' } });
    await model.call('resume_workflow', { checkpoint_id: run, llm_response: 'red' });
    expect(await answerers(run)).toEqual({ color: 'model', size: 'model' });
    const second = await ask('several');
    const answers = { color: 'red', size: '12' };
    await model.call('resume_workflow', { checkpoint_id: second.id, answers });
    expect(await answerers(second.run)).toEqual({ color: 'model', size: 'model' });
    // Who was first is told to whoever comes later.
    const late = await model.call('resume_workflow', {
      checkpoint_id: second.id,
      answers: { [second.waitOf('color')]: 'green' },
    });
    expect(late['error']).toMatch(/was closed already by model with red/);
  });

  test('M13.4 what a fork is answered with is recorded as given by a model', async () => {
    const { run } = await ask('several');
    const forked = await model.call('fork_checkpoint', { checkpoint_id: run, answer: { color: 'red' } });
    expect(forked).toMatchObject({ status: 'paused', questions: [{ block: 'size' }] });
    expect(await answerers(forked['run_id'])).toEqual({ fork: 'model', color: 'model' });
  });

  test('M5 an answer that does not fit is refused with the reason, and the question stays open', async () => {
    const { id, run } = await ask('steps');
    const refused = await model.call('resume_workflow', { checkpoint_id: id, llm_response: 'NO' });
    expect(refused).toMatchObject({ status: 'paused', prompt: 'Name?', questions: [{ block: 'name' }] });
    expect(refused['message']).toMatch(/^The answer to name was refused: the answer does not fit.*\^\[a-z\]/s);
    expect(refused.isError).toBeUndefined();
    const next = await model.call('resume_workflow', { checkpoint_id: id, llm_response: 'cairn' });
    expect(next).toMatchObject({ status: 'paused', questions: [{ block: 'sure' }] });
    expect(await model.call('resume_workflow', { checkpoint_id: run, llm_response: 'yes' })).toMatchObject({
      status: 'success',
      outputs: { name: 'cairn', sure: true },
    });
  });

  test('M5 of several answers all are taken or none, and those that do not fit are named', async () => {
    const { id } = await ask('several');
    const answers = { color: 'red', size: 'large' };
    const next = await model.call('resume_workflow', { checkpoint_id: id, answers });
    expect(next).toMatchObject({ status: 'paused', questions: [{ block: 'color' }, { block: 'size' }] });
    expect(next['message']).toMatch(/^The answers were refused: .*size: .*none of the 2 was taken/s);
  });

  test('M5 an answer that comes twice does not reach the next question', async () => {
    const { id, run } = await ask('steps');
    await model.call('resume_workflow', { checkpoint_id: id, llm_response: 'cairn' });
    // The same again is acknowledged: it leads to the question that is open now. Another is refused with the first.
    expect(await model.call('resume_workflow', { checkpoint_id: id, llm_response: 'cairn' })).toMatchObject({
      status: 'paused',
      questions: [{ block: 'sure' }],
    });
    expect(await model.call('resume_workflow', { checkpoint_id: id, llm_response: 'other' })).toMatchObject({
      isError: true,
      code: 'WAIT_CLOSED',
      error: expect.stringContaining('cairn') as string,
    });
    expect(await model.call('get_run', { run_id: run })).toMatchObject({
      status: 'paused',
      waits: [{ block: 'sure' }],
    });
  });

  test('M5 W2 several answers that come again after the end are acknowledged by name, other ones are refused', async () => {
    const { id, run } = await ask('several');
    const answers = { color: 'red', size: '5' };
    await model.call('resume_workflow', { checkpoint_id: id, answers });
    expect(await model.call('resume_workflow', { checkpoint_id: run, answers })).toMatchObject({
      status: 'success',
      outputs: answers,
    });
    const other = { checkpoint_id: run, answers: { ...answers, size: '6' } };
    expect(await model.call('resume_workflow', other)).toMatchObject({ isError: true, code: 'WAIT_CLOSED' });
  });

  test('M5 two answers at once, and answers to nothing, are refused whole', async () => {
    const { id, run, waitOf } = await ask('several');
    const both = { checkpoint_id: id, llm_response: 'red', answers: { color: 'red' } };
    expect(await model.call('resume_workflow', both)).toMatchObject({ isError: true, code: 'USAGE_INVALID' });
    const mistyped = { checkpoint_id: id, answers: { [waitOf('color')]: 'red', shape: 'round' } };
    expect(await model.call('resume_workflow', mistyped)).toMatchObject({ isError: true, code: 'WAIT_NOT_FOUND' });
    expect(await model.call('get_run', { run_id: run })).toMatchObject({
      status: 'paused',
      waits: [{ block: 'color' }, { block: 'size' }],
    });
    const { run_id: done } = await model.call('execute_workflow', { workflow: 'plain' });
    expect(await model.call('resume_workflow', { checkpoint_id: done, llm_response: 'yes' })).toMatchObject({
      isError: true,
      code: 'WAIT_NOT_FOUND',
    });
  });

  test('M6 the inbox holds the questions of all runs', async () => {
    const { run, waitOf } = await ask('several');
    const { waits } = await model.call('list_questions', { run_id: run });
    expect(waits).toMatchObject([
      { run_id: run, graph_id: 'several', wait: waitOf('color'), block: 'color' },
      { run_id: run, graph_id: 'several', wait: waitOf('size'), block: 'size' },
    ]);
    expect(((await model.call('list_questions', { limit: 1 }))['waits'] as readonly unknown[]).length).toBe(1);
  });
});

/** A person who fills in the forms by their messages, and keeps them. */
function person(said: Readonly<Record<string, Filled | readonly Filled[]>>) {
  const forms: Form[] = [];
  const turns = new Map(Object.entries(said).map(([start, filled]) => [start, [filled].flat()]));
  const answer = (form: Form): Filled => {
    forms.push(form);
    const key = [...turns.keys()].find((start) => form.message.includes(start)) ?? '';
    return turns.get(key)?.shift() ?? { action: 'cancel' };
  };
  return { forms, answer };
}

const accept = (value: string | boolean): Filled => ({ action: 'accept', content: { answer: value } });

describe.each([{ era: 'legacy' as const }, { era: 'modern' as const }])(
  'a person answers in the client ($era)',
  ({ era }) => {
    test('M13 each question is a form: choices, yes or no, texts with their pattern', async () => {
      const { forms, answer } = person({
        'Which color?': accept('green'),
        'How large?': accept('12'),
        'Name?': accept('cairn'),
        'Create cairn?': accept('yes'),
      });
      const connection = await server.connect({ era, answer });
      expect(await connection.call('execute_workflow', { workflow: 'several' })).toMatchObject({
        status: 'success',
        outputs: { color: 'green', size: '12' },
      });
      expect(await connection.call('execute_workflow', { workflow: 'steps' })).toMatchObject({
        status: 'success',
        outputs: { name: 'cairn', sure: true },
      });
      const fields = forms.map(({ requestedSchema }) => requestedSchema.properties['answer']);
      expect(fields).toEqual(
        expect.arrayContaining([
          { type: 'string', title: 'Answer', enum: ['red', 'green'] },
          expect.objectContaining({ type: 'string', description: expect.stringContaining('[0-9]+') as string }),
          { type: 'string', title: 'Answer', enum: ['yes', 'no'] },
        ]),
      );
    });

    test('M13.4 what is filled into a form is recorded as given by a person, beside what the model gave', async () => {
      const { id, run } = await ask('several');
      const { answer } = person({ 'How large?': accept('12') });
      const connection = await server.connect({ era, answer });
      const done = await connection.call('resume_workflow', { checkpoint_id: id, llm_response: 'red' });
      expect(done).toMatchObject({ status: 'success', outputs: { color: 'red', size: '12' } });
      expect(await answerers(run)).toEqual({ color: 'model', size: 'person' });
    });

    test('M13 an answer that does not fit is asked for again, with the reason', async () => {
      const { forms, answer } = person({ 'Name?': [accept('NO'), accept('cairn')], 'Create cairn?': accept('no') });
      const connection = await server.connect({ era, answer });
      expect(await connection.call('execute_workflow', { workflow: 'steps' })).toMatchObject({
        status: 'success',
        outputs: { name: 'cairn', sure: false },
      });
      expect(forms[1]?.message).toMatch(/^the answer does not fit.*\n\nName\?$/s);
    });

    test('M13.2 an answer that does not fit twice leaves the run paused, with the reason', async () => {
      const { forms, answer } = person({ 'Name?': Array.from({ length: 20 }, () => accept('NO')) });
      const connection = await server.connect({ era, answer });
      const { paused } = await ask('steps', connection);
      expect(paused).toMatchObject({ prompt: 'Name?', questions: [{ block: 'name' }] });
      expect(paused['message']).toMatch(/^The answer to name was refused: the answer does not fit/);
      expect(forms.length).toBe(2);
    });

    test('M13.1 whether an effect happened is a choice of decisions with labels, and a field for what it gave', async () => {
      const said = (content: Filled['content'] & object): Filled => ({ action: 'accept', content });
      const { forms, answer } = person({
        'Did it happen?': [
          said({ answer: 'happened', output: '{"stdout":"paid"}' }),
          said({ answer: 'fail' }),
          said({ answer: 'fail' }),
        ],
      });
      const connection = await server.connect({ era, answer });
      const begin = async (run: string): Promise<Content> => {
        await connection.call('execute_workflow', { workflow: 'doubtful', run_id: run });
        return connection.call('resume_workflow', { checkpoint_id: run });
      };
      expect(await begin(`${era}-1`)).toMatchObject({ status: 'success', outputs: { said: 'Echo: paid' } });
      expect(await begin(`${era}-2`)).toMatchObject({ status: 'failure' });
      expect(forms[0]?.requestedSchema.properties).toMatchObject({
        answer: { enum: ['happened', 'run again', 'fail'], enumNames: ['it happened', 'run it again', 'let it fail'] },
        output: { type: 'string', description: expect.stringMatching(/recorded as empty/) as string },
      });
    });

    test('M13 a person who declines leaves the run paused, and is asked each question once', async () => {
      const { forms, answer } = person({ 'Which color?': accept('red'), 'How large?': { action: 'decline' } });
      const connection = await server.connect({ era, answer });
      const { paused } = await ask('several', connection);
      expect(paused).toMatchObject({ prompt: 'How large?', questions: [{ block: 'size' }] });
      expect(forms.length).toBe(2);
      // A later call may ask again.
      const done = await model.call('resume_workflow', { checkpoint_id: paused['checkpoint_id'], llm_response: '3' });
      expect(done).toMatchObject({ status: 'success', outputs: { color: 'red', size: '3' } });
    });

    test('M13 resume_workflow without an answer asks the person', async () => {
      const { id } = await ask('steps');
      const { answer } = person({ 'Name?': accept('cairn'), 'Create cairn?': accept('yes') });
      const connection = await server.connect({ era, answer });
      expect(await connection.call('resume_workflow', { checkpoint_id: id })).toMatchObject({
        status: 'success',
        outputs: { name: 'cairn', sure: true },
      });
    });

    test('M13 a client that fails to show the form gets the paused answer', async () => {
      const answer = (): Filled => {
        throw new Error('no window');
      };
      const connection = await server.connect({ era, answer });
      if (era === 'legacy') {
        await ask('steps', connection);
        return;
      }
      // Here the client itself gives up; the run is paused all the same.
      await expect(connection.call('execute_workflow', { workflow: 'steps', run_id: 'not-shown' })).rejects.toThrow(
        'no window',
      );
      expect(await model.call('get_run', { run_id: 'not-shown' })).toMatchObject({ status: 'paused' });
    });
  },
);

test('M13 nobody is asked where the server is told not to, or the client does not declare it', async () => {
  const { forms, answer } = person({});
  const quiet = await (await serveHere(workspace, { canAskClient: false })).connect({ answer });
  await ask('steps', quiet);
  await ask('steps');
  expect(forms).toEqual([]);
});

test('W3 a text means the same at every door, and a fork reads it as an answer', async () => {
  const asking = join(workspace.folder, 'asking.ts');
  const library = new URL('../../src/index.ts', import.meta.url).href;
  writeFileSync(
    asking,
    `import { AgentGraph, END, humanNode, START } from '${library}';
export const graph = new AgentGraph({}, { id: 'asking' })
  .addNode('any', humanNode({ prompt: 'Any?' }))
  .addNode('of', humanNode({ prompt: 'Of?', choices: [{ value: 1, label: 'one' }, { value: 2, label: 'two' }] }))
  .addEdge(START, 'any').addEdge('any', 'of').addEdge('of', END).compile();
`,
  );
  // A store that is typed might be somebody else's, and its modules are not run then.
  const env = { ...process.env, CAIRN_STORE: join(workspace.folder, 'runs.db') };
  const cairn = async (...args: readonly string[]): Promise<unknown> => {
    const options = { cwd: workspace.folder, env };
    const { stdout } = await promisify(execFile)('node', [builtMain, ...args, '--json'], options);
    return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
  };
  const outputsOf = async (run: string): Promise<unknown> =>
    ((await cairn('resume', run)) as { state: { outputs: object } }).state.outputs;
  for (const [index, text] of ['42', '1.0'].entries()) {
    const run = `asking-${index}`;
    await cairn('run', asking, '--run-id', run);
    const forked = { checkpoint_id: run };
    // Given in a fork, at the command line and over MCP; then to the run itself, by either.
    await cairn('fork', run, '--answer', `any=${text}`, '--run', '--run-id', `${run}-cli`);
    await model.call('fork_checkpoint', { ...forked, answer: { any: text }, run_id: `${run}-mcp` });
    await cairn('answer', run, 'any', text, '--resume');
    await model.call('resume_workflow', { checkpoint_id: run, llm_response: 'two' });
    await model.call('resume_workflow', { checkpoint_id: `${run}-mcp`, answers: { of: 'two' } });
    await cairn('answer', `${run}-cli`, 'of=two', '--resume');
    const outputs = await outputsOf(run);
    expect(outputs).toEqual({ any: readAnswer({}, text), of: 2 });
    expect([text, await outputsOf(`${run}-cli`), await outputsOf(`${run}-mcp`)]).toEqual([text, outputs, outputs]);
  }
}, 120_000);

test('M8 W4.1 a question reaches the client at once though it has a deadline, and the server meets that', async () => {
  const server = await serveHere(workspace, { allow: ['inline'] });
  const { call } = await server.connect();
  const pipeline = `digraph gated_by_time {
    start [shape=Mdiamond]
    exit [shape=Msquare]
    gate [shape=hexagon, label="Ship it?", timeout="1s", human.default_choice=exit]
    start -> gate -> exit
  }`;
  const paused = await call('execute_inline_workflow', { workflow_yaml: pipeline });
  expect(paused).toMatchObject({ status: 'paused', prompt: 'Ship it?' });
  await until(
    'the deadline',
    async () => (await call('get_run', { run_id: paused['run_id'] }))['status'] === 'completed',
    50,
  );
});
