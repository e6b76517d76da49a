/** What the public format asks of an implementation, item by item, as far as it is not proved beside the code; titles carry its numbers. */
import { expect, test } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { checkDot, readDot, readSavedDot, type DotTransform, type StageHandler } from '../../src/dialects/dot/index.ts';
import { createScriptedModels } from '../../src/models/scripted.ts';
import { box, digraph, dotOptions, lintOf, runDot } from '../dot-kit.ts';

const fan = digraph(
  `start -> par\npar -> a -> join\npar -> b -> join\njoin -> after -> exit\npar [shape=component]\njoin [shape=tripleoctagon]\n${box('a', 'b', 'after')}`,
);

test('11.12.3 11.1.3 attributes of a stage that stand on several lines reach its handler', async () => {
  const seen: string[] = [];
  const look: StageHandler = {
    effect: 'read',
    run: ({ attributes }) => {
      seen.push(attributes.text('prompt'), attributes.text('human.default_choice'));
      return { status: 'success' };
    },
  };
  const text = digraph('start -> a -> exit\na [\n  type=own,\n  prompt="one\ntwo",\n  human.default_choice=b\n]');
  await runDot(text, { handlers: { own: look } });
  expect(seen).toEqual(['one\ntwo', 'b']);
});

test('11.3.1 a run begins at the start stage, wherever it stands in the file and whatever it is called', async () => {
  const text = `digraph p {\nz [shape=Msquare]\n${box('b', 'a')}\na -> b -> z\nbegin [shape=Mdiamond]\nbegin -> a\n}`;
  expect((await runDot(text)).history).toEqual(['begin', 'a', 'b']);
});

test('11.3.2 each shape is run by the handler of its type, and an explicit type wins over the shape', async () => {
  const ran: string[] = [];
  const record = (type: string): StageHandler => ({
    effect: 'read',
    run: ({ parts: { stage, ways } }) => {
      ran.push(`${stage.id} by ${type}`);
      return { status: 'success', suggestedNextIds: ways.edges.map(({ to }) => to) };
    },
  });
  const types = ['codergen', 'wait.human', 'conditional', 'parallel.fan_in', 'tool', 'own.type'];
  const text = digraph(`start -> b -> h -> d -> f -> t -> o -> exit
b [shape=box, prompt=x]\nh [shape=hexagon]\nd [shape=diamond]\nf [shape=tripleoctagon]
t [shape=parallelogram, tool_command=x]\no [shape=hexagon, type="own.type"]`);
  const { result } = await runDot(text, { handlers: Object.fromEntries(types.map((type) => [type, record(type)])) });
  expect(result.status).toBe('completed');
  expect(ran).toEqual([
    'b by codergen',
    'h by wait.human',
    'd by conditional',
    'f by parallel.fan_in',
    't by tool',
    'o by own.type',
  ]);
});

test('11.3.3 a handler is given its stage, the context and what the graph says, and returns an outcome', async () => {
  const seen: unknown[] = [];
  const look: StageHandler = {
    effect: 'read',
    run: ({ parts: { stage, pipelineName }, value, attributes }) => {
      seen.push(stage.id, pipelineName, attributes.text('own'), value('graph.goal'), value('current_node'));
      return { status: 'partial_success', notes: 'nearly' };
    },
  };
  const { result } = await runDot(digraph('start -> a -> exit\na [type=look, own=x]', 'graph [goal=g]'), {
    handlers: { look },
  });
  expect(seen).toEqual(['a', 'p', 'x', 'g', 'a']);
  expect(result.state.outputs['a']).toEqual({ outcome: 'partial_success', notes: 'nearly' });
});

test('11.3.4 6.1.10 the outcome of a stage is on record under the name outcome, with its label, suggestions, notes and reason', async () => {
  const said = {
    status: 'success',
    preferredLabel: 'on',
    suggestedNextIds: ['b'],
    notes: 'n',
    contextUpdates: { k: 1 },
  } as const;
  const { engine, result } = await runDot(digraph(`start -> a -> b -> exit\n${box('a', 'b')}`), {
    script: { a: [said] },
  });
  const { state } = await engine.inspect(result.runId);
  expect(state.outputs['a']).toEqual({
    outcome: 'success',
    preferred_label: 'on',
    suggested_next_ids: ['b'],
    notes: 'n',
  });
  expect(state.scratch['k']).toBe(1);
});

