/**
 * An agent that is changed under a run: how it goes on, what it refuses by name before anything is paid where it is told to, and what a
 * fork does.
 */
import { generateText } from 'ai';
import { describe, expect, test } from 'vitest';
import { agent, type AgentConfig } from '../../src/agents/agent.ts';
import { tool, type FunctionTool } from '../../src/agents/tools/tool-box.ts';
import { readAgentState } from '../../src/agents/view/agent-state.ts';
import { durable } from '../../src/ai-sdk/index.ts';
import { NodeFailure, type NodeContext } from '../../src/graph/contracts/node-contract.ts';
import type { Engine, RunResult } from '../../src/engine/api.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { createScriptedModels, type ScriptedAnswer } from '../../src/models/scripted.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../engine-kit.ts';

const input = { type: 'object' };

/** An agent in its third loop: it has looked, has sent what a person edited, and asks. */
class Standing {
  looks = 0;
  readonly sent: unknown[] = [];
  readonly models = createScriptedModels(({ messages }): ScriptedAnswer => {
    const turn = messages.filter(({ role }) => role === 'assistant').length;
    const calls = [{ tool: 'look' }, { tool: 'send', input: { to: 'ann' } }];
    return [{ calls }, { calls: [{ tool: 'ask' }] }][turn] ?? 'Done.';
  });
  readonly bench = createBench({ models: this.models });

  look(more: Partial<FunctionTool> = {}): FunctionTool {
    const run = (): string => `look ${(this.looks += 1)}`;
    return tool({ description: 'Looks.', input, effect: 'read', run, ...more });
  }

  send(more: Partial<FunctionTool> = {}): FunctionTool {
    return tool({ description: 'Sends.', input, run: (args) => (this.sent.push(args), 'sent'), ...more });
  }

  graph(change: (own: Standing) => Partial<AgentConfig>): Graph {
    const ask = tool({
      description: 'Asks.',
      input,
      composed: true,
      run: (_, ctx: NodeContext) => ctx.ask({ prompt: 'Which?' }),
    });
    const { tools, ...more } = change(this);
    const all = { look: this.look(), send: this.send(), ask, ...tools };
    const named = Object.fromEntries(Object.entries(all).filter(([, entry]) => entry !== undefined));
    const config = { model: 'm', instructions: 'Work.', prompt: 'Go.', ...more, tools: named };
    return graphOf('g', [{ id: 'a', ...agent(config) }], edges('> a', 'a >'));
  }

  async begin(): Promise<RunResult> {
    const { engine } = this.bench;
    const graph = this.graph(() => ({}));
    const first = await runToRest(engine, graph, {}, 'r');
    await engine.answer('r', first.waits[0]?.waitId ?? '', { decision: 'edit', args: { to: 'bob' } });
    return resumeToRest(engine, 'r', graph);
  }

  /** Answers the one question that is open, if the run comes to it. */
  async goOn(engine: Engine, runId: string, graph: Graph): Promise<RunResult> {
    engine.know(graph);
    const asked = await resumeToRest(engine, runId, graph);
    if (asked.status === 'failed') return asked;
    const prompts = asked.waits.map(({ prompt }) => prompt).join();
    if (prompts !== 'Which?') throw new Error(`it asks ${prompts}, and not Which? alone`);
    await engine.answer(runId, asked.waits[0]?.waitId ?? '', 'this');
    return resumeToRest(engine, runId, graph);
  }
}

const other = graphOf('other', [node('other', 'read', () => 'other')], edges('> other', 'other >'));
const made: FunctionTool['input'] = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) => ({ value: { ...(value as object), more: 1 } }),
    jsonSchema: { input: () => input, output: () => input },
  },
};

type Change = (own: Standing) => Partial<AgentConfig>;

const settings = /in call 1 than is on record: its messages are the same, but not its model, tools, settings/u;
const refused: readonly (readonly [string, Change, RegExp])[] = [
  ['its prompt', () => ({ prompt: 'Stop.' }), /in call 1 than is on record: its message 2 \(user\) is Stop\.$/u],
  ['its instructions', () => ({ instructions: 'Play.' }), /its message 1 \(system\) is Play\.$/u],
  ['its mode', () => ({ mode: 'xml' }), /its message 1 \(system\) is Work\./u],
  ['a tool more', (own) => ({ tools: { more: own.look() } }), settings],
  ['a tool less', () => ({ tools: { look: undefined as never } }), settings],
  ['a tool under another name', (own) => ({ tools: { look: undefined as never, looks: own.look() } }), settings],
  ['what a tool is said to do', (own) => ({ tools: { look: own.look({ description: 'Other.' }) } }), settings],
  [
    'the arguments of a tool',
    (own) => ({ tools: { look: own.look({ input: { type: 'object', required: ['x'] } }) } }),
    settings,
  ],
  ['the form of its answer', () => ({ output: { type: 'object' } }), settings],
  ['its model', () => ({ model: 'n' }), settings],
  ['its settings', () => ({ settings: { temperature: 0 } }), settings],
  ['what it is sent of its history', () => ({ history: { messagesMax: 2 } }), /in call 2 .* how many of the messages/u],
];

