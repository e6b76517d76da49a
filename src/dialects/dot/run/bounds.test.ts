/** What bounds a run: budgets, large values of the context, and what a stage is told after a failed run was resumed. */
import { expect, test } from 'vitest';
import { digraph, dotOptions, lintOf, runDot, seen } from '../../../../test/dot-kit.ts';
import { createBench, resumeToRest, runToRest } from '../../../../test/engine-kit.ts';
import { textOf } from '../../../graph/contracts/model-messages.ts';
import { createScriptedModels } from '../../../models/scripted.ts';
import { readDot, type StageHandler } from '../index.ts';

const chain = 'start -> a -> b -> c -> exit\na [prompt=one]\nb [prompt=two]\nc [prompt=three]';

test('DOT26 a budget of tokens asks when it is spent, or fails; a pipeline without one spends no such unit', async () => {
  const models = createScriptedModels(() => 'done');
  const asks = await runDot(digraph(chain, 'graph [budget="tokens=1"]'), { asksModels: true, engine: { models } });
  expect([asks.result.status, asks.result.waits[0]?.budget]).toMatchObject(['paused', { unit: 'tokens', limit: 1 }]);
  expect(models.requests).toHaveLength(1);
  const fails = await runDot(digraph(chain, 'graph [budget="tokens=1", on_budget=fail]'), {
    asksModels: true,
    engine: { models },
  });
  expect(fails.result.status).toBe('failed');
  expect(JSON.stringify(fails.result.error?.cause ?? {}) + String(fails.result.error?.message)).toContain('budget');
  const plain = await runDot(digraph(chain), { asksModels: true, engine: { models } });
  expect(Object.keys(plain.result.spent)).not.toContain('tokens');
});

test('DOT26 a budget in tokens and time that only the start of a run names holds its stages', async () => {
  const models = createScriptedModels(() => 'done');
  const workflow = readDot(digraph(chain), dotOptions());
  const { engine } = createBench({ models, findGraph: () => Promise.resolve(workflow.graph) });
  const handle = await engine.start(workflow.graph, {}, { budget: { tokens: 1, seconds: 60 } });
  const { status, spent } = await handle.result();
  expect([status, models.requests.length, Object.keys(spent).toSorted()]).toEqual([
    'paused',
    1,
    ['inputTokens', 'outputTokens', 'seconds', 'tokens'],
  ]);
});

test('DOT26 a budget of time counts the seconds that stages take; one of a stage is for each of its visits', async () => {
  const bench = createBench();
  const slow: StageHandler = {
    effect: 'external',
    isIdempotent: () => true,
    run: async () => (await bench.clock.sleep(40_000), { status: 'success' }),
  };
  const started = (text: string): Promise<{ readonly status: string; readonly spent: unknown }> =>
    runToRest(bench.engine, readDot(text, dotOptions({ handlers: { codergen: slow } })).graph);
  expect(await started(digraph(chain, 'graph [budget="time=1m", on_budget=fail]'))).toMatchObject({
    status: 'failed',
    spent: { seconds: 80 },
  });
  expect(await started(digraph(chain.replace('a [', 'a [budget="time=1m", ')))).toMatchObject({ status: 'completed' });
});

test('DOT26 a budget that cannot be read is an error with its place', () => {
  for (const budget of ['tokens', 'tokens=-1', 'time=soon', 'cost=1,,'])
    expect(lintOf(digraph(chain, `graph [budget="${budget}"]`))).toEqual(['error attribute_value 2:15']);
});

test('DOT26 a budget of a pipeline that restarts is that of all its runs together', async () => {
  const models = createScriptedModels(() => 'again {"outcome": "success", "preferred_label": "again"}');
  const text = digraph(
    'start -> a\na -> a [label=again, loop_restart=true]\na -> exit [label=done]\na [prompt=x]',
    'graph [budget="tokens=200"]',
  );
  const { result } = await runDot(text, { asksModels: true, engine: { models } });
  expect(result.status).toBe('paused');
  expect(models.requests.length).toBeGreaterThan(1);
});

const big = `${'h'.repeat(60_000)}${'t'.repeat(60_000)}`;
const producing = (value: unknown): StageHandler => ({
  effect: 'read',
  run: () => ({ status: 'success', contextUpdates: { big: value, small: 'x' } }),
});