test('11.4.1 11.4.2 a gate’s last outcome is what counts, and it is asked when the exit is reached, not before', async () => {
  const text = digraph(
    `start -> gate\ngate -> other\nother -> gate [condition="context.again=yes"]\nother -> exit\ngate -> other [condition="outcome=fail"]\ngate [prompt=x, goal_gate=true, retry_target=gate]\n${box('other')}`,
  );
  const again = (value: string) => ({ status: 'success', contextUpdates: { again: value } }) as const;
  const mended = await runDot(text, { script: { gate: ['fail', 'success'], other: [again('yes'), again('no')] } });
  // The first failure led nowhere back by itself: the exit had not been reached.
  expect(mended.history).toEqual(['start', 'gate: fail', 'other', 'gate', 'other']);
  expect(mended.output).toMatchObject({ gates: { gate: 'success' } });
  const broken = await runDot(text, {
    script: { gate: ['success', 'fail', 'success'], other: [again('yes'), again('no')] },
  });
  expect(broken.history).toEqual(['start', 'gate', 'other', 'gate: fail', 'other', 'gate', 'other']);
});

test('11.6.1 the start does nothing but write what the graph says into the context', async () => {
  const { context, result } = await runDot(digraph(`start -> a -> exit\n${box('a')}`, 'graph [goal=g, label=L]'));
  expect(context).toMatchObject({ 'graph.goal': 'g', 'graph.label': 'L' });
  expect(result.state.outputs['start']).toEqual({ outcome: 'success' });
});

test('11.6.2 6.1.6 the exit is a stage with a checkpoint of its own, the last before the end', async () => {
  const { engine, result } = await runDot(digraph(`start -> a -> exit\n${box('a')}`));
  const nodes: string[] = [];
  for await (const event of engine.events(result.runId))
    if (event.type === 'checkpoint')
      for (const { kind, node } of event.change) if (kind === 'settle') nodes.push(node?.join('/') ?? '');
  expect(nodes).toEqual(['start', 'a', 'exit', 'outputs']);
});

test('11.6.7 6.1.19 the fan-in is begun when every branch has ended', async () => {
  const order: string[] = [];
  const slow: StageHandler = {
    effect: 'external',
    run: async ({ parts: { stage } }) => {
      if (stage.id === 'a') await Promise.resolve();
      order.push(stage.id);
      return { status: 'success' };
    },
  };
  const join: StageHandler = {
    effect: 'read',
    run: ({ value }) => {
      order.push(`join of ${(value('parallel.results') as readonly unknown[]).length}`);
      return { status: 'success' };
    },
  };
  await runDot(fan, { handlers: { codergen: slow, 'parallel.fan_in': join } });
  expect(order.slice(0, 2).toSorted()).toEqual(['a', 'b']);
  expect(order.slice(2)).toEqual(['join of 2', 'after']);
});

test('6.1.20 what branches write stays in them; only their results are seen behind the join', async () => {
  const seen: unknown[] = [];
  const stage: StageHandler = {
    effect: 'external',
    run: ({ parts, value }) => {
      seen.push([parts.stage.id, value('mine') ?? null]);
      return { status: 'success', contextUpdates: { mine: parts.stage.id } };
    },
  };
  const { context } = await runDot(fan, { handlers: { codergen: stage } });
  expect(seen).toEqual(
    expect.arrayContaining([
      ['a', null],
      ['b', null],
    ]),
  );
  expect(seen.at(-1)).toEqual(['after', null]);
  expect(context['parallel.results']).toEqual([
    { id: 'a', outcome: 'success', context: { mine: 'a' } },
    { id: 'b', outcome: 'success', context: { mine: 'b' } },
  ]);
});