const refusing =
  (change: Change): Change =>
  (own) => ({ ...change(own), onChange: 'refuse' });

/** What is told of each of these changes; the form of an answer is left out, since this model answers in none. */
const told: Readonly<Record<string, readonly string[]>> = {
  'its prompt': ['prompt (stays as it was)'],
  'its instructions': ['instructions'],
  'its mode': ['mode (stays as it was)'],
  'a tool more': ['tool more added'],
  'a tool less': ['tool look removed'],
  'a tool under another name': ['tool look removed', 'tool looks added'],
  'what a tool is said to do': ['tool look'],
  'the arguments of a tool': ['tool look'],
  'its model': ['model'],
  'its settings': ['settings'],
};

const carriedOn: readonly (readonly [string, Change])[] = [
  ['nothing', () => ({})],
  ['the code of a tool', (own) => ({ tools: { look: own.look({ run: () => 'other' }) } })],
  ['the class of a tool that has been called', (own) => ({ tools: { look: own.look({ effect: 'external' }) } })],
  [
    'what a tool is: composed now',
    () => ({ tools: { look: tool({ description: 'Looks.', input, composed: true, run: () => 'other' }) } }),
  ],
  ['what a tool is: a graph now', () => ({ tools: { look: { description: 'Looks.', input, node: other } } })],
  [
    'what a tool is that a person was asked about: composed now',
    (own) => ({
      tools: {
        send: tool({ description: 'Sends.', input, composed: true, run: (args) => (own.sent.push(args), 'again') }),
      },
    }),
  ],
  ['what the schema of a tool makes of its arguments', (own) => ({ tools: { look: own.look({ input: made }) } })],
  ['the class of a tool that was asked about', (own) => ({ tools: { send: own.send({ effect: 'read' }) } })],
  ['what it may do without asking', () => ({ allow: ['send'] })],
  ['who must be asked', (own) => ({ tools: { send: own.send({ approval: 'never' }) } })],
  ['a model that stands in', () => ({ model: ['m', 'n'] })],
  ['how many loops it may make', () => ({ maxLoops: 3 })],
  ['its budget', () => ({ budget: { tokens: 100_000 } })],
];

/** What a run tells of changes of its agent. */
async function changesTold(engine: Engine, runId: string): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const { change } of engine.history.log(runId))
    for (const { name, detail } of change) if (name === 'agent-changed') found.push(detail);
  return found;
}

describe('A3 a resume of an agent of which is changed', () => {
  test.each(refused.filter(([what]) => !/answer|history/u.test(what)))(
    'A3 %s: it goes on from its record, buys what is due alone, and tells with which call what has changed',
    async (what, change) => {
      const own = new Standing();
      await own.begin();
      const bought = own.models.requests.length;
      const engine = afterCrash(own.bench);
      const done = await own.goOn(engine, 'r', own.graph(change));
      expect([done.state.outputs, own.models.requests.length - bought]).toEqual([{ a: 'Done.' }, 1]);
      expect([own.looks, own.sent]).toEqual([1, [{ to: 'bob' }]]);
      const changes = told[what];
      expect(await changesTold(engine, 'r')).toEqual(changes ? [{ type: 'agent-changed', call: 3, changes }] : []);
    },
  );

  test('A3 the call that is due is made with the agent as it is now, behind what was said', async () => {
    const own = new Standing();
    await own.begin();
    const change: Change = () => ({ instructions: 'Play.', prompt: 'Stop.', tools: { look: undefined as never } });
    await own.goOn(afterCrash(own.bench), 'r', own.graph(change));
    const { messages, tools } = own.models.requests.at(-1) ?? { messages: [] };
    expect(messages.slice(0, 2).map(({ content }) => content)).toEqual(['Play.', 'Go.']);
    expect(tools?.map(({ name }) => name)).toEqual(['send', 'ask']);
    const state = await readAgentState(own.bench.engine.history, 'r', 'a');
    expect(state?.messages.slice(0, 2).map(({ content }) => content)).toEqual(['Play.', 'Go.']);
    expect(state?.prompt.blocks.instructions).toBe('Play.');
  });

  test.each(refused)(
    'A3 %s, where changes are refused: AGENT_DIVERGED names what differs, nothing is bought or called',
    async (_, change, message) => {
      const own = new Standing();
      await own.begin();
      const bought = own.models.requests.length;
      const failed = await own.goOn(afterCrash(own.bench), 'r', own.graph(refusing(change)));
      expect(failed.error?.cause).toMatchObject({ code: 'AGENT_DIVERGED', message: expect.stringMatching(message) });
      expect([own.models.requests.length - bought, own.looks, own.sent]).toEqual([0, 1, [{ to: 'bob' }]]);
      // With what it was, it goes on.
      const done = await own.goOn(
        afterCrash(own.bench),
        'r',
        own.graph(() => ({})),
      );
      expect([done.state.outputs, own.models.requests.length - bought]).toEqual([{ a: 'Done.' }, 1]);
      expect([own.looks, own.sent]).toEqual([1, [{ to: 'bob' }]]);
    },
  );

  test.each(carriedOn)(
    'A3 A6 %s: it goes on, is asked about no call again, and buys what is due alone',
    async (_, change) => {
      const own = new Standing();
      await own.begin();
      const bought = own.models.requests.length;
      const done = await own.goOn(afterCrash(own.bench), 'r', own.graph(change));
      expect([done.state.outputs, own.models.requests.length - bought]).toEqual([{ a: 'Done.' }, 1]);
      expect([own.looks, own.sent]).toEqual([1, [{ to: 'bob' }]]);
    },
  );
});

