/** Runs of pipelines, by the numbers of the specification's definition of done. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { afterCrash, resumeToRest, runToRest } from '../../../../test/engine-kit.ts';
import { digraph, dotOptions, runDot, scripted, seen } from '../../../../test/dot-kit.ts';
import { createScriptedModels } from '../../../models/scripted.ts';
import { readDot, type StageHandler } from '../index.ts';

const box = (...ids: readonly string[]): string => ids.map((id) => `${id} [prompt="do ${id}"]`).join('\n');
const boxes = box('a', 'b', 'c');

test('11.12.7 11.3.1 11.3.6 11.3.7 a linear pipeline runs from the start to the exit, in order', async () => {
  const { result, history, output } = await runDot(digraph(`start -> a -> b -> c -> exit\n${boxes}`));
  expect(result.status).toBe('completed');
  expect(history).toEqual(['start', 'a', 'b', 'c']);
  expect(output).toEqual({ status: 'success', gates: {}, failures: [] });
});

test('11.12.22 a pipeline of twelve stages runs all of them', async () => {
  const ids = Array.from({ length: 12 }, (_, index) => `s${index}`);
  const { begun, result } = await runDot(digraph(`start -> ${ids.join(' -> ')} -> exit\n${box(...ids)}`));
  expect([result.status, begun]).toEqual(['completed', ids]);
});

test('11.12.8 11.3.5 outcomes choose between branches', async () => {
  const text = digraph(
    `start -> a\na -> b [condition="outcome=success"]\na -> c [condition="outcome=fail"]\nb -> exit\nc -> exit\n${boxes}`,
  );
  expect((await runDot(text)).begun).toEqual(['a', 'b']);
  const failed = await runDot(text, { script: { a: ['fail'] } });
  expect(failed.begun).toEqual(['a', 'c']);
  expect(failed.output).toEqual({
    status: 'partial_success',
    gates: {},
    failures: [{ stage: 'a', reason: 'a said fail', led_to: 'c' }],
  });
});

test('11.12.9 11.5.1 11.5.2 RETRY is tried again up to max_retries, and the count is of the stage', async () => {
  const text = digraph(`start -> a -> b -> exit\na [max_retries=2]\n${box('a', 'b')}`);
  expect((await runDot(text, { script: { a: ['retry', 'retry', 'success'], b: ['success'] } })).begun).toEqual([
    'a',
    'a',
    'a',
    'b',
  ]);
  const spent = await runDot(text, { script: { a: ['retry'] } });
  expect(spent.begun).toEqual(['a', 'a', 'a']);
  expect(spent.result.status).toBe('failed');
  expect(spent.result.error?.message).toContain('max retries exceeded: a said retry');
});

test('11.5.1 what a stage throws is tried again, a verdict of failure is not: an answer is no fault', async () => {
  const text = digraph(`start -> a -> exit\na [max_retries=2]\n${box('a')}`);
  expect((await runDot(text, { script: { a: [new Error('the line dropped'), 'success'] } })).begun).toEqual(['a', 'a']);
  expect((await runDot(text, { script: { a: ['fail', 'success'] } })).begun).toEqual(['a']);
});

test('11.5.3 11.5.4 delays grow by the named preset and are jittered by half', async () => {
  const delays = async (attributes: string): Promise<readonly number[]> => {
    const times: number[] = [];
    const handler: StageHandler = {
      effect: 'external',
      isIdempotent: () => true,
      run: ({ ctx }) => {
        times.push(ctx.now());
        return { status: 'retry' };
      },
    };
    await runDot(digraph(`start -> a -> exit\na [prompt=x, ${attributes}]`), { handlers: { codergen: handler } });
    return times.slice(1).map((time, index) => time - (times[index] ?? 0));
  };
  // The ids of tests draw 0.5, which is no jitter at all.
  expect(await delays('retry_policy=aggressive')).toEqual([500, 1000, 2000, 4000]);
  expect(await delays('retry_policy=linear')).toEqual([500, 500]);
  expect(await delays('retry_policy=patient')).toEqual([2000, 6000]);
  expect(await delays('max_retries=3')).toEqual([200, 400, 800]);
  expect(await delays('retry_policy=none')).toEqual([]);
});

test('11.5.5 after exhaustion the final outcome chooses the edge; allow_partial makes it a partial success', async () => {
  const text = (more: string): string =>
    digraph(
      `start -> a\na -> b [condition="outcome=fail"]\na -> c [condition="outcome=partial_success"]\nb -> exit\nc -> exit\na [max_retries=1${more}]\n${boxes}`,
    );
  expect((await runDot(text(''), { script: { a: ['retry'] } })).begun).toEqual(['a', 'a', 'b']);
  expect((await runDot(text(', allow_partial=true'), { script: { a: ['retry'] } })).begun).toEqual(['a', 'a', 'c']);
});

test('11.12.1 both spellings of the default for retries count, and a stage of its own wins over it', async () => {
  for (const name of ['default_max_retries', 'default_max_retry']) {
    const text = digraph(`start -> a -> exit\n${box('a')}`, `graph [${name}=1]`);
    expect((await runDot(text, { script: { a: ['retry'] } })).begun).toEqual(['a', 'a']);
  }
  const own = digraph(`start -> a -> exit\na [max_retries=0, prompt=x]`, 'graph [default_max_retries=1]');
  expect((await runDot(own, { script: { a: ['retry'] } })).begun).toEqual(['a']);
});

test('11.12.13 a condition that holds beats any weight', async () => {
  const text = digraph(
    `start -> a\na -> b [condition="outcome=success"]\na -> c [weight=100]\nb -> exit\nc -> exit\n${boxes}`,
  );
  expect((await runDot(text)).begun).toEqual(['a', 'b']);
});

test('11.12.14 11.12.15 among equals the weight decides, then the name byte by byte, then the order', async () => {
  const weighed = digraph(`start -> a\na -> b\na -> c [weight=1]\nb -> exit\nc -> exit\n${boxes}`);
  expect((await runDot(weighed)).begun).toEqual(['a', 'c']);
  const named = digraph(`start -> a\na -> abe\na -> Zed\nabe -> exit\nZed -> exit\n${box('a', 'abe', 'Zed')}`);
  expect((await runDot(named)).begun).toEqual(['a', 'Zed']);
});

test('11.3.5 the preferred label and suggested stages come before weights', async () => {
  const text = digraph(
    `start -> a\na -> b [label="[Y] Yes, do", weight=9]\na -> c [label="N) no"]\nb -> exit\nc -> exit\n${boxes}`,
  );
  expect((await runDot(text, { script: { a: [{ status: 'success', preferredLabel: ' NO ' }] } })).begun).toEqual([
    'a',
    'c',
  ]);
  expect((await runDot(text, { script: { a: [{ status: 'success', suggestedNextIds: ['x', 'c'] }] } })).begun).toEqual([
    'a',
    'c',
  ]);
  expect((await runDot(text, { script: { a: [{ status: 'success', preferredLabel: 'maybe' }] } })).begun).toEqual([
    'a',
    'b',
  ]);
});

test('6.2.10 a label that an earlier stage preferred is not read by a later condition', async () => {
  const text = digraph(`start -> a -> b\nb -> c [condition="preferred_label=go"]\nb -> exit\nc -> exit\n${boxes}`);
  expect((await runDot(text, { script: { a: [{ status: 'success', preferredLabel: 'go' }] } })).begun).toEqual([
    'a',
    'b',
  ]);
});

test('6.2.12 where two edges share a condition, the preferred label tells them apart', async () => {
  const text = digraph(
    `start -> a\na -> b [condition="outcome=success", label=left]\na -> c [condition="outcome=success", label=right]\nb -> exit\nc -> exit\n${boxes}`,
  );
  expect((await runDot(text, { script: { a: [{ status: 'success', preferredLabel: 'right' }] } })).begun).toEqual([
    'a',
    'c',
  ]);
});

test('11.6.5 6.2.1 a diamond passes on the outcome that it was given, failures included', async () => {
  const text = digraph(
    `start -> a -> check\ncheck [shape=diamond]\ncheck -> exit [condition="outcome=success"]\ncheck -> b [condition="outcome!=success"]\nb -> a\n${boxes.split('\n').slice(0, 2).join('\n')}`,
  );
  const { history, output } = await runDot(text, { script: { a: ['fail', 'success'] } });
  expect(history).toEqual(['start', 'a: fail', 'check: fail', 'b', 'a', 'check']);
  expect(output).toMatchObject({ status: 'partial_success', failures: [{ stage: 'a', led_to: 'check' }] });
});

test('6.2.8 a failure takes no edge that is not meant for it: the run fails with the reason of the stage', async () => {
  const { result, begun } = await runDot(digraph(`start -> a -> b -> exit\n${boxes.slice(0, boxes.indexOf('\nc'))}`), {
    script: { a: ['fail'] },
  });
  expect([result.status, begun]).toEqual(['failed', ['a']]);
  expect(result.error).toMatchObject({ code: 'NODE_FAILED', data: { node: 'a', code: 'STAGE_FAILED' } });
  expect(result.error?.message).toContain('a said fail');
});

test('6.1.3 a failure takes the else of conditions on the outcome, and an edge that the stage asked for', async () => {
  const other = digraph(`start -> a\na -> b [condition="outcome=success"]\na -> c\nb -> exit\nc -> exit\n${boxes}`);
  expect((await runDot(other, { script: { a: ['fail'] } })).begun).toEqual(['a', 'c']);
  const asked = digraph(`start -> a\na -> b\na -> c [label=fix]\nb -> exit\nc -> exit\n${boxes}`);
  expect((await runDot(asked, { script: { a: [{ status: 'fail', preferredLabel: 'fix' }] } })).begun).toEqual([
    'a',
    'c',
  ]);
});

test('6.1.4 a failing stage jumps to its retry target, then to the fallback, each so often, and then ends the run', async () => {
  const text = digraph(
    `start -> a -> b -> exit\na [prompt=x]\nb [prompt=x, retry_target=a, fallback_retry_target=c]\nc [prompt=x]\nc -> b`,
    'graph [max_retry_jumps=2]',
  );
  expect((await runDot(text, { script: { b: ['fail', 'success'] } })).begun).toEqual(['a', 'b', 'a', 'b']);
  const { begun, result } = await runDot(text, { script: { b: ['fail'] } });
  expect(begun).toEqual(['a', 'b', 'a', 'b', 'a', 'b', 'c', 'b', 'c', 'b']);
  expect(result.status).toBe('failed');
});

test('6.2.E4 an edge whose condition takes the failure comes before the retry target', async () => {
  const text = digraph(
    `start -> a -> b\nb -> c [condition="outcome!=success"]\nb -> exit [condition="outcome=success"]\nc -> exit\na [prompt=x]\nb [prompt=x, retry_target=a]\nc [prompt=x]`,
  );
  expect((await runDot(text, { script: { b: ['fail'] } })).begun).toEqual(['a', 'b', 'c']);
});

test('6.2.E6 an edge whose condition is false is never taken; a success that no edge takes fails the run', async () => {
  const text = digraph(`start -> a\na -> exit [condition="context.ready=yes"]\n${box('a')}`);
  const { result } = await runDot(text);
  expect(result.status).toBe('failed');
  expect(result.error?.message).toContain('none of its 1 edges takes a success');
});

const gated = (more = '', graph = ''): string =>
  digraph(
    `start -> plan -> build -> review -> exit\n${box('plan', 'review')}\nbuild [prompt=x, goal_gate=true${more}]`,
    graph,
  );

test('11.12.10 11.4.3 an unsatisfied goal gate leads back to its retry target', async () => {
  const text = digraph(
    `start -> build -> check\ncheck [shape=diamond]\ncheck -> exit [condition="outcome=success"]\ncheck -> exit\nbuild [prompt=x, goal_gate=true, retry_target=build]`,
  );
  const { history, output, result } = await runDot(text, { script: { build: ['fail', 'success'] } });
  expect(result.status).toBe('completed');
  expect(history).toEqual(['start', 'build: fail', 'check: fail', 'build', 'check']);
  expect(output).toMatchObject({ status: 'partial_success', gates: { build: 'success' } });
});

test('11.12.11 a satisfied goal gate lets the run end; a partial success satisfies it, and is said so', async () => {
  expect((await runDot(gated())).output).toEqual({ status: 'success', gates: { build: 'success' }, failures: [] });
  const partial = await runDot(gated(), { script: { build: ['partial_success'] } });
  expect(partial.output).toEqual({ status: 'partial_success', gates: { build: 'partial_success' }, failures: [] });
});

test('11.4.4 11.3.8 an unsatisfied goal gate without a way back fails the run, by name', async () => {
  const text = digraph(
    `start -> build\nbuild -> exit [condition="outcome=fail"]\nbuild -> exit\nbuild [prompt=x, goal_gate=true]`,
  );
  const { result } = await runDot(text, { script: { build: ['fail'] } });
  expect(result.status).toBe('failed');
  expect(result.error).toMatchObject({ data: { node: 'exit', code: 'GATE_UNSATISFIED' } });
  expect(result.error?.message).toContain('the goal gate build ended with fail: build said fail');
});

test('6.2.6 jumps of goal gates are bounded: the gate’s targets, then the graph’s, then the run fails', async () => {
  const text = digraph(
    `start -> build\nbuild -> exit [condition="outcome=fail"]\nbuild -> exit\nbuild [prompt=x, goal_gate=true, retry_target=build]\nplan [prompt=x]\nplan -> build`,
    'graph [max_retry_jumps=2, retry_target=plan]',
  );
  const { begun, result } = await runDot(text, { script: { build: ['fail'] } });
  expect(begun).toEqual(['build', 'build', 'build', 'plan', 'build', 'plan', 'build']);
  expect(result.status).toBe('failed');
});

test('6.1.13 6.2.5 a goal gate that was never visited does not block, and the result says so', async () => {
  const text = digraph(
    `start -> a\na -> build [condition="outcome=success"]\na -> exit\nbuild -> exit\na [prompt=x]\nbuild [prompt=x, goal_gate=true]`,
  );
  const { output } = await runDot(text, { script: { a: ['partial_success'] } });
  expect(output).toEqual({ status: 'partial_success', gates: { build: 'not visited' }, failures: [] });
});

test('6.2.7 a retry target that leads around the gate does not let the run end: the gate is still unsatisfied', async () => {
  const text = digraph(
    `start -> build\nbuild -> exit [condition="outcome=fail"]\nbuild -> exit\nother -> exit\nbuild [prompt=x, goal_gate=true, retry_target=other]\nother [prompt=x]`,
    'graph [max_retry_jumps=1]',
  );
  const { begun, result } = await runDot(text, { script: { build: ['fail'] } });
  expect([begun, result.status]).toEqual([['build', 'other'], 'failed']);
});

test('11.12.16 11.7.1 11.7.2 11.7.3 what a stage writes into the context is seen by the next and by conditions', async () => {
  const text = digraph(
    `start -> a\na -> b [condition="context.kind=bug && context.level!=low"]\na -> c\nb -> exit\nc -> exit\n${boxes}`,
  );
  const script = { a: [{ status: 'success', contextUpdates: { kind: 'bug', level: 3 } } as const] };
  const { begun, context } = await runDot(text, { script });
  expect(begun).toEqual(['a', 'b']);
  expect(context).toMatchObject({ kind: 'bug', level: 3, outcome: 'success', last_stage: 'b' });
});

test.each([
  'graph.goal',
  'internal.x',
  'outcome',
  'preferred_label',
  'current_node',
  'human.gate.label',
  'parallel.results',
])('DOT8 a stage may not write %s: it fails, and is named', async (key) => {
  const handler: StageHandler = {
    effect: 'external',
    run: () => ({ status: 'success', contextUpdates: { [key]: 1 } }),
  };
  const { result } = await runDot(digraph('start -> a -> exit\na [type=own, prompt=x]'), {
    handlers: { own: handler },
  });
  expect(result.error?.message).toContain(`it may not write ${key} into the context`);
});

test('11.12.21 11.6.9 a handler of the user’s own runs the stages of its type', async () => {
  const handler: StageHandler = {
    effect: 'external',
    run: ({ attributes, value }) => ({
      status: 'success',
      contextUpdates: { made: `${attributes.text('color')} for ${String(value('graph.goal'))}` },
    }),
  };
  const text = digraph('start -> a -> exit\na [type="paint.wall", color=red]', 'graph [goal="a house"]');
  const { context } = await runDot(text, { handlers: { 'paint.wall': handler } });
  expect(context['made']).toBe('red for a house');
});

test('DOT9 max_visits bounds a loop', async () => {
  const text = digraph(
    `start -> a -> b\nb -> a [condition="outcome=success"]\nb -> exit\na [prompt=x, max_visits=3]\nb [prompt=x]`,
  );
  const { begun, result } = await runDot(text);
  expect([begun, result.status]).toEqual([['a', 'b', 'a', 'b', 'a', 'b'], 'failed']);
  expect(result.error).toMatchObject({ data: { node: 'a', code: 'RUN_LIMIT' } });
});

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
  expect(request?.provider).toEqual({ acme: { reasoningEffort: 'low' } });
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
  const prompt = String(models.requests[1]?.messages[0]?.content);
  expect(prompt).toContain('Goal:\nship');
  expect(prompt).toContain('- a: success');
  expect(prompt).toContain(`Answer of a:\n${'x'.repeat(2_000)} […3000 more characters]`);
});

test('DOT10 the fidelity of the edge wins over the stage’s, and that over the graph’s', async () => {
  const prompts = async (edge: string, stage: string, graph: string): Promise<string> => {
    const models = createScriptedModels((_, index) => (index === 0 ? 'first answer' : 'ok'));
    const text = digraph(
      `start -> a -> b${edge}\nb -> exit\na [prompt=one]\nb [prompt=two${stage}]`,
      `graph [goal=g${graph}]`,
    );
    await runDot(text, { asksModels: true, engine: { models } });
    return String(models.requests[1]?.messages[0]?.content);
  };
  expect(await prompts('', '', '')).toContain('first answer');
  expect(await prompts('', '', ', default_fidelity=truncate')).not.toContain('first answer');
  expect(await prompts('', ', fidelity=compact', ', default_fidelity=truncate')).toContain('first answer');
  expect(await prompts(' [fidelity=truncate]', ', fidelity=compact', '')).not.toContain('first answer');
});

test.each([
  ['all is well\n{"outcome": "success"}', 'success', undefined],
  ['```json\n{"outcome": "partial_success", "notes": "nearly"}\n```', 'partial_success', undefined],
  ['{"outcome": "fail", "failure_reason": "no tests"}', 'fail', 'no tests'],
  ['looks good to me', 'fail', 'the goal gate gave no verdict'],
  ['{"outcome": "has_dod"}', 'fail', 'its outcome is "has_dod", which is none of'],
  ['{"outcome": "success", "context_updates": {"graph.goal": "x"}}', 'fail', 'it may not write graph.goal'],
  ['{"outcome": "success", "preferred_label": 3}', 'fail', 'preferred_label must be a text'],
])('6.2.17 6.2.18 a goal gate takes its verdict from the answer %j: %s', async (answer, status, reason) => {
  const models = createScriptedModels(() => answer);
  const text = digraph('start -> a\na -> exit [condition="outcome=fail"]\na -> exit\na [prompt=judge, goal_gate=true]');
  const { result } = await runDot(text, { asksModels: true, engine: { models } });
  expect(result.state.outputs['a']).toMatchObject({
    outcome: status,
    ...(reason && { failure_reason: expect.stringContaining(reason) as string }),
  });
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

test('DOT7 the goal and parameters reach commands as variables of their environment, and become no syntax', async () => {
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
  '11.12.12 11.6.4 a person chooses an edge by its label, key or target: %s',
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

test('DOT6 an answer that means no choice is refused, and the question stays open', async () => {
  const { engine, result } = await runDot(human);
  await expect(engine.answer(result.runId, result.waits[0]?.waitId ?? '', 'perhaps')).rejects.toMatchObject({
    code: 'ANSWER_INVALID',
  });
  expect((await engine.inspect(result.runId)).waits).toHaveLength(1);
});

test('6.2.3 6.6 a choice is not lost between the answer and the next stage, in another process', async () => {
  const { engine, bench, result } = await runDot(human);
  await engine.answer(result.runId, result.waits[0]?.waitId ?? '', 'Fix');
  const stages = scripted();
  const { graph } = readDot(human, dotOptions({ handlers: { codergen: stages.handler } }));
  await resumeToRest(afterCrash(bench), result.runId, graph);
  expect(stages.begun).toEqual(['b']);
});

test('DOT6 a question that nobody answers in time takes the default choice, or fails its stage', async () => {
  const timed = (more: string): string =>
    digraph(
      `start -> gate\ngate [shape=hexagon, timeout=5s${more}]\ngate -> a [label=Yes]\ngate -> b [label=No]\na -> exit\nb -> exit\n${box('a', 'b')}`,
    );
  expect((await runDot(timed(', human.default_choice=b'))).begun).toEqual(['b']);
  const { result } = await runDot(timed(''));
  expect(result.status).toBe('failed');
  expect(result.error?.message).toContain('nobody answered within 5 s');
});

const fan = (more = '', branches = 'par -> a\npar -> b'): string =>
  digraph(
    `start -> par\n${branches}\na -> a2 -> join\nb -> join\njoin -> after -> exit\npar [shape=component${more}]\njoin [shape=tripleoctagon]\n${box('a', 'a2', 'b', 'after')}`,
  );

test('11.12.20 6.2.2 branches run once each, then the fan-in, then what follows', async () => {
  const { begun, context, history } = await runDot(fan(), {
    script: { b: [{ status: 'success', contextUpdates: { found: 'x' } }] },
  });
  expect(begun.toSorted()).toEqual(['a', 'a2', 'after', 'b']);
  expect(history).toEqual(['start', 'par', 'join', 'after']);
  expect(context['parallel.results']).toEqual([
    { id: 'a', outcome: 'success', context: {} },
    { id: 'b', outcome: 'success', context: { found: 'x' } },
  ]);
  expect(context).toMatchObject({ 'parallel.fan_in.best_id': 'a', 'parallel.fan_in.best_outcome': 'success' });
  expect(context).not.toHaveProperty('found');
});

test('11.6.6 a failed branch makes the parallel stage a partial success, and the fan-in takes the best', async () => {
  const { context, history, output } = await runDot(fan(), { script: { a: ['fail'] } });
  expect(history).toEqual(['start', 'par: partial_success', 'join', 'after']);
  expect(context['parallel.results']).toMatchObject([
    { id: 'a', outcome: 'fail', failure_reason: 'a said fail' },
    { id: 'b', outcome: 'success' },
  ]);
  expect(context['parallel.fan_in.best_id']).toBe('b');
  expect(output).toMatchObject({
    status: 'partial_success',
    failures: [{ stage: 'a', reason: 'a said fail', led_to: null }],
  });
});

test('6.1.18 where all branches fail, the fan-in fails with their reasons', async () => {
  const { result } = await runDot(fan(), { script: { a: ['fail'], b: ['fail'] } });
  expect(result.status).toBe('failed');
  expect(result.error?.message).toContain('all branches failed: a: a said fail; b: b said fail');
});

test.each([
  ['join_policy=first_success', ['fail', 'success'], 'success'],
  ['join_policy=quorum', ['success', 'fail'], 'fail'],
  ['join_policy="2_of_n"', ['success', 'success'], 'success'],
  ['error_policy=fail_fast', ['fail', 'success'], 'fail'],
  ['error_policy=ignore', ['fail', 'success'], 'success'],
])('DOT5 %s with branches that end as %j ends as %s', async (policy, [a = '', b = ''], outcome) => {
  const { result } = await runDot(fan(`, max_parallel=1, ${policy}`), { script: { a: [a], b: [b] } });
  expect(result.state.outputs['par']).toMatchObject({ outcome });
});

test('DOT5 once the policy is decided the other branches are cancelled and begin nothing more', async () => {
  const started: string[] = [];
  const slow: StageHandler = {
    effect: 'external',
    isIdempotent: () => true,
    run: async ({ parts: { stage }, step }) => {
      started.push(stage.id);
      if (stage.id !== 'a') return { status: 'success' };
      await new Promise((resolve) => step?.signal.addEventListener('abort', resolve));
      throw new Error('it was cancelled');
    },
  };
  const { context, result } = await runDot(fan(', join_policy=first_success'), { handlers: { codergen: slow } });
  expect(result.status).toBe('completed');
  expect(started).toEqual(['a', 'b', 'after']);
  expect(context['parallel.results']).toMatchObject([
    { id: 'a', outcome: 'skipped' },
    { id: 'b', outcome: 'success' },
  ]);
});

test('DOT5 a goal gate in a branch counts at the exit', async () => {
  const text = digraph(
    `start -> par\npar -> a -> join\npar -> b -> join\njoin -> exit\npar [shape=component]\njoin [shape=tripleoctagon]\na [prompt=x, goal_gate=true]\nb [prompt=x]`,
  );
  const { result } = await runDot(text, { script: { a: ['fail'] } });
  expect(result.error?.message).toContain('the goal gate a ended with fail');
});

test('DOT5 a parallel stage inside a branch, and branches that join at a box, run as they are drawn', async () => {
  const text = digraph(`start -> p\np -> a -> q\nq -> c -> j2\nq -> d -> j2\nj2 -> end2\np -> b -> end2\nend2 -> exit
p [shape=component]\nq [shape=component]\nj2 [shape=tripleoctagon]\n${box('a', 'b', 'c', 'd', 'end2')}`);
  const { begun, history } = await runDot(text);
  expect(begun.toSorted()).toEqual(['a', 'b', 'c', 'd', 'end2']);
  expect(history).toEqual(['start', 'p', 'end2']);
});

test('11.12.17 11.7.4 11.7.5 a run resumed after a crash anywhere ends as one that did not crash', async () => {
  const text = digraph(`start -> a -> b\nb -> a [condition="context.again=yes"]\nb -> exit\n${box('a', 'b')}`);
  const script = {
    b: [
      { status: 'success', contextUpdates: { again: 'yes' } },
      { status: 'success', contextUpdates: { again: 'no' } },
    ],
  } as const;
  const whole = await runDot(text, { script });
  expect(whole.begun).toEqual(['a', 'b', 'a', 'b']);
  // The second visit of b never answers; another process takes over with what is on record.
  let visits = 0;
  const hanging: StageHandler = {
    effect: 'external',
    isIdempotent: () => true,
    run: ({ parts: { stage } }) => {
      if (stage.id !== 'b') return { status: 'success' };
      visits += 1;
      return visits === 1 ? script.b[0] : new Promise(() => undefined);
    },
  };
  const cut = readDot(text, dotOptions({ handlers: { codergen: hanging } }));
  const { createBench } = await import('../../../../test/engine-kit.ts');
  const bench = createBench();
  const handle = await bench.engine.start(cut.graph, {}, {});
  await expect.poll(() => visits).toBe(2);
  const second = scripted({ b: [script.b[1]] });
  const { graph } = readDot(text, dotOptions({ handlers: { codergen: second.handler } }));
  const resumed = await resumeToRest(afterCrash(bench), handle.runId, graph);
  expect(second.begun).toEqual(['b']);
  expect(seen(resumed).history).toEqual(whole.history);
  expect(seen(resumed).output).toEqual(whole.output);
});

test('6.2.E5 a failed run that is resumed tries the failed stage again, with a new budget', async () => {
  const text = digraph(`start -> a -> b -> exit\n${box('a', 'b')}`);
  const { engine, result, workflow, begun } = await runDot(text, { script: { b: ['fail', 'success'] } });
  expect(result.status).toBe('failed');
  const resumed = await resumeToRest(engine, result.runId, workflow.graph);
  expect([resumed.status, begun]).toEqual(['completed', ['a', 'b', 'b']]);
});

/** What the rules say, without an engine: the trace of a pipeline whose stages end as scripted. */
function walk(
  edges: readonly (readonly [string, string, string, number])[],
  outcomes: readonly string[],
): readonly string[] {
  const trace: string[] = [];
  let at = 's0';
  for (let step = 0; step < outcomes.length; step += 1) {
    if (at === 'exit') return [...trace, 'exit'];
    const outcome = outcomes[step] ?? 'success';
    trace.push(at);
    const own = edges.filter(([from]) => from === at);
    const fits = own.filter(
      ([, , condition]) =>
        condition !== '' &&
        (condition.startsWith('outcome!=') ? outcome !== condition.slice(9) : outcome === condition.slice(8)),
    );
    const free = own.filter(([, , condition]) => condition === '');
    const isElse = own.some(([, , condition]) => condition !== '');
    const open = fits.length > 0 ? fits : outcome === 'fail' && !isElse ? [] : free;
    const [best] = open.toSorted((a, b) => b[3] - a[3] || Buffer.compare(Buffer.from(a[1]), Buffer.from(b[1])));
    if (best === undefined) return [...trace, 'stop'];
    at = best[1];
  }
  return [...trace, 'cut'];
}

