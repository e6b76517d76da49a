/** Deploys under agents that wait: the traps in which a record meets other code, each by its name. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agent, type AgentConfig } from '../../src/agents/agent.ts';
import { tool, type AgentTool, type FunctionTool } from '../../src/agents/tools/tool-box.ts';
import { NodeFailure, type NodeContext } from '../../src/graph/contracts/node-contract.ts';
import type { RunResult } from '../../src/engine/api.ts';
import type { Graph } from '../../src/graph/graph.ts';
import type { NodeOptions } from '../../src/nodes/draft/node-draft.ts';
import { createScriptedModels, type ScriptedAnswer, type ScriptedModels } from '../../src/models/scripted.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest, type Bench } from '../engine-kit.ts';

type Tools = NonNullable<AgentConfig['tools']>;

/** An agent that mails at once, and refunds when a person approves. Every effect leaves a line in the world. */
class Clerk {
  readonly world: string[] = [];
  readonly models: ScriptedModels;
  readonly bench: Bench;

  constructor(script: readonly ScriptedAnswer[]) {
    this.models = createScriptedModels(
      ({ messages }) => script[messages.filter(({ role }) => role === 'assistant').length] ?? 'Fin.',
    );
    this.bench = createBench({ models: this.models });
  }

  mail(more: Partial<FunctionTool> = {}): FunctionTool {
    const run = (args: unknown): string => `mailed ${this.world.push(`mail ${JSON.stringify(args)}`)}`;
    return tool({ description: 'Mails.', input: z.object({ to: z.string() }), run, ...more });
  }

  refund(more: Partial<FunctionTool> = {}): FunctionTool {
    const run = (args: unknown): string => `paid ${this.world.push(`refund ${JSON.stringify(args)}`)}`;
    const input = z.object({ order: z.string(), amount: z.number() });
    return tool({ description: 'Pays back.', input, run, ...more });
  }

  composedMail(then: (ctx: NodeContext) => unknown = () => 'mailed'): AgentTool {
    return tool({
      description: 'Mails.',
      input: z.object({ to: z.string() }),
      composed: true,
      run: async (args, ctx) => {
        await ctx.step('send', { effect: 'external', input: args }, () =>
          this.world.push(`mail ${JSON.stringify(args)}`),
        );
        return then(ctx);
      },
    });
  }

  graph(tools: Tools = {}, config: Partial<AgentConfig> = {}, options: NodeOptions = {}): Graph {
    const all: Tools = { mail: this.mail(), refund: this.refund(), ...tools };
    const named = Object.fromEntries(Object.entries(all).filter(([, one]) => (one as unknown) !== undefined));
    const allow = 'mail' in named ? ['mail'] : [];
    const worker = agent(
      { model: 'm', instructions: 'Be kind.', prompt: 'Go.', allow, ...config, tools: named },
      options,
    );
    return graphOf('g', [{ id: 'a', ...worker }], edges('> a', 'a >'));
  }

  /** Goes on in another process, which has this code. */
  async resume(graph: Graph, runId = 'r'): Promise<RunResult> {
    const engine = afterCrash(this.bench);
    engine.know(graph);
    return resumeToRest(engine, runId, graph);
  }

  async answer(graph: Graph, answer: unknown = 'approve', runId = 'r'): Promise<RunResult> {
    const engine = afterCrash(this.bench);
    engine.know(graph);
    const { waits } = await engine.inspect(runId);
    await engine.answer(runId, waits[0]?.waitId ?? '', answer);
    return resumeToRest(engine, runId, graph);
  }

  /** What the model was told last of its calls. */
  get told(): readonly unknown[] {
    const content = this.models.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool')?.content;
    return Array.isArray(content) ? content.map((part: object) => ('output' in part ? part.output : undefined)) : [];
  }

  async begin(graph = this.graph()): Promise<RunResult> {
    return runToRest(this.bench.engine, graph, {}, 'r');
  }
}