test('11.7.6 a value too large for the context is an artifact, kept with the run, and is read back whole', async () => {
  // It cannot be packed small.
  const large = Array.from({ length: 40_000 }, (_, n) => ((n * 2_654_435_761) % 4_294_967_296).toString(36)).join('');
  const blobs = createMemoryBlobs();
  let read: unknown;
  const reads: StageHandler = {
    effect: 'read',
    run: async ({ context }) => ((read = await context.whole('large')), { status: 'success' }),
  };
  const text = digraph(`start -> a -> b -> exit\n${box('a')}\nb [type=reads]`);
  const { context } = await runDot(text, {
    script: { a: [{ status: 'success', contextUpdates: { large } }] },
    handlers: { reads },
    engine: { blobs },
  });
  expect(read).toBe(large);
  expect(JSON.stringify(context['large']).length).toBeLessThan(5_000);
  expect((await blobs.sweep('default')).rows).not.toEqual([]);
});

test.each([
  ['11.9.1', 'outcome=success', true],
  ['11.9.2', 'outcome!=success', false],
  ['11.9.3', 'outcome=success && context.kind=bug', true],
  ['11.9.3', 'outcome=success && context.kind=feature', false],
  ['11.9.4', 'outcome=partial_success', false],
  ['11.9.5', 'preferred_label=go', true],
  ['11.9.6', 'context.gone=""', true],
  ['11.9.6', 'context.gone!=anything', true],
  ['11.9.7', '', true],
])('%s the edge with the condition %j is taken: %j', async (_, condition, isTaken) => {
  const text = digraph(
    `start -> a\na -> b [condition="${condition.replaceAll('"', '\\"')}", weight=1]\na -> c\nb -> exit\nc -> exit\n${box('a', 'b', 'c')}`,
  );
  const { begun } = await runDot(text, {
    script: { a: [{ status: 'success', preferredLabel: 'go', contextUpdates: { kind: 'bug' } }] },
  });
  expect(begun).toEqual(['a', isTaken ? 'b' : 'c']);
});

const styled = (own = ''): string =>
  digraph(
    `start -> a -> exit\na [type=look, shape=hexagon, class="slow, odd"${own}]`,
    'graph [model_stylesheet="* { llm_model: all; llm_provider: p } hexagon { llm_model: shape } .odd { llm_model: class } #a { llm_model: id }"]',
  );

