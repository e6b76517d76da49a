/** An option that nothing reads is refused where it is given, by name: it is never accepted and ignored. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  END,
  fileNode,
  functionNode,
  guardrailNode,
  httpNode,
  humanNode,
  mapNode,
  openCairn,
  openHistory,
  outcome,
  routerNode,
  shellNode,
  subgraphNode,
  toolNode,
  workflow,
  type NodeContext,
  type NodeDraft,
} from '../src/index.ts';
import { exportFiles } from '../src/dot.ts';
import { checkpointStoreOver } from '../src/app/checkpoint-store/index.ts';
import { createMemoryStore } from '../src/stores/memory/index.ts';
import { chain, collect, open } from './support/small-graphs.ts';
import { faultsOf } from './yaml-kit.ts';

/** As plain JavaScript gives it: no type checker stands between. */
const odd: Record<string, never> = { maxSteps: 5 as never };
const one = (): number => 1;
const simple = (): ReturnType<typeof open> => chain(open().addNode('a', one), 'a');

describe('graphs and workflows', () => {
  const flow = () => workflow('w').input(z.object({}));
  const begun = () => flow().step('a', one);

  test.each<[string, () => { toGraph(): unknown }]>([
    ['a graph', () => chain(open(odd).addNode('a', one), 'a')],
    ['the schemas of a graph', () => chain(open({}, { ...odd }).addNode('a', one), 'a')],
    ['a node', () => chain(open().addNode('a', one, odd), 'a')],
    ['the retries of a node', () => chain(open().addNode('a', one, { retry: { attempts: 2, ...odd } }), 'a')],
    ['the join of a node', () => chain(open().addNode('a', one, { join: { first: 1, ...odd } }), 'a')],
    ['a draft', () => chain(open().addNode('a', { ...functionNode(one), ...odd }), 'a')],
    ['an edge', () => simple().addEdge('a', END, odd)],
    ['a conditional edge', () => simple().addConditionalEdge('a', () => END, [END], odd)],
    ['a workflow', () => workflow('w', odd).input(z.object({})).step('a', one).returns(one)],
    ['a step', () => flow().step('a', one, odd).returns(one)],
    [
      'a branch',
      () =>
        begun()
          .branch(() => 'x', { x: one }, odd)
          .returns(one),
    ],
    ['a parallel part', () => begun().parallel({ x: one }, odd).returns(one)],
  ])('G9 of %s', (_, build) => {
    expect(() => build().toGraph()).toThrow(
      expect.objectContaining({ code: 'GRAPH_INVALID', message: expect.stringContaining('maxSteps') as unknown }),
    );
  });

  test.each(['requiresApproval', 'memory', 'guardrails', 'costCap', 'effect'])(
    'G9 %s is no option of a node, an edge, a graph or a workflow',
    (name) => {
      const option: Record<string, never> = { [name]: {} as never };
      for (const build of [
        () => chain(open(option).addNode('a', one), 'a'),
        () => chain(open().addNode('a', one, option), 'a'),
        () => simple().addEdge('a', END, option),
        () => workflow('w', option).input(z.object({})).step('a', one, option).returns(one),
      ])
        expect(() => build().toGraph()).toThrow(name);
    },
  );
});

describe('node builders', () => {
  const child = simple().toGraph();
  const builders: readonly (readonly [
    string,
    (config: Record<string, never>, options?: Record<string, never>) => NodeDraft,
  ])[] = [
    ['toolNode', (config, options) => toolNode({ name: 't', execute: one }, config, options)],
    ['humanNode', (config, options) => humanNode({ prompt: '?', ...config }, options)],
    ['routerNode', (config, options) => routerNode(() => 'a', config, options)],
    ['guardrailNode', (config, options) => guardrailNode({ check: () => true, ...config }, options)],
    ['subgraphNode', (config, options) => subgraphNode(child, config, options)],
    ['mapNode', (config, options) => mapNode({ over: () => [], each: one, ...config }, options)],
    ['shellNode', (config, options) => shellNode({ command: ['true'], ...config }, options)],
    ['httpNode', (config, options) => httpNode({ url: 'http://localhost', ...config }, options)],
    ['fileNode', (config, options) => fileNode({ action: 'read', path: 'x', ...config }, options)],
  ];

  test.each(builders)(
    'N3 of %s, in its configuration at once, in its options when the graph is compiled',
    (_, build) => {
      expect(() => build(odd)).toThrow(/knows no option "maxSteps"/);
      const graph = chain(open().addNode('a', build({}, odd)), 'a');
      expect(() => graph.toGraph()).toThrow(/maxSteps/);
    },
  );
});