const gone = undefined as never;
const toAnn = { tool: 'mail', input: { to: 'ann' } } as const;
const back = { tool: 'refund', input: { order: 'A', amount: 40 } } as const;
const oneAnswer: readonly ScriptedAnswer[] = [{ calls: [toAnn, back] }, 'Fin.'];
const twoAnswers: readonly ScriptedAnswer[] = [{ calls: [toAnn] }, { calls: [back] }, 'Fin.'];
const mailed = 'mail {"to":"ann"}';
const paid = 'refund {"order":"A","amount":40}';

const places = [
  ['the same answer', oneAnswer],
  ['an earlier answer', twoAnswers],
] as const;

describe.each(places)('A4 a mail that was sent in %s', (_, script) => {
  const ways: readonly (readonly [string, (own: Clerk) => Tools])[] = [
    ['vanished tools: its tool is gone', () => ({ mail: gone })],
    [
      'gained defaults: its schema has one more',
      (own) => ({ mail: own.mail({ input: z.object({ to: z.string(), cc: z.string().default('boss') }) }) }),
    ],
    ['its schema refuses the arguments', (own) => ({ mail: own.mail({ input: z.object({ address: z.string() }) }) })],
    ['its tool is composed now', (own) => ({ mail: own.composedMail() })],
    ['its tool is called less often than it was', (own) => ({ mail: own.mail({ callsMax: 0 }) })],
    ['its tool is cacheable now', (own) => ({ mail: own.mail({ cacheable: true }) })],
    ['its tool is of another class', (own) => ({ mail: own.mail({ effect: 'read' }) })],
  ];
  test.each(ways)('A4 %s: its result stands, it is sent once, and the run goes on', async (_way, change) => {
    const own = new Clerk(script);
    await own.begin();
    expect((await own.answer(own.graph(change(own)))).status).toBe('completed');
    expect(own.world).toEqual([mailed, paid]);
    const results = own.models.requests
      .at(-1)
      ?.messages.flatMap(({ role, content }) => (role === 'tool' ? content : []));
    expect(JSON.stringify(results)).toContain('mailed 1');
  });

  test('A4 begun by a composed tool that is a function now: what it did stands, and the model is told that it is not known', async () => {
    const own = new Clerk(script);
    const asks = own.composedMail((ctx) => ctx.ask({ prompt: 'Was it read?' }));
    await own.begin(own.graph({ mail: asks, refund: own.refund({ approval: 'never' }) }));
    const graph = own.graph({ refund: own.refund({ approval: 'never' }) });
    expect((await own.resume(graph)).status).toBe('completed');
    expect(own.world.filter((line) => line === mailed)).toHaveLength(1);
    const results = JSON.stringify(own.models.requests.at(-1)?.messages);
    expect(results).toContain('it had begun, and the tool has changed since. It is not known whether it took effect.');
  });
});

