/** A tool call of the SDK is known by what the model gave, whatever the tool's schema makes of it (A4, U5). */
import { generateText, isStepCount, tool } from 'ai';
import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../test/engine-kit.ts';
import { scriptedSdkModel, type Turn } from '../../test/agents/scripted-sdk-model.ts';
import { toolCallKey } from '../model-calls/model-access.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import type { Graph } from '../graph/graph.ts';
import { DurableTools } from './durable-tools.ts';
import { contextOf, durable } from './index.ts';
import { ModelCalls } from './model-calls.ts';
import { plainCopy } from './recorded-calls.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const send: readonly [string, unknown] = ['send', { to: 'ann' }];
const ask: readonly [string, unknown] = ['ask', {}];
const sameAnswer: readonly Turn[] = [{ calls: [send, ask] }, 'Done.'];
const earlierAnswer: readonly Turn[] = [{ calls: [send] }, { calls: [ask] }, 'Done.'];

/** An agent that sends a mail, and asks. */
class Mailing {
  readonly sent: unknown[] = [];
  readonly bench = createBench();
  readonly model: ReturnType<typeof scriptedSdkModel>;

  constructor(script: readonly Turn[]) {
    this.model = scriptedSdkModel(script);
  }

  /** @param inputSchema - of the mail; undefined: there is no such tool */
  graph(inputSchema: z.ZodType | undefined, needsApproval = false): Graph {
    const run = async (ctx: NodeContext): Promise<string> => {
      const d = durable(ctx, { name: 'support' });
      const execute = (args: unknown): string => `sent ${this.sent.push(args)}`;
      const asks = (_: unknown, options: object): unknown => contextOf(options)?.ask({ prompt: 'Which?' });
      const tools = d.tools(
        {
          ...(inputSchema !== undefined && { send: tool({ inputSchema, needsApproval, execute }) }),
          ask: tool({ inputSchema: z.object({}), execute: asks }),
        },
        { ask: { composed: true } },
      );
      const { model } = this;
      return (
        await generateText({ model: d.model(model), tools, stopWhen: isStepCount(5), prompt: 'Go.', ...d.settings })
      ).text;
    };
    return graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));
  }

  /** Answers the question that is open, in another process with this graph. @returns the outcome, and the number of calls of the model */
  async goOn(graph: Graph, answer: unknown): Promise<readonly unknown[]> {
    const engine = afterCrash(this.bench);
    engine.know(graph);
    const { waits } = await resumeToRest(engine, 'r', graph);
    await engine.answer('r', waits[0]?.waitId ?? '', answer);
    const { status, error, state } = await resumeToRest(engine, 'r', graph);
    return [status, error?.cause, state.outputs, this.model.requests.length];
  }
}

const changing = (change: (text: string) => string): z.ZodType => z.object({ to: z.string().transform(change) });
let count = 0;
const drawing = (): z.ZodType =>
  z.object({ to: z.string() }).transform((args) => ({ ...args, id: `id ${(count += 1)}` }));

const idByDefault = (): z.ZodType =>
  z.object({ to: z.string(), default: z.string().default(() => `id ${(count += 1)}`) });

const changes = [
  ['a default that is another each time', idByDefault(), idByDefault(), { to: 'ann', default: expect.any(String) }],
  ['another transform', changing((text) => text), changing((text) => text.toUpperCase()), { to: 'ann' }],
  ['a value that is another each time', drawing(), drawing(), { to: 'ann', id: expect.any(String) }],
] as const;
const places = [
  ['the same answer', sameAnswer, 2],
  ['an earlier answer', earlierAnswer, 3],
] as const;
const cases = changes.flatMap(([what, before, after, sent]) =>
  places.map(([place, script, calls]) => [what, place, script, before, after, sent, calls] as const),
);

test.each(cases)(
  'A4 U5 X4.9 %s, in %s: the mail is sent once, and the run goes on',
  async (...[, , script, before, after, sent, calls]) => {
    const own = new Mailing(script);
    expect((await runToRest(own.bench.engine, own.graph(before), {}, 'r')).status).toBe('paused');
    expect(await own.goOn(own.graph(after), 'this')).toEqual(['completed', undefined, { a: 'Done.' }, calls]);
    expect(own.sent).toEqual([sent]);
  },
);

const older = [
  ['checked arguments', changing((text) => text.toUpperCase()), { to: 'ANN' }],
  ['a default', z.object({ to: z.string(), by: z.string().default('me') }), { to: 'ann', by: 'me' }],
] as const;
const olderCases = older.flatMap(([what, schema, sent]) =>
  places.map(([place, script, calls]) => [what, place, script, schema, sent, calls] as const),
);

test.each(olderCases)(
  'A4 U1 U5 a record of an older version, which knew calls with %s, in %s: the mail is sent once, and the run goes on',
  async (...[, , script, schema, sent, calls]) => {
    const own = new Mailing(script);
    const graph = own.graph(schema);
    vi.spyOn(ModelCalls.prototype, 'asIdentified').mockImplementation((request) => request);
    vi.spyOn(DurableTools.prototype, 'keyOf').mockImplementation(
      (name, checked) => `support ${toolCallKey(name, plainCopy(checked))}`,
    );
    expect((await runToRest(own.bench.engine, graph, {}, 'r')).status).toBe('paused');
    vi.restoreAllMocks();
    expect(await own.goOn(graph, 'this')).toEqual(['completed', undefined, { a: 'Done.' }, calls]);
    expect(own.sent).toEqual([sent]);
  },
);

test('A6.1 U8 what a person approves is what runs, though the schema makes others each time', async () => {
  const own = new Mailing([{ calls: [send] }, 'Done.']);
  const graph = own.graph(drawing(), true);
  const { waits } = await runToRest(own.bench.engine, graph, {}, 'r');
  const shown: unknown = waits[0]?.metadata;
  expect(await own.goOn(graph, 'approve')).toEqual(['completed', undefined, { a: 'Done.' }, 2]);
  expect(own.sent.map((args) => ({ tool: 'send', args }))).toEqual([shown]);
});

const stricter = z.object({ to: z.string(), subject: z.string() });
const fitting = z.object({ to: z.string() });

test.each([
  ['did not fit', stricter],
  ['was gone', undefined],
] as const)(
  'A3 A4 a call that was refused because its tool %s stays refused, though a deploy takes that back',
  async (_, before) => {
    for (const needsApproval of [false, true]) {
      const own = new Mailing(earlierAnswer);
      expect((await runToRest(own.bench.engine, own.graph(before), {}, 'r')).status).toBe('paused');
      const refusal = JSON.stringify(own.model.requests.at(-1)?.prompt.at(-1));
      expect(await own.goOn(own.graph(fitting, needsApproval), 'this')).toEqual([
        'completed',
        undefined,
        { a: 'Done.' },
        3,
      ]);
      expect(own.sent).toEqual([]);
      expect(JSON.stringify(own.model.requests.at(-1)?.prompt)).toContain(refusal);
    }
  },
);

test('A3 A4 a call of a tool that was gone when its question was asked stays refused, though the tool comes back', async () => {
  const own = new Mailing(earlierAnswer);
  const { waits } = await runToRest(own.bench.engine, own.graph(fitting, true), {}, 'r');
  expect(waits.map(({ metadata }) => metadata)).toMatchObject([{ tool: 'send' }]);
  expect((await resumeToRest(own.bench.engine, 'r', own.graph(undefined))).status).toBe('paused');
  expect(await own.goOn(own.graph(fitting, true), 'this')).toEqual(['completed', undefined, { a: 'Done.' }, 3]);
  expect(own.sent).toEqual([]);
});