describe('calls', () => {
  test('G9 of compile, of an engine’s bounds, and a bound that is no number', () => {
    const refused = (path: string) =>
      expect.objectContaining({ code: 'CONFIG_INVALID', data: expect.objectContaining({ path }) as unknown });
    expect(() => simple().compile(odd)).toThrow(refused('maxSteps'));
    expect(() => simple().compile({ bounds: odd }).engine).toThrow(refused('bounds.maxSteps'));
    expect(() => simple().compile({ bounds: { steps: 'many' as never } }).engine).toThrow(refused('bounds.steps'));
    // What they were called before.
    expect(() => simple().compile({ limits: { steps: Number.NaN } }).engine).toThrow(refused('bounds.steps'));
  });

  test('G9 of every call to a compiled graph, before it does anything', async () => {
    const graph = chain(open({ id: 'g' }).addNode('ask', humanNode({ prompt: '?' })), 'ask');
    const compiled = graph.compile();
    const { runId, seq } = await compiled.invoke({}, { runId: 'r' });
    const calls: readonly (() => Promise<unknown>)[] = [
      () => compiled.invoke({}, { runId: 'other', ...odd }),
      () => compiled.start({}, { runId: 'other', ...odd }),
      () => collect(compiled.stream({}, { runId: 'other', ...odd })),
      () => compiled.resume(runId, { answers: { ask: 'yes' }, ...odd }),
      () => compiled.fork({ runId, seq }, { runId: 'other', ...odd }),
      () => compiled.preview({ runId, seq }, odd),
      () => compiled.answer(runId, 'ask', 'yes', odd),
      () => compiled.signal(runId, 'news', 1, odd),
      async () => collect(compiled.events(runId, odd)),
    ];
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({ code: 'CONFIG_INVALID', data: { path: 'maxSteps' } });
    await expect(compiled.inspect('other')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(await compiled.inspect(runId)).toMatchObject({ status: 'paused', seq });
  });

  test.each<[string, (ctx: NodeContext) => unknown]>([
    ['an option of a step', (ctx) => ctx.step('s', odd, one)],
    ['the effect class of a step under another name', (ctx) => ctx.step('s', { effectClass: 'write' } as object, one)],
    ['an effect class that is none', (ctx) => ctx.step('s', { effect: 'writes' as 'write' }, one)],
    ['retries of a step without a bound', (ctx) => ctx.step('s', { retry: { maxAttempts: 3 } as never }, one)],
    ['a question that is none', (ctx) => ctx.ask(undefined as never)],
    ['a prompt that is no text', (ctx) => ctx.ask({ prompt: 5 as never })],
    ['choices that are none', (ctx) => ctx.ask({ prompt: '?', choices: 5 as never })],
    ['no choice at all', (ctx) => ctx.ask({ prompt: '?', choices: [] })],
    ['options of a step that are none', (ctx) => ctx.step('s', 5 as never, one)],
    ['idempotent that is a word', (ctx) => ctx.step('s', { idempotent: 'no' as never }, one)],
    ['a field of a question', (ctx) => ctx.ask({ prompt: '?', ...odd })],
    ['a part of an outcome', () => outcome({ ...odd })],
  ])('G9 of what a node asks for: %s fails the node', async (_, run) => {
    let calls = 0;
    const node = functionNode(
      (ctx) => {
        calls += 1;
        return run(ctx);
      },
      { effectClass: 'human' },
    );
    const result = await chain(open().addNode('a', node), 'a').compile().invoke({});
    expect([result.status, calls]).toEqual(['failed', 1]);
    expect(result.error?.cause).toMatchObject({
      code: expect.stringMatching(/^(NODE_CALL_REFUSED|STATE_UNKNOWN_CHANNEL)$/) as unknown,
      message: expect.stringMatching(
        /maxSteps|effectClass|"writes"|retry.attempts|maxAttempts|no object|prompt|choices|idempotent/,
      ) as unknown,
    });
  });
});

describe('histories', () => {
  const store = createMemoryStore();
  const runId = 'r';
  const history = openHistory(store);

  test.each<[string, () => unknown]>([
    ['openHistory', () => openHistory(store, odd)],
    ['checkpointStoreOver', () => checkpointStoreOver(store, odd)],
    ['exportFiles', () => exportFiles(store, runId, '/nowhere', odd)],
    ['openCairn', () => openCairn({ store: 'memory:', ...odd })],
    ['list', () => collect(history.list(odd))],
    ['checkpoints', () => collect(history.checkpoints(odd))],
    ['log', () => collect(history.log(runId, odd))],
    ['waits', () => collect(history.waits(odd))],
    ['prune', () => history.prune(runId, odd)],
    ['pruneAll', () => history.pruneAll(odd)],
    ['cleanUp', () => history.cleanUp({}, odd)],
    ['the settings of cleanUp', () => history.cleanUp({ ...odd })],
    ['remove', () => history.remove(runId, odd)],
    ['export', () => collect(history.export(runId, odd))],
    ['import', () => openHistory(createMemoryStore()).import(history.export(runId), odd)],
  ])('G9 P6 of %s, and nothing is done', async (_, act) => {
    await chain(open().addNode('a', one), 'a').compile({ store }).invoke({}, { runId }).catch(() => undefined); // prettier-ignore
    const before = await collect(history.log(runId));
    await expect((async () => act())()).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringMatching(/knows no option "maxSteps"; it knows /) as string }); // prettier-ignore
    expect(await collect(history.log(runId))).toEqual(before);
  });

  test('G9 P6 of an operation of openCairn', async () => {
    const cairn = await openCairn({ store: 'memory:' });
    for (const act of [cairn.listRuns, cairn.inbox, cairn.prune, cairn.removeRun, cairn.cleanup, cairn.draw])
      await expect(act({ run: 'r', ...odd } as never)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await cairn.close();
  });
});

