/**
 * Ways in which systems of this kind go wrong without a word, each shown not to be here. More of them, for graphs written in
 * TypeScript: src/dialects/code/traps.test.ts and traps-of-runs.test.ts; for options that nothing reads: unread-options.test.ts; for
 * files that the package lacks: package.test.ts; for YAML: yaml/traps-*.test.ts.
 */
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  END,
  functionNode,
  humanNode,
  NodeFailure,
  outcome,
  routerNode,
  START,
  toolNode,
  workflow,
  type NodeContext,
} from '../src/index.ts';
import { compileChoice } from '../src/graph/expression/expression.ts';
import { createScriptedModels } from '../src/models/scripted.ts';
import { createNodeTypes } from '../src/nodes/blocks/index.ts';
import { createMemoryStore } from '../src/stores/memory/index.ts';
import { chain, collect, diamond, later, open } from './support/small-graphs.ts';
import { runText } from './yaml-kit.ts';

const causeOf = (result: { readonly error?: Error }): unknown => result.error?.cause;

describe('bounds', () => {
  test('G4 a loop makes as many rounds as maxVisits allows, and then fails; it does not go on while it is asked to', async () => {
    let turns = 0;
    const graph = open()
      .addNode('turn', () => (turns += 1), { maxVisits: 3 })
      .addEdge(START, 'turn')
      .addConditionalEdge('turn', () => 'again', { again: 'turn', enough: END });
    const result = await graph.compile().invoke({});
    expect([result.status, result.failed, turns]).toEqual(['failed', ['turn'], 3]);
    expect(causeOf(result)).toMatchObject({ code: 'RUN_LIMIT', data: { limit: 'maxVisits', value: 3 } });
  });

  test('B50 one block that asks a model makes one turn, whatever the answer asks for; with a schema, max_retries at most', async () => {
    const models = createScriptedModels(() => ({
      text: 'Let me use a tool. Shall I go on?',
      finishReason: 'tool-calls',
    }));
    const ask = (inputs: string) =>
      runText(
        `name: w\ndescription: d\nblocks: [{ id: m, type: LLMCall, inputs: { prompt: hi, model: "a:b"${inputs} } }]\noutputs: { m: "\${m.metadata}" }\n`,
        {},
        { nodeTypes: createNodeTypes({ models }) },
      );
    const plain = await ask('');
    expect([plain.result.status, models.requests.length]).toEqual(['completed', 1]);
    expect(plain.outputs).toMatchObject({ m: { attempts: 1, finish_reason: 'tool-calls' } });
    const { result } = await ask(', response_schema: { type: object }, max_retries: 4, retry_delay: 0');
    expect([result.status, models.requests.length]).toEqual(['failed', 1 + 4]);
    expect(result.error?.data).toMatchObject({ node: 'm', code: 'MODEL_OUTPUT_INVALID' });
  });

  test('E6 a node that keeps failing makes the attempts of its policy, and no more', async () => {
    let attempts = 0;
    const failing = (): never => {
      attempts += 1;
      throw new Error('no');
    };
    const graph = open().addNode('a', failing, { retry: { attempts: 3, delayMs: 1 } });
    const result = await chain(graph, 'a').compile().invoke({});
    expect([result.status, attempts]).toEqual(['failed', 3]);
  });
});

