/** What bad input gets: all that is wrong with a file at once, each with its place; and runs that meet what cannot be taken. */
import { expect, test } from 'vitest';
import { checkDot, readDot, type StageHandler } from '../../src/dialects/dot/index.ts';
import { createScriptedModels } from '../../src/models/scripted.ts';
import type { TextWorkflow } from '../../src/dialects/text-workflow.ts';
import type { RunResult } from '../../src/engine/api.ts';
import { box, digraph, dotOptions, lintOf, runDot, scripted, type RanDot } from '../dot-kit.ts';

test('DOT1 syntax errors are told with line, column, the source line and a caret, all of a file at once', () => {
  const { violations, workflow } = checkDot('digraph p {\n  a -- b\n  c:port -> d\n  e [k=<b>]\n}', dotOptions());
  expect(workflow).toBeUndefined();
  expect(violations.map(({ place, message }) => `${place}\n${message}`).join('\n')).toBe(`p.dot:2:5
an edge without a direction
  2 |   a -- b
          ^
p.dot:3:3
c:port: ports are not part of the language
  3 |   c:port -> d
        ^
p.dot:4:8
HTML values are not part of the language
  4 |   e [k=<b>]
             ^`);
});

test('DOT1 two starts, no exit, unknown shapes, conditions and stylesheets that do not parse, missing targets: all at once', () => {
  const text = `digraph p {
  graph [model_stylesheet="box { llm_model }"]
  s1 [shape=Mdiamond]
  s2 [shape=Mdiamond]
  a [shape=cloud, prompt=x, retry_target=gone]
  s1 -> a
  s2 -> a
  a -> b [condition="outcome=success or so"]
}`;
  expect(lintOf(text)).toEqual([
    'error terminal_node 1:1',
    'error stylesheet_syntax 2:27',
    'error start_node 4:3',
    'error reachability 4:3',
    'warning shape_known 5:12',
    'warning retry_target_exists 5:42',
    'warning undeclared_stage 8:8',
    'warning prompt_on_llm_nodes 8:8',
    'error condition_syntax 8:21',
  ]);
});

test('DOT1 a thousand warnings and more hide no error, no refusal and no fault of a child, and are counted', () => {
  const odd = Array.from({ length: 1_200 }, (_, index) => `x${index}=1`).join(', ');
  const pipeline = (body: string): string => digraph(`first [prompt=x, ${odd}]\nstart -> first -> a -> exit\n${body}`);
  expect(lintOf(pipeline('a [prompt=x]\nagain [shape=Mdiamond]')).filter((line) => line.startsWith('error'))).toEqual(
    expect.arrayContaining([expect.stringContaining('start_node')]),
  );
  expect(() => readDot(pipeline('a [shape=parallelogram, tool_command=ls]'), dotOptions({ origin: 'inline' }))).toThrow(
    expect.objectContaining({ code: 'PERMISSION_DENIED' }),
  );
  expect(() => readDot(pipeline('a [shape=house, stack.child_dotfile="gone.dot"]'), dotOptions())).toThrow(
    expect.objectContaining({ code: 'GRAPH_INVALID' }),
  );
  const { violations, workflow } = checkDot(pipeline('a [prompt=x]'), dotOptions());
  expect(workflow).toBeDefined();
  expect(violations).toHaveLength(1_001);
  expect(violations.at(-1)).toMatchObject({
    severity: 'warning',
    message: 'and 200 warnings more, which are not listed',
  });
});

test('DOT1 a name as long as the file is not told whole', () => {
  const long = 'x'.repeat(100_000);
  const { violations } = checkDot(
    digraph(`a [${long}=1, retry_target=${long}y]\nstart -> a -> ${long} -> exit`),
    dotOptions(),
  );
  expect(violations.length).toBeGreaterThan(2);
  for (const { message, fix } of violations) expect(Math.max(message.length, fix.length)).toBeLessThan(1_000);
  expect(violations.map(({ message }) => message).join('\n')).toMatch(
    /retry_target of a names x+…x+y, which there is not/u,
  );
});

test('V4 what a rule keeps out of the store is read by no pipeline: as a parameter, or in a condition', () => {
  const text = digraph(
    'graph [params="pin, name"]\na [prompt="$pin"]\nstart -> a\na -> exit [condition="context.card.number=1"]',
  );
  const store = (...rules: readonly string[]): readonly string[] =>
    lintOf(text, { redact: { store: rules } }).filter((line) => line.includes('unstored_value'));
  expect(store('pin')).toEqual(['error unstored_value 5:15']);
  expect(store('inputs.pin')).toEqual(['error unstored_value 5:15']);
  expect(store('card.number', 'scratch.card.number', 'other')).toEqual([]);
  expect(lintOf(text.replaceAll('card.number', 'card'), { redact: { store: ['card'] } })).toContain(
    'error unstored_value 8:22',
  );
});