const everyChange: readonly (readonly [string, Change])[] = [...refused, ...carriedOn].flatMap(([what, change]) =>
  /mode|answer|history/u.test(what) ? [] : [[what, change]],
);

test.each(everyChange)(
  'A3 A6 a fork behind its calls, of which is changed %s: calls with equal arguments are not made again, and what a person gave stands',
  async (_, change) => {
    const own = new Standing();
    const { seq } = await own.begin();
    const engine = afterCrash(own.bench);
    const { runId } = await engine.fork({ runId: 'r', seq });
    const done = await own.goOn(engine, runId, own.graph(change));
    expect([done.status, own.sent]).toEqual(['completed', [{ to: 'bob' }]]);
  },
);

describe('A2 X3.8 a model call that may have been paid, and is not made again', () => {
  const answers: Readonly<Record<string, ScriptedAnswer>> = {
    down: new NodeFailure('no answer came', { code: 'MODEL_UNAVAILABLE' }),
    fine: 'Done.',
  };
  const graphFor = (model: string): Graph =>
    graphOf('g', [{ id: 'a', ...agent({ model, prompt: 'Go.' }) }], edges('> a', 'a >'));
  const sdkGraphFor = (model: string): Graph =>
    graphOf(
      'g',
      [
        node('a', 'read', async (ctx) => {
          const d = durable(ctx, { name: 'support' });
          return (await generateText({ model: d.model(model), prompt: 'Go.', ...d.settings })).text;
        }),
      ],
      edges('> a', 'a >'),
    );

  test.each([
    ['resume', 'agent', graphFor],
    ['fork', 'agent', graphFor],
    ['resume', 'AI SDK', sdkGraphFor],
    ['fork', 'AI SDK', sdkGraphFor],
  ] as const)('A2 U1 X3.8 is asked about by nobody: a %s of the %s goes on with another model', async (way, _, of) => {
    const models = createScriptedModels(({ model }) => answers[model] as ScriptedAnswer);
    const bench = createBench({ models });
    const failed = await runToRest(bench.engine, of('down'), {}, 'r');
    expect(failed.status).toBe('failed');
    const engine = afterCrash(bench);
    const { runId } = way === 'fork' ? await engine.fork({ runId: 'r', seq: failed.seq }) : { runId: 'r' };
    const done = await resumeToRest(engine, runId, of('fine'));
    expect([done.status, done.waits, done.state.outputs]).toEqual(['completed', [], { a: 'Done.' }]);
  });

  test('A2 X3.8 but one that offers tools that the provider runs is asked about: they may have acted', async () => {
    const models = createScriptedModels(({ model }) => answers[model] as ScriptedAnswer);
    const bench = createBench({ models });
    const search = { name: 'search', providerTool: 'openai.web_search', args: {} };
    const of = (model: string): Graph =>
      graphOf('g', [{ id: 'a', ...agent({ model, prompt: 'Go.', tools: { search } }) }], edges('> a', 'a >'));
    await runToRest(bench.engine, of('down'), {}, 'r');
    const asked = await resumeToRest(afterCrash(bench), 'r', of('fine'));
    const question = 'It is not known whether this external effect happened: a: a call of the model down. Did it?';
    expect([asked.status, asked.waits.map(({ prompt }) => prompt)]).toEqual(['paused', [question]]);
  });
});

