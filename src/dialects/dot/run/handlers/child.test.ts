/** Stages that run another pipeline: how it ends, how it is looked at, steered and stopped, and what is wrong with files that are not there. */
import { expect, test } from 'vitest';
import { digraph, dotOptions, scripted, seen } from '../../../../../test/dot-kit.ts';
import { restartedAfter } from '../../../../../test/dying-engine.ts';
import { createBench, resumeToRest, runToRest, type Bench } from '../../../../../test/engine-kit.ts';
import type { RunResult } from '../../../../engine/api.ts';
import { textOf } from '../../../../graph/contracts/model-messages.ts';
import { createScriptedModels } from '../../../../models/scripted.ts';
import { checkDot, readDot, readSavedDot, type DotOptions, type StageHandler } from '../../index.ts';

const house = (more = '', attributes = 'graph [stack.child_dotfile="sub/child.dot"]', body = ''): string =>
  digraph(`start -> m -> exit\nm [shape=house${more}]\n${body}`, attributes);

const filesOf = (files: Readonly<Record<string, string>>): Partial<DotOptions> => ({
  source: 'main.dot',
  readFile: (path) => files[path],
});
const simple = digraph('start -> a -> exit\na [prompt=x]', 'graph [goal="of the child", params="who=nobody"]');

async function run(
  text: string,
  files: Readonly<Record<string, string>>,
  more: Partial<DotOptions> = {},
  bench: Bench = createBench(),
): Promise<RunResult> {
  const { graph } = readDot(text, dotOptions({ ...filesOf(files), ...more }));
  return runToRest(bench.engine, graph, {}, 'r');
}

test('DOT25 a child ends as its stage: success, partial success with what failed, failure with the reason', async () => {
  const of = async (script: Parameters<typeof scripted>[0], text = simple): Promise<RunResult> =>
    run(house(), { 'sub/child.dot': text }, { handlers: { codergen: scripted(script).handler } });
  const good = await of({});
  expect([good.status, seen(good).output]).toEqual(['completed', { status: 'success', gates: {}, failures: [] }]);
  expect(seen(good).context).toMatchObject({ 'stack.child.status': 'completed', 'stack.child.outcome': 'success' });
  const bad = await of({ a: ['fail'] });
  expect(bad.error?.message).toContain('a said fail');
  const partly = digraph('start -> a\na -> exit [condition="outcome=fail"]\na [prompt=x]');
  expect(seen(await of({ a: ['fail'] }, partly)).output).toMatchObject({
    status: 'partial_success',
    failures: [{ stage: 'm/a', reason: 'a said fail' }],
  });
});

test('DOT25 a child has a context of its own: its goal, and parameters from this one', async () => {
  const values: unknown[] = [];
  const look: StageHandler = {
    effect: 'read',
    run: ({ value }) => {
      values.push([value('graph.goal'), value('graph.who'), value('graph.only')]);
      return { status: 'success' };
    },
  };
  const attributes = 'graph [stack.child_dotfile="sub/child.dot", goal="of the parent", params="who=ada,only=x"]';
  await run(house('', attributes), { 'sub/child.dot': simple }, { handlers: { codergen: look } });
  expect(values).toEqual([['of the child', 'ada', undefined]]);
});

test('DOT25 a child whose parameter gets no value fails its stage, by its file; lint warns of it, and the context may give it', async () => {
  const needy = digraph('start -> a -> exit\na [prompt=x]', 'graph [params="who,kind=any"]');
  const files = { 'sub/child.dot': needy };
  const refused = await run(house(), files, { handlers: { codergen: scripted().handler } });
  expect([refused.status, refused.failed]).toEqual(['failed', ['m']]);
  expect(refused.error?.message).toContain(
    'sub/child.dot needs who, of which neither the context nor a parameter here',
  );
  const warned = (text: string): readonly (readonly [string, string])[] =>
    checkDot(text, dotOptions(filesOf(files))).violations.map(({ place, message }) => [place, message]);
  const attributes = 'graph [stack.child_dotfile="sub/child.dot"';
  expect(warned(house())).toEqual([
    [expect.stringMatching(/^main\.dot:\d+:\d+$/), 'sub/child.dot needs who, and no parameter here has that name'],
  ]);
  expect(warned(house('', `${attributes}, params="who=ada"]`))).toEqual([]);
  const given = digraph('start -> b -> m -> exit\nm [shape=house]\nb [prompt=y]', `${attributes}]`);
  const { handler } = scripted({ b: [{ status: 'success', contextUpdates: { who: 'ada' } }] });
  expect((await run(given, files, { handlers: { codergen: handler } })).status).toBe('completed');
});