describe('names that are computed', () => {
  const called = (name: string): string =>
    `name: ${name}\ndescription: d\nblocks: [{ id: a, type: Note, inputs: { value: ${name} } }]\noutputs: { who: "\${a.value}" }\n`;
  const others = { first: called('first'), second: called('second') };
  const text = `name: w
description: d
inputs: { which: { type: str } }
blocks: [{ id: c, type: ExecuteWorkflow, inputs: { workflow: "\${which}" } }]
outputs: { who: "\${c.who}", name: "\${c.workflow}" }
`;

  test.each(['first', 'second'])('Y7 of workflows called by a computed name, the one named runs: %s', async (which) => {
    const { result, outputs } = await runText(text, { which }, { others });
    expect([result.status, outputs]).toEqual(['completed', { who: which, name: which }]);
  });

  test('Y7 a computed name of no workflow fails the block and lists those there are; no other runs in its place', async () => {
    const { result } = await runText(text, { which: 'third' }, { others });
    expect([result.status, result.failed]).toEqual(['failed', ['c']]);
    expect(result.error?.data).toMatchObject({ node: 'c', code: 'WORKFLOW_NOT_FOUND' });
  });

  const route = (pick: string) => {
    const calls: string[] = [];
    const graph = open()
      .addNode('find', () => pick)
      .addNode(
        'route',
        routerNode(({ state }) => String(state.outputs['find'])),
      )
      .addEdge(START, 'find')
      .addEdge('find', 'route');
    for (const id of ['mail', 'post']) {
      graph.addNode(id, toolNode({ name: id, execute: () => void calls.push(id) }));
      graph.addEdge('route', id).addEdge(id, END);
    }
    return { calls, compiled: graph.compile() };
  };

  test('G3 of tools routed to by a computed name, the one named is called, and no other', async () => {
    for (const pick of ['mail', 'post']) {
      const { calls, compiled } = route(pick);
      expect([(await compiled.invoke({})).status, calls]).toEqual(['completed', [pick]]);
    }
  });

  test('G6 a computed route to a node that is not there, or that no edge leads to, fails by name and calls nothing', async () => {
    for (const pick of ['fax', 'find']) {
      const { calls, compiled } = route(pick);
      const result = await compiled.invoke({});
      expect([result.status, result.failed, calls]).toEqual(['failed', ['route'], []]);
      expect(causeOf(result)).toMatchObject({ code: 'ROUTE_UNKNOWN', data: { node: 'route', target: pick } });
    }
  });

  test('G10 a route to END ends that line: what else the router leads to does not run', async () => {
    const ran: string[] = [];
    const graph = open()
      .addNode(
        'route',
        routerNode(() => END),
      )
      .addNode('after', () => ran.push('after'))
      .addEdge(START, 'route')
      .addEdge('route', 'after')
      .addEdge('route', END)
      .addEdge('after', END);
    const result = await graph.compile().invoke({});
    expect([result.status, result.skipped, ran]).toEqual(['completed', ['after'], []]);
  });
});

describe('expressions', () => {
  const choose = async (text: string, scratch: object): Promise<unknown> => {
    const graph = open()
      .addNode('set', () => outcome({ scratch: { ...scratch } }))
      .addNode('route', routerNode(compileChoice(text)))
      .addNode('yes', () => 1)
      .addNode('no', () => 1)
      .addEdge(START, 'set')
      .addEdge('set', 'route');
    for (const id of ['yes', 'no']) graph.addEdge('route', id).addEdge(id, END);
    return (await graph.compile().invoke({})).state.outputs['route'];
  };

  test('G6 parentheses in an expression mean what they mean; they do not choose another branch', async () => {
    const scratch = { a: true, b: true, c: false };
    expect(await choose('(scratch.a || scratch.b) && scratch.c ? "yes" : "no"', scratch)).toBe('no');
    expect(await choose('scratch.a || (scratch.b && scratch.c) ? "yes" : "no"', scratch)).toBe('yes');
    expect(await choose('!(scratch.a && scratch.b) ? "yes" : "no"', scratch)).toBe('no');
  });

  test('G6 a name that an expression does not know is refused when it is written; it is not read as false', () => {
    for (const text of ['state.scratch.a ? "yes" : "no"', 'scrach.a ? "yes" : "no"', '(scratch.a ? "yes" : "no"'])
      expect(() => compileChoice(text)).toThrow(expect.objectContaining({ code: 'CONDITION_SYNTAX' }));
  });
});