describe('A3 X4.19 a deploy under a fork', () => {
  test.each([
    ['as it is', (own: Standing) => own.graph(refusing(() => ({})))],
    ['with other instructions', (own: Standing) => own.graph(refusing(() => ({ instructions: 'Play.' })))],
  ])(
    'A3 X4.19 a fork %s is held to its own record: the next change diverges where changes are refused, and nothing is sent again',
    async (_, forked) => {
      const own = new Standing();
      const { seq } = await own.begin();
      const { engine } = own.bench;
      const graph = forked(own);
      const { runId } = await engine.fork({ runId: 'r', seq }, { graph });
      engine.know(graph);
      expect((await resumeToRest(engine, runId, graph)).status).toBe('paused');
      const [bought, looks] = [own.models.requests.length, own.looks];
      const deployed = own.graph(refusing(() => ({ tools: { look: own.look({ description: 'Other.' }) } })));
      const failed = await own.goOn(afterCrash(own.bench), runId, deployed);
      expect(failed.error?.cause).toMatchObject({ code: 'AGENT_DIVERGED' });
      expect([own.models.requests.length, own.looks, own.sent]).toEqual([bought, looks, [{ to: 'bob' }]]);
      // With what it was, the fork goes on.
      const done = await own.goOn(afterCrash(own.bench), runId, forked(own));
      expect([done.state.outputs, own.sent]).toEqual([{ a: 'Done.' }, [{ to: 'bob' }]]);
    },
  );

  test('A3 X4.19 a fork goes on under each next change, and nothing is sent again', async () => {
    const own = new Standing();
    const { seq } = await own.begin();
    const { engine } = own.bench;
    const graph = own.graph(() => ({ instructions: 'Play.' }));
    const { runId } = await engine.fork({ runId: 'r', seq }, { graph });
    engine.know(graph);
    expect((await resumeToRest(engine, runId, graph)).status).toBe('paused');
    const deployed = own.graph(() => ({ tools: { look: own.look({ description: 'Other.' }) } }));
    const done = await own.goOn(afterCrash(own.bench), runId, deployed);
    expect([done.state.outputs, own.models.requests.length, own.sent]).toEqual([{ a: 'Done.' }, 3, [{ to: 'bob' }]]);
  });

  test.each([
    ['that was made for the code as it was, and not run', (graph: Graph) => ({ graph })],
    ['in which a stopped chat goes on', () => ({ origin: 'chat' as const })],
  ])('A3 X4.19 a fork %s is held to its record under changed code: nothing is bought or sent', async (_, options) => {
    const own = new Standing();
    const { seq } = await own.begin();
    const { runId } = await own.bench.engine.fork({ runId: 'r', seq }, options(own.graph(() => ({}))));
    const bought = own.models.requests.length;
    const failed = await own.goOn(afterCrash(own.bench), runId, own.graph(refusing(() => ({ instructions: 'Play.' }))));
    expect(failed.error?.cause).toMatchObject({ code: 'AGENT_DIVERGED' });
    expect([own.models.requests.length - bought, own.sent]).toEqual([0, [{ to: 'bob' }]]);
  });
});

test.each([
  ['happened', { decision: 'happened', output: 'sent' }, 'sent'],
  ['did not happen', 'run again', /^send failed: it was not made, and the tool has changed since; call it again/u],
] as const)(
  'A4 X3 a call in flight at a crash, whose tool is composed now, is asked about; it %s: the model is told so, and it is not made again',
  async (_, answer, told) => {
    const sent: unknown[] = [];
    const models = createScriptedModels(({ messages }): ScriptedAnswer =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ tool: 'send', input: {} }] },
    );
    const bench = createBench({ models });
    const of = (send: AgentConfig['tools']): Graph =>
      graphOf(
        'g',
        [{ id: 'a', ...agent({ model: 'm', prompt: 'Go.', allow: ['send'], ...(send && { tools: send }) }) }],
        edges('> a', 'a >'),
      );
    const begun = Promise.withResolvers<void>();
    const hangs = tool({ description: 'Sends.', input, run: () => (begun.resolve(), new Promise<never>(() => {})) });
    await bench.engine.start(of({ send: hangs }), {}, { runId: 'r' });
    await begun.promise;
    const engine = afterCrash(bench);
    const graph = of({
      send: tool({ description: 'Sends.', input, composed: true, run: () => sent.push('again') }),
    });
    engine.know(graph);
    const asked = await resumeToRest(engine, 'r', graph);
    expect(asked.waits.map(({ prompt }) => prompt)).toEqual([expect.stringContaining('It is not known whether')]);
    await engine.answer('r', asked.waits[0]?.waitId ?? '', answer);
    const done = await resumeToRest(engine, 'r', graph);
    expect([done.status, done.state.outputs, sent]).toEqual(['completed', { a: 'Done.' }, []]);
    const results = models.requests.at(-1)?.messages.find(({ role }) => role === 'tool')?.content as readonly {
      readonly output: string;
    }[];
    expect(results[0]?.output).toMatch(told);
  },
);