test('DOT4 random pipelines go the way that the rules say', async () => {
  const id = fc.integer({ min: 0, max: 5 }).map((n) => `s${n}`);
  const edge = fc.tuple(
    id,
    fc.oneof({ weight: 4, arbitrary: id }, { weight: 1, arbitrary: fc.constant('exit') }),
    fc.constantFrom('', '', 'outcome=success', 'outcome=fail', 'outcome!=success'),
    fc.integer({ min: -1, max: 2 }),
  );
  const outcomes = fc.array(fc.constantFrom('success', 'success', 'partial_success', 'fail'), {
    minLength: 12,
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(edge, { minLength: 4, maxLength: 14 }), outcomes, async (drawn, said) => {
      // Every stage can be come to, and leads to the exit at the least weight.
      const chain = [0, 1, 2, 3, 4, 5].map(
        (n) => [`s${n}`, n === 5 ? 'exit' : `s${n + 1}`, 'outcome=skipped', -9] as const,
      );
      const edges = [...drawn, ...chain];
      const text = digraph(
        `start -> s0\n${box('s0', 's1', 's2', 's3', 's4', 's5')}\n${edges.map(([from, to, condition, weight]) => `${from} -> ${to} [condition="${condition}", weight=${weight}]`).join('\n')}`,
      );
      let step = 0;
      const handler: StageHandler = {
        effect: 'external',
        isIdempotent: () => true,
        run: ({ parts: { stage } }) => {
          trace.push(stage.id);
          const status = said[step] as 'success' | undefined;
          step += 1;
          if (status === undefined) throw new Error('enough');
          return { status };
        },
      };
      const trace: string[] = [];
      const workflow = readDot(text, dotOptions({ handlers: { codergen: handler } }));
      const { createBench } = await import('../../../../test/engine-kit.ts');
      const result = await runToRest(createBench().engine, workflow.graph);
      const expected = walk(edges, said);
      const end = expected.at(-1);
      expect(trace.slice(0, said.length)).toEqual(expected.slice(0, -1));
      if (end !== 'cut') expect(result.status).toBe(end === 'exit' ? 'completed' : 'failed');
    }),
    { numRuns: 60 },
  );
});
