/** What stages do: models, commands, questions; by the numbers of the specification's definition of done. */
import { expect, test } from 'vitest';
import { box, digraph, dotOptions, runDot, scripted, seen } from '../../../../test/dot-kit.ts';
import { killedInEffect } from '../../../../test/dying-engine.ts';
import { afterCrash, resumeToRest } from '../../../../test/engine-kit.ts';
import type { RunResult } from '../../../engine/api.ts';
import { createScriptedModels, type ScriptedModels } from '../../../models/scripted.ts';
import { readDot, type StageHandler } from '../index.ts';

function promptOf({ requests }: ScriptedModels, index: number): string {
  const content = requests[index]?.messages[0]?.content;
  return typeof content === 'string' ? content : JSON.stringify(content);
}

test('11.12.19 11.6.3 $goal and parameters are expanded as whole words in prompts, others stay', async () => {
  const models = createScriptedModels(() => 'done');
  const text = digraph(
    'start -> a -> exit\na [prompt="do $goal for $who, $goals, ${goal} and $HOME", llm_model="m-1", llm_provider=acme, reasoning_effort=low]',
    'graph [goal="the thing", params="who"]',
  );
  const { result, context } = await runDot(text, { asksModels: true, input: { who: 'me' }, engine: { models } });
  expect(result.status).toBe('completed');
  const [request] = models.requests;
  expect(request?.model).toBe('acme:m-1');
  expect(request?.reasoning).toBe('low');
  expect(JSON.stringify(request?.messages)).toContain('do the thing for me, $goals, ${goal} and $HOME');
  expect(context).toMatchObject({ last_stage: 'a', last_response: 'done' });
});

test('11.6.3 the answer of a model is kept whole in the output, its head in the context, and the next prompt is told', async () => {
  const models = createScriptedModels(({ messages }, index) =>
    index === 0 ? 'x'.repeat(5_000) : JSON.stringify(messages),
  );
  const text = digraph('start -> a -> b -> exit\na [prompt=one]\nb [prompt=two]', 'graph [goal=ship]');
  const { result, context } = await runDot(text, { asksModels: true, engine: { models } });
  expect(result.state.outputs['a']).toMatchObject({ outcome: 'success', response: 'x'.repeat(5_000) });
  expect(String(context['last_response'])).toHaveLength(200);
  const prompt = promptOf(models, 1);
  expect(prompt).toContain('Goal:\nship');
  expect(prompt).toContain('- a: success');
  expect(prompt).toContain(`Answer of a:\n${'x'.repeat(2_000)} […3000 more characters]`);
});

test('DOT6 a report is found behind a megabyte of white space in the answer, in time in proportion to it', async () => {
  const report = '{"outcome": "fail", "failure_reason": "no stones"}';
  const text = digraph(
    'start -> a\na -> exit [condition="outcome=success"]\na -> b [condition="outcome=fail"]\nb -> exit\na [prompt=one]\nb [shape=parallelogram, tool_command="echo b"]',
  );
  for (const answer of [`I look.${' \n'.repeat(500_000)}${report}`, `I look.\n\`\`\`json\n${report} \n\`\`\`\n`]) {
    const models = createScriptedModels(() => answer);
    const { history, result } = await runDot(text, { asksModels: true, engine: { models } });
    expect([result.status, history]).toEqual(['completed', ['start', 'a: fail', 'b']]);
  }
});

test('DOT6 6.1.14 the fidelity of the edge wins over the stage’s, and that over the graph’s', async () => {
  const prompts = async (edge: string, stage: string, graph: string): Promise<string> => {
    const models = createScriptedModels((_, index) => (index === 0 ? 'first answer' : 'ok'));
    const text = digraph(
      `start -> a -> b${edge}\nb -> exit\na [prompt=one]\nb [prompt=two${stage}]`,
      `graph [goal=g${graph}]`,
    );
    await runDot(text, { asksModels: true, engine: { models } });
    return promptOf(models, 1);
  };
  expect(await prompts('', '', '')).toContain('first answer');
  const truncated = await prompts('', '', ', default_fidelity=truncate');
  expect(truncated.startsWith('Goal:\ng\n\ntwo'), 'DOT29 the goal alone is told').toBe(true);
  expect(truncated).not.toContain('first answer');
  expect(await prompts('', ', fidelity=compact', ', default_fidelity=truncate')).toContain('first answer');
  expect(await prompts(' [fidelity=truncate]', ', fidelity=compact', '')).not.toContain('first answer');
});

