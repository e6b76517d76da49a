/** Deploys under agents of the AI SDK that wait: the traps in which a record meets other code, each by its name. */
import { generateText, isStepCount, tool, type ToolSet } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { durable, type DurableOptions, type ToolOptions } from '../../src/ai-sdk/index.ts';
import type { RunResult } from '../../src/engine/api.ts';
import type { NodeContext } from '../../src/graph/contracts/node-contract.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../engine-kit.ts';
import { scriptedSdkModel, type Turn } from './scripted-sdk-model.ts';

interface Code {
  readonly tools?: ToolSet;
  readonly how?: Readonly<Record<string, ToolOptions>>;
  readonly instructions?: string | (() => string);
  readonly prompt?: string;
  readonly onChange?: DurableOptions['onChange'];
}

/** An agent that mails at once, and refunds when a person approves. Every effect leaves a line in the world. */
class SdkClerk {
  readonly world: string[] = [];
  readonly bench = createBench();
  readonly model: ReturnType<typeof scriptedSdkModel>;

  constructor(script: readonly Turn[]) {
    this.model = scriptedSdkModel(script);
  }

  mail(inputSchema: z.ZodType = z.object({ to: z.string() }), more: object = {}): ToolSet[string] {
    const execute = (args: unknown): string => `mailed ${this.world.push(`mail ${JSON.stringify(args)}`)}`;
    return tool({ description: 'Mails.', inputSchema, execute, ...more });
  }

  refund(inputSchema: z.ZodType = z.object({ order: z.string() }), more: object = {}): ToolSet[string] {
    const execute = (args: unknown): string => `paid ${this.world.push(`refund ${JSON.stringify(args)}`)}`;
    return tool({ description: 'Pays back.', inputSchema, needsApproval: true, execute, ...more });
  }

  graph({ tools = {}, how = {}, instructions, prompt = 'Go.', onChange }: Code = {}): Graph {
    const all: ToolSet = { mail: this.mail(), refund: this.refund(), ...tools };
    const named = Object.fromEntries(Object.entries(all).filter(([, one]) => (one as unknown) !== undefined));
    const run = async (ctx: NodeContext): Promise<string> => {
      const d = durable(ctx, { name: 'support', ...(onChange && { onChange }) });
      const system = typeof instructions === 'function' ? instructions() : instructions;
      const { text } = await generateText({
        model: d.model(this.model),
        tools: d.tools(named, how),
        stopWhen: isStepCount(6),
        prompt,
        ...(system !== undefined && { instructions: system }),
        ...d.settings,
      });
      return text;
    };
    return graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));
  }

  async begin(graph = this.graph()): Promise<RunResult> {
    return runToRest(this.bench.engine, graph, {}, 'r');
  }

  async answer(graph: Graph, answer: unknown = 'approve'): Promise<RunResult> {
    const engine = afterCrash(this.bench);
    engine.know(graph);
    const { waits } = await engine.inspect('r');
    await engine.answer('r', waits[0]?.waitId ?? '', answer);
    return resumeToRest(engine, 'r', graph);
  }

  async changesTold(): Promise<readonly unknown[]> {
    const found: unknown[] = [];
    for await (const { change } of this.bench.engine.history.log('r'))
      for (const { name, detail } of change) if (name?.endsWith('agent-changed') === true) found.push(detail);
    return found;
  }

  get told(): string {
    return JSON.stringify(this.model.requests.at(-1)?.prompt);
  }
}

const gone = undefined as never;
const toAnn = ['mail', { to: 'ann' }] as const;
const back = ['refund', { order: 'A' }] as const;
const oneAnswer: readonly Turn[] = [{ calls: [toAnn, back] }, 'Fin.'];
const twoAnswers: readonly Turn[] = [{ calls: [toAnn] }, { calls: [back] }, 'Fin.'];
const mailed = 'mail {"to":"ann"}';
const paid = 'refund {"order":"A"}';
const places = [
  ['the same answer', oneAnswer],
  ['an earlier answer', twoAnswers],
] as const;