describe('what runs side by side', () => {
  test('W4 what siblings of a question did is kept while it is open, and not done again after the answer', async () => {
    let calls = 0;
    const graph = open()
      .addNode('work', () => {
        calls += 1;
        return outcome({ scratch: { work: 1 }, artifacts: { work: 2 } });
      })
      .addNode('ask', humanNode({ prompt: '?' }))
      .addNode('end', ({ state }) => ({ ...state.artifacts, said: state.outputs['ask'] }), { join: 'all' });
    const compiled = diamond(graph, ['work', 'ask'], 'end').compile();
    const paused = await compiled.invoke({});
    expect([paused.status, paused.state.scratch, paused.state.artifacts]).toEqual(['paused', { work: 1 }, { work: 2 }]);
    const done = await compiled.resume(paused.runId, { answers: { ask: 'go' } });
    expect([done.status, done.state.outputs['end'], calls]).toEqual(['completed', { work: 2, said: 'go' }, 1]);
  });

  test('E5 a channel that no branch touches stays as it was; its reducer does not fold it in once for each branch', async () => {
    const graph = open({ reducers: { 'scratch.sum': 'sum', 'scratch.list': 'append' } })
      .addNode('first', () => outcome({ scratch: { sum: 5, list: ['a'] } }))
      .addEdge(START, 'first');
    for (const id of ['x', 'y', 'z']) graph.addNode(id, () => id).addEdge('first', id);
    graph.addNode('end', () => outcome({ scratch: { sum: 1 } }), { join: 'all' }).addEdge('end', END);
    for (const id of ['x', 'y', 'z']) graph.addEdge(id, 'end');
    const { state } = await graph.compile().invoke({});
    expect(state.scratch).toEqual({ sum: 6, list: ['a'] });
  });

  test('E1 a failure hides no event: siblings after it, its own and the end of the run are in the stream', async () => {
    const graph = open({ checkpointPolicy: 'every_node' })
      .addNode('bad', () => Promise.reject(new NodeFailure('no', { code: 'BAD' })))
      .addNode('good', () => later());
    for (const id of ['bad', 'good']) graph.addEdge(START, id).addEdge(id, END);
    const compiled = graph.compile();
    const changes = (await collect(compiled.stream({}, { runId: 'r' }))).flatMap((event) =>
      event.type === 'checkpoint' ? event.change : [],
    );
    expect(changes.filter(({ kind }) => kind === 'settle').map(({ node, status }) => [node?.at(-1), status])).toEqual([
      ['bad', 'failed'],
      ['good', undefined],
    ]);
    expect(changes.at(-1)).toMatchObject({ kind: 'end', status: 'failed' });
    expect(await compiled.inspect('r')).toMatchObject({ status: 'failed', failed: ['bad'] });
  });
});

describe('what was refused changes nothing', () => {
  test('G7 a graph stays what it was when it was compiled, whatever is added to its builder and refused', async () => {
    const graph = chain(
      open().addNode('a', () => 1),
      'a',
    );
    const compiled = graph.compile();
    const { hash, nodes, edges } = compiled.graph;
    graph.addNode('a', () => 2).addNode('b', 'nothing' as never, { odd: 1 } as never);
    graph.addEdge('a', 'nowhere');
    expect(() => graph.compile()).toThrow(/nowhere/);
    expect(() => (nodes as unknown[]).push({})).toThrow(TypeError);
    expect(compiled.graph).toMatchObject({ hash, nodes: { length: nodes.length }, edges: { length: edges.length } });
    expect((await compiled.invoke({})).state.outputs).toEqual({ a: 1 });
  });

  test('G1 a step that is refused leaves the workflow that it was added to as it was', () => {
    const flow = workflow('w')
      .input(z.object({}))
      .step('a', () => 1)
      .returns(() => 1);
    const { hash } = flow.toGraph();
    expect(() => flow.step('a', () => 2).toGraph()).toThrow(/a second node "a"/);
    expect(flow.toGraph().hash).toBe(hash);
  });

  test('G1 what a graph was made of can be changed afterwards without changing the graph', async () => {
    const config = { args: { to: ['ada'] } };
    const settings = { outputAs: 'sent', retry: { attempts: 2 } };
    const reducers: Record<string, 'sum' | 'max'> = { 'scratch.n': 'sum' };
    const options = { id: 'mailer', reducers };
    const tool = { name: 'mail', execute: (args: unknown) => args };
    const graph = chain(open(options).addNode('mail', toolNode(tool, config), settings), 'mail');
    const compiled = graph.compile();
    const { hash } = compiled.graph;
    config.args.to.push('eve');
    settings.outputAs = 'stolen';
    settings.retry.attempts = 9;
    reducers['scratch.n'] = 'max';
    options.id = 'other';
    expect(compiled.graph).toMatchObject({ id: 'mailer', hash, reducers: { 'scratch.n': 'sum' } });
    expect(compiled.graph.nodes[2]).toMatchObject({ outputAs: 'sent', retry: { attempts: 2 } });
    expect((await compiled.invoke({})).state.artifacts).toEqual({ sent: { to: ['ada'] } });
  });

  test('H2 a fork that is refused makes no run, and leaves the history that it was asked of as it was', async () => {
    const store = createMemoryStore();
    const graph = open({ checkpointPolicy: 'every_node' })
      .addNode('a', () => outcome({ scratch: { n: 1 } }))
      .addNode('ask', humanNode({ prompt: '?', choices: ['yes', 'no'] }));
    const compiled = chain(graph, 'a', 'ask').compile({ store });
    const { runId, seq } = await compiled.invoke({}, { runId: 'r' });
    const key = { tenant: 'default', runId };
    const written = async () => [
      (await store.listRuns({ tenant: 'default', limit: 9 })).rows,
      await store.readCheckpoints(key, { from: 0, to: 99 }),
      await compiled.inspect(runId),
    ];
    const before = await written();
    expect(before[0]).toHaveLength(1);
    const good = { 'scratch.n': 2 };
    for (const [options, code] of [
      [{ set: { ...good, 'nowhere.n': 1 } }, 'STATE_UNKNOWN_CHANNEL'],
      [{ set: { ...good, 'scratch.live': () => 1 } }, 'VALUE_UNSTORABLE'],
      [{ set: good, answers: { ask: 'maybe' } }, 'ANSWER_INVALID'],
      [{ set: good, answers: { nobody: 'yes' } }, 'WAIT_NOT_FOUND'],
      [{ set: good, runId: 'r' }, 'RUN_EXISTS'],
      [{ patch: good } as never, 'CONFIG_INVALID'],
    ] as const) {
      await expect(compiled.fork({ runId, seq }, options)).rejects.toMatchObject({ code });
    }
    await expect(compiled.fork({ runId, seq: 99 }, { set: good })).rejects.toMatchObject({
      code: 'CHECKPOINT_NOT_FOUND',
    });
    expect(await written()).toEqual(before);
  });
});