/** Two stages, each of which takes as long as it is told. */
const slow = (bench: Bench, stageMs: number): StageHandler => ({
  effect: 'external',
  isIdempotent: () => true,
  run: async ({ step }) => {
    await Promise.race([
      bench.clock.sleep(stageMs),
      new Promise((_, reject) => step?.signal.addEventListener('abort', () => reject(new Error('it was stopped')))),
    ]);
    return { status: 'success', contextUpdates: { red: 3 } };
  },
});
const long = digraph('start -> a -> b -> exit\na [prompt=x]\nb [prompt=y]');

test('DOT25 it is looked at from time to time: a condition stops it, and so do too many cycles', async () => {
  const ended = async (more: string): Promise<RunResult & { readonly tookMs: number }> => {
    const bench = createBench();
    const startMs = bench.clock.timeMs;
    const result = await run(
      house(`, manager.poll_interval=1s${more}`),
      { 'sub/child.dot': long },
      { handlers: { codergen: slow(bench, 5_000) } },
      bench,
    );
    return { ...result, tookMs: bench.clock.timeMs - startMs };
  };
  const stopped = await ended(', manager.stop_condition="context.stack.child.current_node=a && context.red=3"');
  expect([stopped.status, seen(stopped).context['stack.child.status']]).toEqual(['completed', 'stopped']);
  const tooLong = await ended(', manager.max_cycles=3');
  expect(tooLong.error?.message).toContain('p did not end within 3 cycles of 1 s');
  expect(tooLong.tookMs).toBe(3_000);
  expect(await ended('')).toMatchObject({ status: 'completed', tookMs: 10_000 });
});

test('DOT25 a condition that stops it is held against its own context, not that of the pipeline around it', async () => {
  const bench = createBench();
  const text = house(
    ', manager.poll_interval=1s, manager.stop_condition="context.red=3"',
    'graph [stack.child_dotfile="sub/child.dot"]',
    'before [type=paints]\nstart -> before [weight=1]\nbefore -> m',
  );
  const paints: StageHandler = { run: () => ({ status: 'success', contextUpdates: { red: 3 } }) };
  const child = digraph('start -> a -> exit\na [type=slow]');
  const slowly: StageHandler = {
    run: async ({ ctx }) => (await ctx.sleepUntil(ctx.now() + 5_000), { status: 'success' }),
  };
  const result = await run(text, { 'sub/child.dot': child }, { handlers: { paints, slow: slowly } }, bench);
  expect(seen(result).context).toMatchObject({ red: 3, 'stack.child.status': 'completed' });
});

test('DOT25 DOT18 one that restarts is seen as its newest run, and told with what failed in all of them', async () => {
  const bench = createBench();
  const child = digraph(
    'start -> wait -> a -> b -> long -> exit\na -> wait [condition="outcome=fail", loop_restart=true]\na [prompt=x]\nb [prompt=y]\nwait [type=slow]\nlong [type=slow]',
  );
  const slowly: StageHandler = {
    run: async ({ ctx, parts }) => {
      await ctx.sleepUntil(ctx.now() + (parts.stage.id === 'wait' ? 2_500 : 60_000));
      return { status: 'success' };
    },
  };
  const text = house(', manager.poll_interval=1s, manager.stop_condition="context.stack.child.current_node=b"');
  const handlers = { codergen: scripted({ a: ['fail', 'fail', 'success'] }).handler, slow: slowly };
  const startMs = bench.clock.timeMs;
  const result = await run(text, { 'sub/child.dot': child }, { handlers }, bench);
  expect([seen(result).context['stack.child.status'], bench.clock.timeMs - startMs]).toEqual(['stopped', 8_000]);
  const failure = { stage: 'm/a', reason: 'a said fail', led_to: 'wait' };
  expect(seen(result).output).toMatchObject({ status: 'partial_success', failures: [failure, failure] });
});