test('DOT27 a large value is a file: the context and prompts have its head, its tail and its name; handlers read it whole', async () => {
  const seenBy: unknown[] = [];
  const read: StageHandler = {
    effect: 'read',
    run: async ({ context }) => {
      seenBy.push(await context.whole('big'), context.text('big').length, await context.whole('small'));
      return { status: 'success' };
    },
  };
  const models = createScriptedModels(() => 'ok');
  const body = 'start -> p -> r -> a -> exit\np [type=produce]\nr [type=read]\na [prompt=x, fidelity="summary:high"]';
  const ran = await runDot(digraph(body), {
    asksModels: true,
    engine: { models },
    handlers: { produce: producing(big), read },
  });
  expect(ran.result.status).toBe('completed');
  expect(seenBy[0]).toBe(big);
  expect(seenBy[1]).toBeLessThan(5_000);
  expect(seenBy[2]).toBe('x');
  expect(JSON.stringify(ran.context).length).toBeLessThan(10_000);
  const prompt = textOf(models.requests[0]?.messages[0]?.content as string);
  expect(prompt).toMatch(/- big: h{500} \[… 119000 more characters, kept as big\.txt …\] t{500}\n/u);
});

test('DOT27 a large list keeps its type; a value at the bound stays where it is', async () => {
  const list = Array.from({ length: 20_000 }, (_, index) => index);
  let found: unknown;
  const read: StageHandler = {
    effect: 'read',
    run: async ({ context }) => ((found = await context.whole('big')), { status: 'success' }),
  };
  const body = 'start -> p -> r -> exit\np [type=produce]\nr [type=read]';
  await runDot(digraph(body), { handlers: { produce: producing(list), read } });
  expect(found).toEqual(list);
  const atBound = await runDot(digraph(body), { handlers: { produce: producing('x'.repeat(100_000)), read } });
  expect(atBound.context['big']).toHaveLength(100_000);
});

test('DOT27 the context is read by types', async () => {
  const values: unknown[] = [];
  const write: StageHandler = {
    effect: 'read',
    run: () => ({ status: 'success', contextUpdates: { n: '42', f: true, l: [1], o: { a: 1 }, w: 'word' } }),
  };
  const read: StageHandler = {
    effect: 'read',
    run: ({ context }) => {
      values.push(
        context.number('n'),
        context.number('w'),
        context.number('gone'),
        context.flag('f'),
        context.flag('w'),
      );
      values.push(context.list('l'), context.list('w'), context.text('o'), context.text('gone'));
      return { status: 'success' };
    },
  };
  await runDot(digraph('start -> p -> r -> exit\np [type=write]\nr [type=read]'), { handlers: { write, read } });
  expect(values).toEqual([42, undefined, undefined, true, false, [1], undefined, '{"a":1}', '']);
});

/** Runs a pipeline whose first tool or model fails once, resumes it by name, and gives what models were asked afterwards. */
async function resumed(body: string, attributes: string): Promise<readonly string[]> {
  let isBroken = true;
  const models = createScriptedModels(({ messages }) => {
    if (isBroken && textOf(messages.at(-1)?.content as string).includes('breaks')) throw new Error('the line dropped');
    return 'done';
  });
  const tool: StageHandler = {
    effect: 'read',
    run: () => (isBroken ? { status: 'fail', failureReason: 'no' } : { status: 'success' }),
  };
  const bench = createBench({ models });
  const { graph } = readDot(digraph(body, attributes), dotOptions({ handlers: { tool } }));
  expect((await runToRest(bench.engine, graph, {}, 'r')).status).toBe('failed');
  isBroken = false;
  const before = models.requests.length;
  const done = await resumeToRest(bench.engine, 'r', graph);
  expect(done.status).toBe('completed');
  expect(seen(done).history).toContain('c');
  return models.requests.slice(before).map(({ messages }) => `${messages.length} ${JSON.stringify(messages)}`);
}

test('DOT28 after a resume by name the first stage for a model is told less, the next ones as they say; without the attribute none is', async () => {
  const broken = chain.replace('prompt=two', 'prompt="two breaks"');
  const [first, second] = await resumed(broken, 'graph [default_fidelity=full, resume_fidelity=compact]');
  expect([first?.[0], second?.[0]]).toEqual(['1', '3']);
  expect(first).toContain('Stages so far');
  expect((await resumed(broken, 'graph [default_fidelity=full]')).map((text) => text[0])).toEqual(['3', '5']);
  // What is told less already stays as it is.
  const [same] = await resumed(broken, 'graph [default_fidelity=truncate, resume_fidelity=compact]');
  expect(same).not.toContain('Stages so far');
});

test('DOT28 where a stage that asks no model failed, it is the next one that asks which is told less', async () => {
  const body =
    'start -> a -> t -> d -> b -> c -> exit\na [prompt=one]\nb [prompt=two]\nc [prompt=three]\nt [type=tool, tool_command=x]\nd [type=tool, tool_command=x]';
  const texts = await resumed(body, 'graph [default_fidelity=full, resume_fidelity="summary:high"]');
  expect(texts.map((text) => text[0])).toEqual(['1', '3']);
});