describe('A6.1 an approval that waits', () => {
  test.each([
    ['a field of its schema is described', z.object({ order: z.string().describe('The id.'), amount: z.number() })],
    ['its schema takes more', z.object({ order: z.string(), amount: z.number(), note: z.string().optional() })],
  ])('A6.1 %s: the answer counts, and nobody is asked again', async (_, input) => {
    const own = new Clerk(oneAnswer);
    await own.begin();
    expect((await own.answer(own.graph({ refund: own.refund({ input }) }))).status).toBe('completed');
    expect(own.world).toEqual([mailed, paid]);
  });

  test.each([
    ['its tool is gone', () => ({ refund: gone }), 'there is no tool "refund"; there are: mail'],
    [
      'its arguments no longer fit',
      (own: Clerk) => ({ refund: own.refund({ input: z.object({ order: z.string(), cents: z.number() }) }) }),
      expect.stringContaining('the arguments of refund do not fit'),
    ],
  ] as const)(
    'A6.1 %s: it is closed as changed, its answer is not used, and the model is told',
    async (_, change, told) => {
      for (const isAnswered of [true, false]) {
        const own = new Clerk(oneAnswer);
        await own.begin();
        const graph = own.graph(change(own));
        const done = isAnswered ? await own.answer(graph) : await own.resume(graph);
        expect([done.status, done.waits, own.world]).toEqual(['completed', [], [mailed]]);
        expect(own.told).toEqual(['mailed 1', told]);
        const kinds: string[] = [];
        for await (const { change: parts } of own.bench.engine.history.log('r'))
          kinds.push(
            ...parts.flatMap(({ kind, step = '' }) => (kind === 'changed' ? [step.split(' ')[0] as string] : [])),
          );
        expect(kinds).toEqual(['approve']);
      }
    },
  );

  test.each([
    ['a default', z.object({ order: z.string(), amount: z.number(), currency: z.string().default('EUR') })],
    [
      'a transform',
      z.object({ order: z.string(), amount: z.number() }).transform((one) => ({ ...one, currency: 'EUR' })),
    ],
  ])('A6.1 the schema makes other arguments, by %s: it is asked anew with what differs', async (_, input) => {
    const own = new Clerk(oneAnswer);
    await own.begin();
    const graph = own.graph({ refund: own.refund({ input }) });
    const asked = await own.answer(graph);
    expect([asked.status, own.world]).toEqual(['paused', [mailed]]);
    expect(asked.waits[0]?.prompt).toMatch(
      /^The tool has changed since this was asked: currency was absent, and is "EUR"\.\nMay the agent call refund\?/u,
    );
    // It stays the same question in the next process.
    expect((await own.resume(graph)).waits[0]?.waitId).toBe(asked.waits[0]?.waitId);
    expect((await own.answer(graph)).status).toBe('completed');
    expect(own.world).toEqual([mailed, 'refund {"order":"A","amount":40,"currency":"EUR"}']);
  });

  test('A6.1 a default that is another each time is asked about once, under changed code too', async () => {
    let count = 0;
    const input = z.object({
      order: z.string(),
      amount: z.number(),
      id: z.string().default(() => `id ${(count += 1)}`),
    });
    const own = new Clerk(oneAnswer);
    const first = await own.begin(own.graph({ refund: own.refund({ input }) }));
    const shown = (first.waits[0] as { metadata: { args: { id: string } } }).metadata.args.id;
    const done = await own.answer(own.graph({ refund: own.refund({ input, description: 'Pays all back.' }) }));
    expect([done.status, own.world]).toEqual([
      'completed',
      [mailed, `refund {"order":"A","amount":40,"id":"${shown}"}`],
    ]);
  });

  test('A6 begun approved calls: in flight at the crash and its schema changed, it is in doubt, and runs again as it was approved', async () => {
    const own = new Clerk(oneAnswer);
    const begun = Promise.withResolvers<void>();
    const hangs = own.refund({ run: () => (begun.resolve(), new Promise<never>(() => {})) });
    const before = own.graph({ refund: hangs });
    const first = await own.begin(before);
    await own.bench.engine.answer('r', first.waits[0]?.waitId ?? '', {
      decision: 'edit',
      args: { order: 'A', amount: 30 },
    });
    const { engine } = own.bench;
    await engine.resume('r', { graph: before });
    await begun.promise;
    const input = z.object({ order: z.string(), amount: z.number(), currency: z.string().default('EUR') });
    const graph = own.graph({ refund: own.refund({ input }) });
    const asked = await own.resume(graph);
    expect(asked.waits.map(({ prompt }) => prompt)).toEqual([expect.stringContaining('It is not known whether')]);
    expect((await own.answer(graph, 'run again')).status).toBe('completed');
    expect(own.world).toEqual([mailed, 'refund {"order":"A","amount":30}']);
  });
});