describe.each(places)('U1 an agent that has mailed in %s goes on', (_, script) => {
  const withCopy = z.object({ to: z.string(), cc: z.string().default('boss') });
  const changes: readonly (readonly [string, (own: SdkClerk) => Code, readonly string[]])[] = [
    ['a description', (own) => ({ tools: { mail: own.mail(undefined, { description: 'Other.' }) } }), ['tool mail']],
    ['its instructions', () => ({ instructions: 'Be brief.' }), ['instructions']],
    ['its prompt', () => ({ prompt: 'Stop.' }), ['prompt']],
    ['a tool more', (own) => ({ tools: { more: own.mail() } }), ['tool more added']],
    ['a tool less: vanished, and hidden from the model', () => ({ tools: { mail: gone } }), ['tool mail removed']],
    ['a gained default', (own) => ({ tools: { mail: own.mail(withCopy) } }), ['tool mail']],
    [
      'a schema that refuses what was called',
      (own) => ({ tools: { mail: own.mail(z.object({ address: z.string() })) } }),
      ['tool mail'],
    ],
    ['what a tool is: composed now', () => ({ how: { mail: { composed: true } } }), []],
  ];
  test.each(changes)(
    'A3 U1 U5 %s: nothing is sent twice, one answer is bought, and it is told',
    async (_what, change, told) => {
      const own = new SdkClerk(script);
      expect((await own.begin()).status).toBe('paused');
      const bought = own.model.requests.length;
      const code = change(own);
      const done = await own.answer(own.graph(code));
      expect([done.status, done.error?.cause, own.world]).toEqual(['completed', undefined, [mailed, paid]]);
      expect(own.model.requests.length - bought).toBe(1);
      expect(own.told).toContain('mailed 1');
      const tools = own.model.requests.at(-1)?.tools?.map(({ name }) => name);
      expect(tools?.includes('mail')).toBe(!('mail' in (code.tools ?? {})) || code.tools?.['mail'] !== undefined);
      const call = script.length;
      expect(await own.changesTold()).toEqual(
        told.length === 0 ? [] : [{ type: 'agent-changed', call, changes: told }],
      );
    },
  );

  test('A3.2 U1 where changes are refused, it stops before anything is paid', async () => {
    const own = new SdkClerk(script);
    await own.begin(own.graph({ onChange: 'refuse' }));
    const bought = own.model.requests.length;
    const failed = await own.answer(own.graph({ onChange: 'refuse', instructions: 'Be brief.' }));
    expect(failed.error?.cause).toMatchObject({ code: 'AGENT_DIVERGED' });
    expect([own.model.requests.length - bought, own.world]).toEqual([0, [mailed]]);
    const before = own.graph({ onChange: 'refuse' });
    const engine = afterCrash(own.bench);
    engine.know(before);
    expect((await resumeToRest(engine, 'r', before)).status).toBe('completed');
    expect(own.world).toEqual([mailed, paid]);
  });

  test('A3 U1 a date in its instructions: nothing is refused, and nothing is sent twice', async () => {
    let day = 0;
    const own = new SdkClerk(script);
    const graph = own.graph({ instructions: () => `Day ${(day += 1)}` });
    await own.begin(graph);
    expect((await own.answer(graph)).status).toBe('completed');
    expect(own.world).toEqual([mailed, paid]);
  });
});

describe('A6.3 U8 an approval that waits', () => {
  test('A6.3 U8 its tool is gone: it is closed, its answer is not used, and the model is told', async () => {
    const own = new SdkClerk(oneAnswer);
    await own.begin();
    const done = await own.answer(own.graph({ tools: { refund: gone } }));
    expect([done.status, done.waits, own.world]).toEqual(['completed', [], [mailed]]);
    expect(own.told).toContain('there is no tool refund any more');
  });

  test('A6.3 U8 its arguments no longer fit: it is closed, its answer is not used, and the model is told', async () => {
    const own = new SdkClerk(oneAnswer);
    await own.begin();
    const done = await own.answer(own.graph({ tools: { refund: own.refund(z.object({ id: z.string() })) } }));
    expect([done.status, done.waits, own.world]).toEqual(['completed', [], [mailed]]);
    expect(own.told).toContain('Invalid input for tool refund');
  });

  test('A6.3 U8 a field is described: the answer counts', async () => {
    const own = new SdkClerk(oneAnswer);
    await own.begin();
    const input = z.object({ order: z.string().describe('The id.') });
    expect((await own.answer(own.graph({ tools: { refund: own.refund(input) } }))).status).toBe('completed');
    expect(own.world).toEqual([mailed, paid]);
  });

  test('A6.3 U8 the schema makes other arguments: they are asked about, with what differs', async () => {
    const own = new SdkClerk(oneAnswer);
    await own.begin();
    const graph = own.graph({
      tools: { refund: own.refund(z.object({ order: z.string(), in: z.string().default('EUR') })) },
    });
    const asked = await own.answer(graph);
    expect(asked.waits.map(({ prompt }) => prompt)).toEqual([expect.stringContaining('in was absent, and is "EUR"')]);
    expect((await own.answer(graph)).status).toBe('completed');
    expect(own.world).toEqual([mailed, 'refund {"order":"A","in":"EUR"}']);
  });
});