describe('live objects', () => {
  class Session {
    readonly socket = {};
  }
  const live: readonly (readonly [string, () => unknown])[] = [
    ['an instance of a class', () => new Session()],
    ['a function', () => () => 1],
    ['a stream', () => Readable.from([])],
    ['a timer', () => setTimeout(() => {}, 0)],
    ['a signal', () => new AbortController().signal],
  ];

  test.each(live)(
    'C2 %s is refused with its path wherever a value may come in; it is not stored as a shell',
    async (_, make) => {
      const value = { talk: { with: make() } };
      const places: readonly (readonly [string, (ctx: NodeContext) => unknown])[] = [
        ['outputs.a.talk.with', () => value],
        ['scratch.x.talk.with', () => outcome({ scratch: { x: value } })],
        ['artifacts.x.talk.with', () => outcome({ artifacts: { x: value } })],
        ['diagnostics.x.talk.with', () => outcome({ diagnostics: { x: value } })],
        ['outputs.a.s.talk.with', (ctx) => ctx.step('s', {}, () => value)],
        ['a.saved.talk.with', (ctx) => ctx.save(value)],
        ['metadata.talk.with', (ctx) => ctx.ask({ prompt: '?', metadata: value })],
      ];
      for (const [path, run] of places) {
        const node = functionNode(run as () => unknown, { effectClass: 'human' });
        const result = await chain(open().addNode('a', node), 'a').compile().invoke({});
        expect([path, result.status]).toEqual([path, 'failed']);
        expect(causeOf(result)).toMatchObject({ code: 'VALUE_UNSTORABLE', message: expect.stringContaining(path) });
      }
    },
  );

  test('C2 a live object is refused as input, as answer and as signal, and what waits stays open', async () => {
    const value = { talk: new Session() };
    const refused = { code: 'VALUE_UNSTORABLE', message: expect.stringContaining('talk') as unknown };
    const compiled = chain(open().addNode('ask', humanNode({ prompt: '?' })), 'ask').compile();
    await expect(compiled.invoke(value, { runId: 'none' })).rejects.toMatchObject(refused);
    await expect(compiled.inspect('none')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    const { runId } = await compiled.invoke({});
    await expect(compiled.answer(runId, 'ask', value)).rejects.toMatchObject(refused);
    await expect(compiled.signal(runId, 'news', value)).rejects.toMatchObject(refused);
    const { status, waits } = await compiled.inspect(runId);
    expect([status, waits.length]).toEqual(['paused', 1]);
  });
});