describe('A3 model calls by their place', () => {
  test('A3 a started request does not beat an answer recorded there: back to the first code, nothing is paid twice', async () => {
    const own = new Clerk([{ calls: [toAnn] }, { calls: [back] }, 'Fin.']);
    const first = own.graph({ refund: own.refund({ approval: 'never' }) }, { instructions: 'One.' });
    const second = own.graph({ refund: own.refund({ approval: 'never' }) }, { instructions: 'Two.' });
    const begun = Promise.withResolvers<void>();
    const { generate } = own.models;
    let calls = 0;
    // Killed in its second call under the first code.
    own.models.generate = (request) =>
      (calls += 1) === 2 ? (begun.resolve(), new Promise<never>(() => {})) : generate(request);
    await own.bench.engine.start(first, {}, { runId: 'r' });
    await begun.promise;
    // Killed in its third call under the second one, behind the refund.
    const again = Promise.withResolvers<void>();
    own.models.generate = (request) =>
      request.messages.filter(({ role }) => role === 'assistant').length === 2
        ? (again.resolve(), new Promise<never>(() => {}))
        : generate(request);
    const engine = afterCrash(own.bench);
    engine.know(second);
    await engine.resume('r', { graph: second });
    await again.promise;
    own.models.generate = generate;
    expect((await own.resume(first)).status).toBe('completed');
    expect(own.world).toEqual([mailed, paid]);
  });

  test('A3 a recorded failure keeps winning: under changed code the attempt fails as it did', async () => {
    const own = new Clerk([new NodeFailure('no', { code: 'MODEL_REFUSED', applied: 'no' })]);
    const failed = await own.begin();
    expect(failed.error?.code).toBe('NODE_FAILED');
    const bought = own.models.requests.length;
    // The next attempt asks anew, with the agent as it is now.
    const done = await own.resume(own.graph({}, { instructions: 'Be brief.' }));
    expect([done.status, own.models.requests.length - bought]).toEqual(['failed', 1]);
  });

  test.each(['native', 'json'] as const)('A3 changed modes: what began in mode %s ends in it', async (mode) => {
    const spoken = JSON.stringify({ calls: [{ tool: 'refund', input: { order: 'A', amount: 40 } }] });
    const own = new Clerk(mode === 'native' ? [{ calls: [back] }, 'Fin.'] : [spoken, '{"answer":"Fin."}']);
    await own.begin(own.graph({}, { mode }));
    const done = await own.answer(own.graph({}, { mode: mode === 'native' ? 'xml' : 'native' }));
    expect([done.status, done.state.outputs, own.world]).toEqual(['completed', { a: 'Fin.' }, [paid]]);
  });

  test('A4 equal calls are counted by the record: one that did not fit then, and fits now, takes no number', async () => {
    const odd = { tool: 'mail', input: { x: 1 } };
    const own = new Clerk([{ calls: [odd] }, { calls: [odd, back] }, 'Fin.']);
    await own.begin();
    const done = await own.answer(own.graph({ mail: own.mail({ input: z.object({ x: z.number() }) }) }));
    expect([done.status, own.world]).toEqual(['completed', ['mail {"x":1}', paid]]);
  });

  test('A11 an equal call after a summary is another call, under changed code too', async () => {
    const script: readonly ScriptedAnswer[] = [
      { calls: [toAnn] },
      { calls: [toAnn] },
      { calls: [toAnn, back] },
      'Fin.',
    ];
    const own = new Clerk(script);
    let turn = 0;
    const models = createScriptedModels(({ messages, tools }) =>
      tools === undefined
        ? 'In short.'
        : (script[messages.some(({ content }) => content === 'Go.') ? (turn += 1) - 1 : turn++] ?? 'Fin.'),
    );
    const bench = createBench({ models });
    Object.assign(own, { models, bench });
    const history = { messagesMax: 3, summary: { messagesKept: 1 } };
    const asked = await own.begin(own.graph({}, { history }));
    expect(asked.status).toBe('paused');
    const sent = own.world.length;
    expect(sent).toBe(3);
    const done = await own.answer(own.graph({}, { history, instructions: 'Be brief.' }));
    expect([done.status, own.world.slice(sent)]).toEqual(['completed', [paid]]);
  });
});