test.each([
  ['11.10.1 11.10.5 universal below all others', styled().replace(/hexagon \{[^]*?id \}/, ''), 'all'],
  ['11.10.2 11.12.18 a shape over it', styled().replace(/\.odd \{[^]*?id \}/, ''), 'shape'],
  ['11.10.3 a class over that, one of several', styled().replace(/#a \{[^]*?id \}/, ''), 'class'],
  ['11.10.4 an id over that', styled(), 'id'],
  ['11.10.6 and what the stage says itself over all', styled(', llm_model=own'), 'own'],
])('%s', async (_, text, model) => {
  const seen: string[] = [];
  const look: StageHandler = {
    effect: 'read',
    run: ({ attributes }) => {
      seen.push(attributes.text('llm_model'), attributes.text('llm_provider'));
      return { status: 'success' };
    },
  };
  await runDot(text, { handlers: { look } });
  expect(seen).toEqual([model, 'p']);
});

/** Gives every stage for a model without a prompt one. */
const promptEach: DotTransform = (file) => ({
  ...file,
  statements: file.statements.map((one) =>
    one.kind === 'node' && one.attributes.length === 0
      ? { ...one, attributes: [{ key: 'prompt', value: `do ${one.id}`, at: one.at, valueAt: one.at }] }
      : one,
  ),
});
/** Says every value twice. */
const twice: DotTransform = (file) => ({
  ...file,
  statements: file.statements.map((one) =>
    one.kind === 'node'
      ? {
          ...one,
          attributes: one.attributes.map((pair) =>
            pair.key === 'prompt' ? { ...pair, value: pair.value.repeat(2) } : pair,
          ),
        }
      : one,
  ),
});

test('11.11.1 11.11.2 11.11.4 transforms stand between reading and the lint, each given what the one before made, in order', () => {
  const text = digraph('start -> a -> exit\na');
  const promptOf = (transforms: readonly DotTransform[]): unknown => {
    const { workflow } = checkDot(text, dotOptions({ transforms }));
    const node = workflow?.graph.nodes.find(({ id }) => id === 'a');
    const config = node?.config as { readonly attributes: Readonly<Record<string, string>> } | undefined;
    return config?.attributes['prompt'];
  };
  expect(lintOf(text)).toEqual(['warning prompt_on_llm_nodes 6:1']);
  expect(lintOf(text, { transforms: [promptEach] })).toEqual([]);
  expect(promptOf([promptEach, twice])).toBe('do ado a');
  expect(promptOf([twice, promptEach])).toBe('do a');
});

test('11.11.2 a run keeps the pipeline as the transforms made it, so it goes on without them', () => {
  const { graph } = readDot(digraph('start -> a -> exit\na'), dotOptions({ transforms: [promptEach] }));
  expect(readSavedDot(graph.text ?? '', { nodeTypes: dotOptions().nodeTypes ?? [] }).graph.hash).toBe(graph.hash);
});

test('11.11.3 $goal is expanded when a stage is run, so that a run may be given another goal', async () => {
  const models = createScriptedModels(() => 'done');
  const text = digraph('start -> a -> exit\na [prompt="do $goal"]', 'graph [goal=one]');
  await runDot(text, { asksModels: true, engine: { models } });
  await runDot(text, { asksModels: true, engine: { models }, input: { goal: 'another' } });
  expect(models.requests.map(({ messages }) => /do \w+/.exec(JSON.stringify(messages))?.[0])).toEqual([
    'do one',
    'do another',
  ]);
});

test('11.2.9 11.2.10 readDot refuses what checkDot calls an error; warnings alone refuse nothing', () => {
  const odd = digraph('start -> a -> exit\na [shape=box]');
  expect(lintOf(odd)).toEqual(['warning prompt_on_llm_nodes 6:1']);
  expect(readDot(odd, dotOptions()).warnings).toHaveLength(1);
  const wrong = digraph('start -> a -> exit\nlost -> exit\na [prompt=x]\nlost [prompt=x]');
  const { violations, workflow } = checkDot(wrong, dotOptions());
  expect([workflow, violations.map(({ rule, severity }) => [rule, severity])]).toEqual([
    undefined,
    [['reachability', 'error']],
  ]);
  expect(() => readDot(wrong, dotOptions())).toThrow(expect.objectContaining({ code: 'GRAPH_INVALID' }));
});

test('6.1.15 a skipped stage is in the history, and leaves the outcome of the one before it', async () => {
  const text = digraph(
    `start -> a -> s\ns -> b [condition="context.outcome=partial_success"]\ns -> c\nb -> exit\nc -> exit\n${box('a', 's', 'b', 'c')}`,
  );
  const { history, context } = await runDot(text, { script: { a: ['partial_success'], s: ['skipped'] } });
  expect(history).toEqual(['start', 'a: partial_success', 's: skipped', 'b']);
  expect(context).toMatchObject({ last_stage: 'b' });
});

test('6.1.5 a person’s choice is both: the preferred label and the suggested stage', async () => {
  const text = digraph(
    `start -> gate\ngate [shape=hexagon, timeout=1s, human.default_choice=b]\ngate -> a [label="[A] Yes"]\ngate -> b [label="[B] No"]\na -> exit\nb -> exit\n${box('a', 'b')}`,
  );
  const { result } = await runDot(text);
  expect(result.state.outputs['gate']).toEqual({
    outcome: 'success',
    preferred_label: '[B] No',
    suggested_next_ids: ['b'],
  });
});

test('6.1.8 current_node is the running stage for a handler, and the one that ended last in a checkpoint', async () => {
  const seen: unknown[] = [];
  const look: StageHandler = {
    effect: 'read',
    run: ({ value }) => {
      seen.push([value('current_node'), value('last_stage')]);
      return { status: 'success' };
    },
  };
  const { context } = await runDot(digraph('start -> a -> b -> exit\na [type=look]\nb [type=look]'), {
    handlers: { look },
  });
  expect(seen).toEqual([
    ['a', 'start'],
    ['b', 'a'],
  ]);
  expect(context['current_node']).toBe('b');
});