test('DOT25 DOT15 what failed in a child that failed is told, its restarts included', async () => {
  const body = 'm -> exit [condition="outcome=fail"]';
  const failing = async (child: string, script: Parameters<typeof scripted>[0]): Promise<unknown> =>
    seen(
      await run(
        house('', undefined, body),
        { 'sub/child.dot': child },
        { handlers: { codergen: scripted(script).handler } },
      ),
    ).output;
  const stages = ['m/a', 'm/b', 'm'].map((stage) => ({ stage }));
  const plain = digraph('start -> a -> exit\na -> b [condition="outcome=fail"]\nb -> exit\na [prompt=x]\nb [prompt=y]');
  expect(await failing(plain, { a: ['fail'], b: ['fail'] })).toMatchObject({ failures: stages });
  const restarting = plain.replace('[condition="outcome=fail"]', '[condition="outcome=fail", loop_restart=true]');
  expect(await failing(restarting, { a: ['fail'], b: ['fail'] })).toMatchObject({ failures: stages });
});

test('DOT25 DOT4 one that comes to a stage that leads nowhere has failed there', async () => {
  for (const more of ['', 'a -> a [condition="outcome=fail", loop_restart=true]']) {
    const child = digraph(`start -> a -> b\na -> exit\na [prompt=x]\nb [prompt=y]\n${more}`);
    const { error } = await run(house(), { 'sub/child.dot': child }, { handlers: { codergen: scripted({}).handler } });
    expect(error?.message).toBe('node m failed: b ended with a success, and it leads nowhere');
  }
});

test('DOT25 one that ends by itself while a model looks at it is neither stopped nor failed by what that says', async () => {
  const bench = createBench({
    models: createScriptedModels(async () => {
      await bench.clock.sleep(60_000);
      return '{"outcome": "fail", "message": "it takes too long"}';
    }),
  });
  const more = ', manager.actions="observe,steer,wait", prompt="Watch it.", manager.poll_interval=2s';
  const handlers = { codergen: slow(bench, 5_000) };
  const result = await run(house(more), { 'sub/child.dot': long }, { handlers }, bench);
  expect([result.status, seen(result).context['stack.child.status']]).toEqual(['completed', 'completed']);
});

test('DOT25 it is steered: a model looks at it, and what that says reaches the next stage for a model, once', async () => {
  const prompts: string[] = [];
  const models = createScriptedModels(({ messages }, index) => {
    const prompt = textOf(messages.at(-1)?.content as string);
    if (!prompt.includes('Watch it.')) {
      prompts.push(prompt);
      return index > 100 ? '' : 'done';
    }
    const isFirst = !prompts.some((each) => each.includes('two')) && prompts.length < 2;
    return isFirst ? '{"outcome": "success", "message": "mind the tests"}' : '{"outcome": "success"}';
  });
  const child = digraph(
    'start -> a -> pause -> b -> c -> exit\na [prompt=one]\nb [prompt=two]\nc [prompt=three]\npause [type=slow]',
  );
  const bench = createBench({ models });
  const result = await run(
    house(', manager.actions="observe,steer,wait", prompt="Watch it.", manager.poll_interval=60s'),
    { 'sub/child.dot': child },
    { handlers: { slow: slow(bench, 90_000) } },
    bench,
  );
  expect(result.status).toBe('completed');
  expect(prompts.map((prompt) => prompt.includes('From whoever oversees this work:\n- mind the tests'))).toEqual([
    false,
    true,
    false,
  ]);
});

test('DOT25 what steers a child reaches one of its stages, also in a branch or before a restart', async () => {
  const steered = async (child: string): Promise<readonly string[]> => {
    const prompts: string[] = [];
    const models = createScriptedModels(({ messages }) => {
      const prompt = textOf(messages.at(-1)?.content as string);
      if (!prompt.includes('Watch it.')) {
        prompts.push(prompt);
        return '{"outcome": "success", "preferred_label": "on"}';
      }
      return '{"outcome": "success", "message": "mind the tests"}';
    });
    const bench = createBench({ models });
    const result = await run(
      house(', manager.actions="observe,steer,wait", prompt="Watch it.", manager.poll_interval=60s'),
      { 'sub/child.dot': child },
      { handlers: { slow: slow(bench, 90_000) } },
      bench,
    );
    expect(result.status).toBe('completed');
    return prompts.map((prompt) => (prompt.includes('mind the tests') ? 'told' : 'not told'));
  };
  const branches = digraph(
    'start -> pause -> p\np -> a -> j\np -> b -> j\nj -> exit\np [shape=component]\nj [shape=tripleoctagon]\na [prompt=one]\nb [prompt=two]\npause [type=slow]',
  );
  expect((await steered(branches)).toSorted()).toEqual(['not told', 'told']);
  const restarting = digraph(
    'start -> pause -> a\na -> b [label=on, loop_restart=true]\na -> exit [label=done]\nb -> exit\na [prompt=one]\nb [prompt=two]\npause [type=slow]',
  );
  expect(await steered(restarting)).toEqual(['told', 'not told']);
});