test.each([
  ['all is well\n{"outcome": "success"}', 'success', ''],
  ['```json\n{"outcome": "partial_success", "notes": "nearly"}\n```', 'partial_success', ''],
  ['{"outcome": "fail", "failure_reason": "no tests"}', 'fail', 'no tests'],
  ['looks good to me', 'fail', 'the goal gate gave no verdict'],
  ['{"outcome": "has_dod"}', 'fail', 'its outcome is "has_dod", which is none of'],
  ['{"outcome": "success", "context_updates": {"graph.goal": "x"}}', 'fail', 'it may not write graph.goal'],
  ['{"outcome": "success", "preferred_label": 3}', 'fail', 'preferred_label must be a text'],
])('6.2.17 6.2.18 a goal gate takes its verdict from the answer %j: %s', async (answer, status, reason) => {
  const models = createScriptedModels(() => answer);
  const text = digraph('start -> a\na -> exit [condition="outcome=fail"]\na -> exit\na [prompt=judge, goal_gate=true]');
  const { result } = await runDot(text, { asksModels: true, engine: { models } });
  const output = result.state.outputs['a'] as { readonly outcome: string; readonly failure_reason?: string };
  expect(output.outcome).toBe(status);
  expect(output.failure_reason ?? '').toContain(reason);
  expect(result.status).toBe(status === 'fail' ? 'failed' : 'completed');
  expect(JSON.stringify(models.requests[0]?.messages)).toContain('End your answer with one JSON object');
});

test('11.6.8 a tool stage runs its command: output, exit code and last line are in the context', async () => {
  const text = digraph('start -> a -> exit\na [shape=parallelogram, tool_command="echo one; echo two"]');
  const { context, result } = await runDot(text);
  expect(result.status).toBe('completed');
  expect(context).toMatchObject({ 'tool.output': 'one\ntwo\n', 'tool.exit_code': 0, 'tool.last_line': 'two' });
});

test('11.6.8 a command that fails gives its stage’s failure, with what it said, and chooses the edge', async () => {
  const text = digraph(
    'start -> a\na -> b [condition="outcome=fail && context.tool.exit_code=3"]\na -> exit\nb -> exit\nb [prompt=x]\na [shape=parallelogram, tool_command="echo out; echo bad >&2; exit 3"]',
  );
  const { begun, context, output } = await runDot(text);
  expect(begun).toEqual(['b']);
  expect(context['tool.output']).toBe('out\n');
  expect(output).toMatchObject({ failures: [{ stage: 'a', reason: 'the command exited with 3: bad', led_to: 'b' }] });
});

test('DOT9 how a stage ended is told beside its status, of all but a success and a diamond, which passes on what it was given', async () => {
  const text = digraph(
    'start -> a -> d -> b -> c -> exit\na [prompt=x]\nd [shape=diamond]\nd -> b [condition="outcome=fail"]\nb [prompt=y]\nc [prompt=z]',
  );
  const { result, engine } = await runDot(text, {
    handlers: { codergen: scripted({ a: ['fail'], b: ['partial_success'] }).handler },
  });
  expect(result.status).toBe('completed');
  const told: (readonly [string | undefined, string | undefined])[] = [];
  for await (const event of engine.events(result.runId))
    if (event.type === 'checkpoint')
      for (const { kind, node, verdict } of event.change) if (kind === 'settle') told.push([node?.[0], verdict]);
  expect(told).toEqual([
    ['start', undefined],
    ['a', 'fail'],
    ['d', undefined],
    ['b', 'partial_success'],
    ['c', undefined],
    ['exit', undefined],
    ['outputs', undefined],
  ]);
});

test('DOT16 the goal and parameters reach commands as variables of their environment, and become no syntax', async () => {
  const text = digraph(
    'start -> a -> exit\na [shape=parallelogram, tool_command="x=1; printf \'%s|%s|%s\' \\"$goal\\" \\"$who\\" \\"$x\\""]',
    'graph [params=who]',
  );
  const { context } = await runDot(text, { input: { goal: '$(echo hacked); `id`"', who: "'; exit 9; '" } });
  expect(context['tool.output']).toBe("$(echo hacked); `id`\"|'; exit 9; '|1");
});

const human = digraph(
  `start -> gate\ngate [shape=hexagon, label="Ship it?"]\ngate -> a [label="[A] Approve"]\ngate -> b [label="[F] Fix"]\na -> exit\nb -> gate\n${box('a', 'b')}`,
);