test('DOT1 every finding names a fix, and none has a fault in its own text', () => {
  const text = 'digraph p {\n  a [shape=cloud, retry_target=gone, x=1]\n  a -> b [condition="a or b"]\n b -- c\n';
  const { violations } = checkDot(text, dotOptions());
  for (const { fix, message } of violations) {
    expect(fix).toMatch(/\S/u);
    expect(`${message} ${fix}`).not.toMatch(/undefined|\[object|NaN/u);
  }
  expect(violations.length).toBeGreaterThan(1);
});

test.each([
  ['{"outcome": "great"}', 'its outcome is "great", which is none of success, partial_success, retry, fail, skipped'],
  ['{"outcome": 3}', 'its outcome is 3, which is none of'],
  ['{"outcome": "success", "suggested_next_ids": "b"}', 'suggested_next_ids must be a list of texts'],
  ['{"outcome": "success", "context_updates": []}', 'context_updates must be a mapping'],
])('DOT6 a malformed report %s fails the stage, which says why', async (answer, reason) => {
  const models = createScriptedModels(() => answer);
  const { result } = await runDot(digraph(`start -> a -> exit\n${box('a')}`), { asksModels: true, engine: { models } });
  expect([result.status, result.error?.message]).toEqual(['failed', expect.stringContaining(reason)]);
});

test.each(['great', '', undefined, 'SUCCESS'])(
  'DOT9 a handler that returns the outcome %j, which there is not, fails its stage by name',
  async (status) => {
    const own: StageHandler = { effect: 'read', run: () => ({ status }) as never };
    const text = digraph(
      `start -> a\na -> b [condition="outcome=fail"]\na -> exit\nb -> exit\na [type=own]\n${box('b')}`,
    );
    const { history, output } = await runDot(text, { handlers: { own } });
    expect(history).toEqual(['start', 'a: fail', 'b']);
    expect(JSON.stringify(output)).toContain('is none of success, partial_success, retry, fail, skipped');
  },
);

test.each([
  [null, 'its handler returned null, which is no outcome'],
  ['success', 'its handler returned "success", which is no outcome'],
  [undefined, 'its handler returned undefined'],
])('DOT9 a handler that returns %j in place of an outcome fails its stage', async (returned, reason) => {
  const own: StageHandler = { run: () => returned as never };
  const { result } = await runDot(digraph('start -> a -> exit\na [type=own]'), { handlers: { own } });
  expect([result.status, result.error?.message]).toEqual(['failed', expect.stringContaining(reason)]);
});

const asking = digraph(
  `start -> gate\ngate [shape=hexagon]\ngate -> a [label=Yes]\ngate -> exit [label=No]\na -> exit\n${box('a')}`,
);

test('H3 a pipeline that was edited under a paused run is refused where the stage that is waited at is another', async () => {
  const { engine, result } = await runDot(asking);
  const { graph } = readDot(asking.replace('gate [shape=hexagon]', 'gate [prompt=x]'), dotOptions());
  await expect(engine.resume(result.runId, { graph })).rejects.toMatchObject({
    code: 'RUN_GRAPH_CHANGED',
    message: expect.stringContaining('gate') as unknown,
  });
});

test.each([
  ['label="[Y] Yes"', 'label=Sure', 'Sure'],
  ['shape=hexagon', 'shape=hexagon, human.type=yes_no', 'yes'],
])(
  'DOT7 W1.4 where the edited pipeline asks otherwise than was answered (%s is now %s), the answer is not used, and what is offered is asked',
  async (before, after, answer) => {
    const text = asking.replace('label=Yes', 'label="[Y] Yes"');
    const { engine, result } = await runDot(text);
    const stages = scripted();
    const { graph } = readDot(text.replace(before, after), dotOptions({ handlers: { codergen: stages.handler } }));
    await engine.answer(result.runId, result.waits[0]?.waitId ?? '', '[Y] Yes');
    const asked = await (await engine.resume(result.runId, { graph })).result();
    expect([asked.status, asked.waits.map(({ replaces }) => replaces)]).toEqual(['paused', ['answered']]);
    await engine.answer(result.runId, asked.waits[0]?.waitId ?? '', answer);
    const done = await (await engine.resume(result.runId, { graph })).result();
    expect([done.status, stages.begun]).toEqual(['completed', ['a']]);
  },
);

/** A gate that was asked, and the same gate after an edit: other words, one choice taken away and one added, one that leads elsewhere. */
const asked = digraph(
  `start -> a -> gate\ngate [shape=hexagon, label="Ship it?"]\ngate -> exit [label=Yes]\ngate -> exit [label=No]\ngate -> b [label=Maybe]\nb -> exit\n${box('a', 'b')}`,
);
const edited = asked
  .replace('Ship it?', 'Ship all of it?')
  .replace('gate -> exit [label=No]', 'gate -> b [label=No]')
  .replace('label=Maybe', 'label=Later');

/** A run that waits at the gate and was resumed under the edited pipeline. */
async function editedUnderQuestion(): Promise<{
  readonly ran: RanDot;
  readonly graph: TextWorkflow['graph'];
  readonly begun: readonly string[];
  readonly goOn: (answer: string) => Promise<RunResult>;
}> {
  const ran = await runDot(asked);
  const { runId } = ran.result;
  const stages = scripted();
  const { graph } = readDot(edited, dotOptions({ handlers: { codergen: stages.handler } }));
  const resumed = await (await ran.engine.resume(runId, { graph })).result();
  expect(resumed.waits.map(({ prompt, replaces }) => [prompt, replaces])).toEqual([['Ship all of it?', 'open']]);
  const goOn = async (answer: string): Promise<RunResult> => {
    const open = (await ran.engine.inspect(runId)).waits[0]?.waitId ?? '';
    await ran.engine.answer(runId, open, answer);
    return (await ran.engine.resume(runId, { graph })).result();
  };
  return { ran, graph, begun: stages.begun, goOn };
}

test('DOT7 W1.4 an open question is asked anew in the words of an edited pipeline, and leads as it says', async () => {
  const { goOn, begun } = await editedUnderQuestion();
  const done = await goOn('No');
  expect([done.status, begun]).toEqual(['completed', ['b']]);
});

test('DOT7 W1.4 a choice that the edited pipeline offers no more is refused, and one that came with the edit is taken', async () => {
  const { goOn, begun } = await editedUnderQuestion();
  await expect(goOn('Maybe')).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  const done = await goOn('Later');
  expect([done.status, begun]).toEqual(['completed', ['b']]);
});

test('DOT7 H3 an answer to the question before an edit is refused; a fork from before it asks in the new words, and repeats nothing', async () => {
  const unedited = await runDot(asked);
  const wait = unedited.result.waits[0]?.waitId ?? '';
  await expect(unedited.engine.answer(unedited.result.runId, wait, 'Later')).rejects.toMatchObject({
    hint: 'The question stays open: answer it again.',
  });
  const { ran, graph, begun } = await editedUnderQuestion();
  const { runId, waits } = ran.result;
  await expect(ran.engine.answer(runId, waits[0]?.waitId ?? '', 'Yes')).rejects.toMatchObject({
    code: 'WAIT_NOT_FOUND',
  });
  const rows = await ran.bench.store.readCheckpoints({ tenant: 'default', runId }, { from: 0, to: 99 });
  const seq = rows.findIndex(({ body }) => new TextDecoder().decode(body).includes('"kind":"wait"')) - 1;
  const fork = await ran.engine.fork({ runId, seq }, { graph });
  const forked = await (await ran.engine.resume(fork.runId, { graph })).result();
  expect([forked.waits.map(({ prompt }) => prompt), begun]).toEqual([['Ship all of it?'], []]);
});

test('H3 an edit behind what a paused run waits for is taken up when that pipeline is given', async () => {
  const text = digraph(`start -> gate\ngate [shape=hexagon]\ngate -> a\na -> exit\n${box('a')}`);
  const { engine, result, begun } = await runDot(text);
  const stages: string[] = [];
  const own: StageHandler = {
    effect: 'read',
    run: ({ parts: { stage } }) => {
      stages.push(stage.id);
      return { status: 'success' };
    },
  };
  const longer = readDot(
    text.replace('a -> exit', 'a -> b -> exit\nb [type=own]'),
    dotOptions({ handlers: { own, codergen: own } }),
  );
  await engine.answer(result.runId, result.waits[0]?.waitId ?? '', 'a');
  const resumed = await (await engine.resume(result.runId, { graph: longer.graph })).result();
  expect([resumed.status, stages, begun]).toEqual(['completed', ['a', 'b'], []]);
});