test('DOT25 P1 killed at every commit, a child that is looked at ends as it does without', async () => {
  const text = house(', manager.poll_interval=1s, manager.stop_condition="context.stack.child.current_node=b"');
  const child = digraph('start -> a -> b -> c -> exit\na [prompt=x]\nb [prompt=y]\nc [prompt=z]');
  const quiet = createBench();
  const options = (bench: Bench): DotOptions =>
    dotOptions({ ...filesOf({ 'sub/child.dot': child }), handlers: { codergen: slow(bench, 3_000) } });
  const expected = await run(text, { 'sub/child.dot': child }, options(quiet), quiet);
  expect(seen(expected).context['stack.child.status']).toBe('stopped');
  let trials = 0;
  for (let commits = 1; commits < 60; commits += 1) {
    const bench = createBench();
    const { graph } = readDot(text, options(bench));
    const done = await restartedAfter(bench, commits, graph);
    if (done === undefined) break;
    expect([commits, done.status, seen(done).context]).toEqual([commits, 'completed', seen(expected).context]);
    trials += 1;
  }
  expect(trials).toBeGreaterThan(5);
});

test('DOT25 one that does not begin by itself waits for the signal', async () => {
  const bench = createBench();
  const handlers = { codergen: scripted().handler };
  const waiting = await run(house(', stack.child_autostart=false'), { 'sub/child.dot': simple }, { handlers }, bench);
  expect([waiting.status, waiting.waits.map(({ kind }) => kind)]).toEqual(['paused', ['signal']]);
  await bench.engine.signal('r', 'start', null);
  const { graph } = readDot(
    house(', stack.child_autostart=false'),
    dotOptions({ ...filesOf({ 'sub/child.dot': simple }), handlers }),
  );
  expect((await resumeToRest(bench.engine, 'r', graph)).status).toBe('completed');
});

test('DOT25 what is wrong with the files of children is told with the place that names them', () => {
  const said = (text: string, files: Readonly<Record<string, string>>): readonly string[] =>
    checkDot(text, dotOptions(filesOf(files))).violations.map(
      ({ severity, rule, place, message }) => `${severity} ${rule} ${place} ${message}`,
    );
  expect(said(house('', ''), {})).toEqual(['error child_pipeline main.dot:6:1 m names no pipeline to run']);
  expect(said(house(), {})).toEqual(['error child_pipeline main.dot:2:28 there is no pipeline sub/child.dot']);
  expect(said(house(), { 'sub/child.dot': house('', 'graph [stack.child_dotfile="../main.dot"]') })).toEqual([
    'error child_pipeline main.dot:2:28 the pipeline sub/child.dot has 1 fault: sub/child.dot:2:28: pipelines run each other in a circle: main.dot -> sub/child.dot -> main.dot',
  ]);
  expect(said(house(), { 'sub/child.dot': 'digraph p { a -> b' })[0]).toContain('the pipeline sub/child.dot has');
  expect(said(house(', stack.child_dotfile="own.dot"'), { 'own.dot': simple })).toEqual([]);
});

test('DOT25 a run keeps the texts of its children, and goes on without their files', async () => {
  const { graph } = readDot(house(), dotOptions(filesOf({ 'sub/child.dot': simple })));
  const again = readSavedDot(graph.text ?? '', { nodeTypes: [] });
  expect(again.graph.hash).toBe(graph.hash);
});

test('DOT17 the child of an inline pipeline is read, and works, under the grants of that', () => {
  const child = digraph('start -> a -> exit\na [shape=parallelogram, tool_command="true"]');
  const read = (permissions: object): unknown =>
    readDot(house(), dotOptions({ ...filesOf({ 'sub/child.dot': child }), origin: 'inline', permissions }));
  expect(() => read({})).toThrow(/fs=/u);
  expect(() => read({ fs: true })).toThrow(/shell/u);
  expect(read({ fs: true, shell: true })).toBeDefined();
});