test.each(['Fix', '[F] Fix', 'fix', 'f', 'F', 'b'])(
  '11.12.12 11.8.1 11.6.4 a person chooses an edge by its label, key or target: %s',
  async (answer) => {
    const ran = await runDot(human);
    expect(ran.result.status).toBe('paused');
    const [wait] = ran.result.waits;
    expect(wait).toMatchObject({
      prompt: 'Ship it?',
      choices: [
        { value: 'Approve', label: '[A] Approve' },
        { value: 'Fix', label: '[F] Fix' },
      ],
    });
    await ran.engine.answer(ran.result.runId, wait?.waitId ?? '', answer);
    const next = await resumeToRest(ran.engine, ran.result.runId, ran.workflow.graph);
    expect(seen(next).context).toMatchObject({
      'human.gate.selected': 'F',
      'human.gate.label': 'Fix',
      'human.gate.target': 'b',
    });
    expect(ran.begun).toEqual(['b']);
  },
);

test.each(['multiple_choice', 'freeform', 'yes_no', 'confirmation'])(
  'DOT7 a question (%s) says the goal and the parameters, and leaves other words with a dollar sign alone',
  async (form) => {
    const text = digraph(
      `start -> gate -> exit\ngate [shape=hexagon, human.type="${form}", label="Ship $goal to $who for $5, $whom?"]`,
      'graph [goal="version 2", params="who=everybody"]',
    );
    const { result } = await runDot(text, { input: { goal: 'all of $who' } });
    expect(result.waits[0]?.prompt).toBe('Ship all of $who to everybody for $5, $whom?');
  },
);

test('DOT16 why a command failed is told by the beginning and the end of what it said', async () => {
  const said = "echo first >&2; head -c 2000 /dev/zero | tr '\\\\0' x >&2; echo last >&2; exit 3";
  const { result } = await runDot(digraph(`start -> a -> exit\na [shape=parallelogram, tool_command="${said}"]`));
  expect(result.error?.message).toMatch(/the command exited with 3: first\nx+ \[… 1410 more characters …\] x+last$/);
});

test('DOT7 an answer that means no choice is refused, and the question stays open', async () => {
  const { engine, result } = await runDot(human);
  await expect(engine.answer(result.runId, result.waits[0]?.waitId ?? '', 'perhaps')).rejects.toMatchObject({
    code: 'ANSWER_INVALID',
  });
  expect(await engine.waits(result.runId)).toHaveLength(1);
});

test('6.2.3 6.6 a choice is not lost between the answer and the next stage, in another process', async () => {
  const { engine, bench, result } = await runDot(human);
  await engine.answer(result.runId, result.waits[0]?.waitId ?? '', 'Fix');
  const stages = scripted();
  const { graph } = readDot(human, dotOptions({ handlers: { codergen: stages.handler } }));
  await resumeToRest(afterCrash(bench), result.runId, graph);
  expect(stages.begun).toEqual(['b']);
});

test('DOT7 a question that nobody answers in time takes the default choice, or fails its stage', async () => {
  const timed = (more: string): string =>
    digraph(
      `start -> gate\ngate [shape=hexagon, timeout=5s${more}]\ngate -> a [label=Yes]\ngate -> b [label=No]\na -> exit\nb -> exit\n${box('a', 'b')}`,
    );
  expect((await runDot(timed(', human.default_choice=b'))).begun).toEqual(['b']);
  const { result } = await runDot(timed(''));
  expect(result.status).toBe('failed');
  expect(result.error?.message).toContain('nobody answered within 5 s');
});

test.each([
  ['yes_no', 'n', 'no', 'success'],
  ['yes_no', 'true', 'yes', 'success'],
  ['confirmation', 'y', 'yes', 'success'],
  ['confirmation', 'No', 'no', 'fail'],
  ['freeform', 'Yes', 'yes', 'success'],
  ['freeform', 'neither of them', 'other', 'success'],
])('11.8.2 DOT7 a %s that is answered %j goes to %s, as a %s', async (form, answer, target, outcome) => {
  const text = digraph(
    `start -> g\ng -> yes [label=Yes, weight=2]\ng -> no [label=No]\ng -> other\nyes -> exit\nno -> exit\nother -> exit
g [shape=hexagon, human.type=${form}]\n${box('yes', 'no', 'other')}`,
  );
  const { engine, workflow, result } = await runDot(text);
  await engine.answer(result.runId, result.waits[0]?.waitId ?? '', answer);
  const done = await resumeToRest(engine, result.runId, workflow.graph);
  expect(seen(done).history).toEqual(['start', outcome === 'fail' ? 'g: fail' : 'g', target]);
  expect(done.state.scratch['human.gate.text']).toBe(form === 'freeform' ? answer : undefined);
});