describe('YAML', () => {
  const text = (places: {
    workflow?: string;
    block?: string;
    input?: string;
    retry?: string;
    output?: string;
  }): string =>
    `name: w
description: d
${places.workflow ?? ''}
inputs: { n: { type: num, default: 1${places.input ?? ''} } }
blocks:
  - id: a
    type: Note
    retry: { attempts: 2${places.retry ?? ''} }
    inputs: { value: 1${places.block ?? ''} }
outputs:
  o: { value: "\${a.value}"${places.output ?? ''} }
`;

  test.each([
    ['the workflow', text({ workflow: 'max_steps: 5' })],
    ['its limits', text({ workflow: 'limits: { max_steps: 5 }' })],
    ['its checkpoint settings', text({ workflow: 'checkpoint: { max_steps: 5 }' })],
    ['an input', text({ input: ', max_steps: 5' })],
    ['the inputs of a block', text({ block: ', max_steps: 5' })],
    ['a block', text({}).replace('    type:', '    max_steps: 5\n    type:')],
    ['the retries of a block', text({ retry: ', max_steps: 5' })],
    ['an output', text({ output: ', max_steps: 5' })],
  ])('Y2 of %s', (_, given) => {
    expect(faultsOf(text({}))).toEqual([]);
    expect(faultsOf(given)).toEqual([expect.stringContaining('max_steps')]);
  });
});