describe('A3 the instructions of a conversation', () => {
  const systemOf = (own: Clerk): unknown => own.models.requests.at(-1)?.messages[0]?.content;
  const told = async (own: Clerk): Promise<readonly unknown[]> => {
    const found: unknown[] = [];
    for await (const { change } of own.bench.engine.history.log('r'))
      for (const { name, detail } of change)
        if (name === 'agent-changed') found.push((detail as { changes: unknown }).changes);
    return found;
  };

  test('A3 a function that gives another text each time: the recorded one stands in its visit, which is told once', async () => {
    let day = 0;
    const own = new Clerk([
      { calls: [back] },
      { calls: [{ tool: 'refund', input: { order: 'B', amount: 1 } }] },
      'Fin.',
    ]);
    const graph = own.graph({}, { instructions: () => `Day ${(day += 1)}` });
    await own.begin(graph);
    await own.answer(graph);
    expect(systemOf(own)).toBe('Day 1');
    expect((await own.answer(graph)).status).toBe('completed');
    expect([systemOf(own), await told(own)]).toEqual(['Day 1', [['instructions (stays as it was)']]]);
  });

  test.each([
    ['equal', '1', 'Day 1', [['instructions (stays as it was)']]],
    ['another', '2', 'Day 2!', [['instructions']]],
  ])('A3 a function whose version is %s', async (_, version, system, changes) => {
    let day = 0;
    const own = new Clerk([{ calls: [back] }, 'Fin.']);
    await own.begin(own.graph({}, { instructions: () => `Day ${(day += 1)}` }, { version: '1' }));
    await own.answer(own.graph({}, { instructions: () => `Day ${(day += 1)}!` }, { version }));
    expect([systemOf(own), await told(own)]).toEqual([system, changes]);
  });

  test('A3 a function of another source: its text counts from the next call on', async () => {
    const own = new Clerk([{ calls: [back] }, 'Fin.']);
    await own.begin(own.graph({}, { instructions: () => 'Be kind.' }));
    await own.answer(own.graph({}, { instructions: () => 'Be very kind.' }));
    expect([systemOf(own), await told(own)]).toEqual(['Be very kind.', [['instructions']]]);
  });
});

test('A4 a composed tool whose schema makes another id each time gets the same when it is repeated', async () => {
  let count = 0;
  const input = z.object({ to: z.string(), id: z.string().default(() => `id ${(count += 1)}`) });
  const own = new Clerk([{ calls: [toAnn] }, 'Fin.']);
  const mail = tool({
    description: 'Mails.',
    input,
    composed: true,
    run: async (args, ctx) => {
      await ctx.step('send', { effect: 'external', input: args }, () => own.world.push(`mail ${JSON.stringify(args)}`));
      return ctx.ask({ prompt: 'Was it read?' });
    },
  });
  const graph = own.graph({ mail });
  expect((await own.begin(graph)).waits.map(({ prompt }) => prompt)).toEqual(['Was it read?']);
  const done = await own.answer(graph, 'yes');
  expect([done.status, done.error?.cause, own.world.length]).toEqual(['completed', undefined, 1]);
});

test('A4 a node that was a tool: its result stands though the tool is gone, and one under way is closed', async () => {
  const looks = node('look', 'read', () => 'seen');
  const asks = node('look', 'read', (ctx) => ctx.ask({ prompt: 'Which?' }));
  const look = (draft: typeof looks): AgentTool => tool({ description: 'Looks.', input: z.object({}), node: draft });
  const script: readonly ScriptedAnswer[] = [{ calls: [{ tool: 'look', input: {} }] }, { calls: [back] }, 'Fin.'];
  const over = new Clerk(script);
  await over.begin(over.graph({ look: look(looks) }));
  expect((await over.answer(over.graph())).status).toBe('completed');
  expect(JSON.stringify(over.models.requests.at(-1)?.messages)).toContain('"output":"seen"');
  const under = new Clerk(script);
  const waiting = await under.begin(under.graph({ look: look(asks) }));
  expect(waiting.waits.map(({ prompt }) => prompt)).toEqual(['Which?']);
  const asked = await under.resume(under.graph());
  expect(asked.waits.map(({ prompt }) => prompt)).toEqual([expect.stringContaining('May the agent call refund?')]);
  expect((await under.answer(under.graph())).status).toBe('completed');
});