test('11.8.2 DOT7 an answer that is neither yes nor no is refused, and the question stays open', async () => {
  const text = digraph('start -> g -> exit\ng [shape=hexagon, human.type=yes_no]');
  const { engine, result } = await runDot(text);
  const { waitId = '' } = result.waits[0] ?? {};
  await expect(engine.answer(result.runId, waitId, 'perhaps')).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  expect((await engine.inspect(result.runId)).waits).toHaveLength(1);
});

test('DOT7 conditions decide what is offered: what was chosen is taken, although the outcome is now that of the answer', async () => {
  const text = digraph(
    `start -> a\na -> gate [condition="outcome=fail"]\na -> exit\ngate [shape=hexagon]\ngate -> b [label=Fix, condition="outcome=fail"]\ngate -> exit [label=Leave]\nb -> exit\n${box('a', 'b')}`,
  );
  const { engine, result, workflow, begun } = await runDot(text, { script: { a: ['fail'] } });
  await engine.answer(result.runId, result.waits[0]?.waitId ?? '', 'Fix');
  expect((await resumeToRest(engine, result.runId, workflow.graph)).status).toBe('completed');
  expect(begun).toEqual(['a', 'b']);
});

test.each(['yes_no', 'confirmation'])(
  'DOT7 a question of %s that nobody answered takes neither Yes nor No',
  async (form) => {
    const text = (more: string): string =>
      digraph(
        `start -> gate\ngate [shape=hexagon, human.type=${form}, timeout=5s, allow_partial=true]\ngate -> a [label="[Y] Yes"]\ngate -> b [label=no]\n${more}\na -> exit\nb -> exit\nc -> exit\n${box('a', 'b', 'c')}`,
      );
    const unanswered = await runDot(text('gate -> c'));
    expect([unanswered.result.status, unanswered.begun]).toEqual(['completed', ['c']]);
    const open = await runDot(text('b -> c'));
    expect([open.result.status, open.begun]).toEqual(['failed', []]);
  },
);

test('DOT7 a question that nobody answered takes an edge whose condition holds, and none of the choices', async () => {
  const text = (more: string): string =>
    digraph(
      `start -> gate\ngate [shape=hexagon, timeout=5s${more}]\ngate -> a [label=Yes]\ngate -> b [condition="outcome=fail"]\ngate -> c [condition="outcome=partial_success"]\na -> exit\nb -> exit\nc -> exit\n${box('a', 'b', 'c')}`,
    );
  expect((await runDot(text(''))).begun).toEqual(['b']);
  expect((await runDot(text(', allow_partial=true'))).begun).toEqual(['c']);
});

/** A pipeline whose first stage is in doubt after a crash, when a person has said how it ended. */
async function decided(answer: unknown): Promise<RunResult> {
  const { bench, graph } = await killedInEffect((effect) => {
    const codergen: StageHandler = { effect: 'external', run: () => effect() as never };
    return readDot(digraph(`start -> a -> exit\n${box('a')}`), dotOptions({ handlers: { codergen } })).graph;
  });
  const engine = afterCrash(bench);
  const { waits } = await resumeToRest(engine, 'r', graph);
  await engine.answer('r', waits[0]?.waitId ?? '', answer);
  return resumeToRest(engine, 'r', graph);
}

test('X3.5 a stage in doubt of which a person says that it happened succeeded, or ended as they say', async () => {
  expect(seen(await decided('happened')).history).toEqual(['start', 'a']);
  const told = await decided({ decision: 'happened', output: { status: 'partial_success', contextUpdates: { x: 1 } } });
  expect(seen(told).history).toEqual(['start', 'a: partial_success']);
  expect(seen(told).context).toMatchObject({ x: 1 });
});

test.each(['done', { status: 'banana' }, { status: 'fail' }])(
  'X3.9 who says that a stage gave %j is refused at once, and the question stays open',
  async (output) => {
    await expect(decided({ decision: 'happened', output })).rejects.toMatchObject({
      code: 'ANSWER_INVALID',
      message: expect.stringContaining('answer') as string,
    });
  },
);
