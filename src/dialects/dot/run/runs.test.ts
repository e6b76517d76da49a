/** Ways through pipelines: edges, retries, failures, goal gates, the context; by the numbers of the specification's definition of done. */
import { expect, test } from 'vitest';
import { box, digraph, runDot } from '../../../../test/dot-kit.ts';
import type { StageHandler } from '../index.ts';

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

test('11.5.1 6.1.1 what a stage throws is tried again, a verdict of failure is not: an answer is no fault', async () => {
  const text = digraph(`start -> a -> exit\na [max_retries=2]\n${box('a')}`);
  expect((await runDot(text, { script: { a: [new Error('the line dropped'), 'success'] } })).begun).toEqual(['a', 'a']);
  expect((await runDot(text, { script: { a: ['fail', 'success'] } })).begun).toEqual(['a']);
});

test('11.5.3 11.5.4 6.1.17 delays grow by the named preset and are jittered by half', async () => {
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

test('6.2.E6 DOT4 a stage that leads nowhere fails the run after its success', async () => {
  const text = digraph(`start -> a -> b\na -> exit\n${box('a', 'b')}`);
  const { result, begun } = await runDot(text);
  expect([result.status, begun]).toEqual(['failed', ['a', 'b']]);
  expect(result.error?.message).toContain('b ended with a success, and it leads nowhere');
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