describe('U1 loops side by side under one name', () => {
  /** Two loops that mail at once and then ask for a refund, each for its own topic. The second begins after some turns of the event loop. */
  function twoLoops(say: string, description: string, order: readonly string[], late = 1): readonly [Graph, string[]] {
    const world: string[] = [];
    const model = scriptedSdkModel(({ prompt }) => {
      const topic =
        /(\w)\.?$/u.exec(
          JSON.stringify(prompt.find(({ role }) => role === 'user')?.content).replaceAll(/\W+$/gu, ''),
        )?.[1] ?? '';
      const turn = prompt.filter(({ role }) => role === 'assistant').length;
      return turn < 2 ? { calls: [[turn === 0 ? 'mail' : 'refund', { to: topic }]] } : `Fin ${topic}.`;
    });
    const run = async (ctx: NodeContext): Promise<string> => {
      const d = durable(ctx, { name: 'support' });
      const act = (name: string, needsApproval: boolean): ToolSet[string] =>
        tool({
          description,
          inputSchema: z.object({ to: z.string() }),
          needsApproval,
          execute: ({ to }) => `${name} ${world.push(`${name} ${to}`)}`,
        });
      const tools = d.tools({ mail: act('mail', false), refund: act('refund', true) });
      const loop = async (topic: string, index: number): Promise<string> => {
        for (let turn = 0; turn < index * late; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
        const prompt = `${say} ${topic}`;
        return (await generateText({ model: d.model(model), tools, prompt, stopWhen: isStepCount(5), ...d.settings }))
          .text;
      };
      return (await Promise.all(order.map(loop))).toSorted().join(' ');
    };
    return [graphOf('g', [node('a', 'read', run)], edges('> a', 'a >')), world];
  }

  test.each([
    ['the same code', 'look at', 'd', ['A', 'B']],
    ['another description', 'look at', 'D', ['A', 'B']],
    ['another description, and the other order', 'look at', 'D', ['B', 'A']],
  ])(
    'A3 U1 %s: each loop goes on from its own answers, and nothing is sent twice',
    async (_, say, description, order) => {
      const bench = createBench();
      const [before, first] = twoLoops('look at', 'd', ['A', 'B']);
      let result = await runToRest(bench.engine, before, {}, 'r');
      const [after, second] = twoLoops(say, description, order);
      for (let turn = 0; turn < 4 && result.status === 'paused'; turn += 1) {
        const engine = afterCrash(bench);
        engine.know(after);
        await engine.answer('r', result.waits[0]?.waitId ?? '', 'approve');
        result = await resumeToRest(engine, 'r', after);
      }
      expect([result.status, result.error?.cause, result.state.outputs]).toEqual([
        'completed',
        undefined,
        { a: 'Fin A. Fin B.' },
      ]);
      expect([...first, ...second].toSorted()).toEqual(['mail A', 'mail B', 'refund A', 'refund B']);
    },
  );

  test('A3 U1 one that takes the place of another that begins later is found out, and the mail is sent once', async () => {
    const bench = createBench();
    const [before, first] = twoLoops('look at', 'd', ['A', 'B'], 20);
    const { waits } = await runToRest(bench.engine, before, {}, 'r');
    const [after, second] = twoLoops('look at', 'D', ['B', 'A'], 20);
    const engine = afterCrash(bench);
    engine.know(after);
    await engine.answer('r', waits[0]?.waitId ?? '', 'approve');
    const failed = await resumeToRest(engine, 'r', after);
    expect(failed.error?.cause).toMatchObject({ code: 'AGENT_DIVERGED' });
    expect([...first, ...second].filter((line) => line === 'mail A')).toHaveLength(1);
  });

  test('A3 U1 both prompts are others now: it is not clear whose answers are whose, so it is refused before anything is paid', async () => {
    const bench = createBench();
    const [before, first] = twoLoops('look at', 'd', ['A', 'B']);
    const { waits } = await runToRest(bench.engine, before, {}, 'r');
    const [after, second] = twoLoops('please look at', 'd', ['A', 'B']);
    const engine = afterCrash(bench);
    engine.know(after);
    await engine.answer('r', waits[0]?.waitId ?? '', 'approve');
    const failed = await resumeToRest(engine, 'r', after);
    expect(failed.error?.cause).toMatchObject({ code: 'AGENT_DIVERGED' });
    expect([...first, ...second].toSorted()).toEqual(['mail A', 'mail B']);
  });
});
