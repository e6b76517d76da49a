/**
 * Approvals shown against what ran. A random schema, a model that chooses arguments and their keys, and a person who approves, edits and
 * refuses, each time in another process. The oracle is the tool's function itself: it ran with what a door showed when the person said yes,
 * or with what the person wrote; and never without a yes.
 */
import { ToolLoopAgent, tool as sdkTool } from 'ai';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { agent } from '../../src/agents/agent.ts';
import { tool } from '../../src/agents/tools/tool-box.ts';
import { durable } from '../../src/ai-sdk/index.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { createScriptedModels } from '../../src/models/scripted.ts';
import { perform } from '../../src/operations/contract/perform.ts';
import type { ReadContext } from '../../src/operations/contract/operation.ts';
import { listWaits } from '../../src/operations/waits/list-waits.ts';
import { toJson } from '../../src/state/values/to-json.ts';
import { scriptedSdkModel } from '../agents/scripted-sdk-model.ts';
import { scale } from '../support/scale.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest, type Bench } from '../engine-kit.ts';

/** Keys that a model may choose to hide what it does. */
const keys = ['to', 'password', 'api_key', 'accessToken', 'amount', 'Authorization'] as const;

let made = 0;
/** Ways in which a schema makes other values of those that it is given. */
const fields = {
  text: z.string(),
  defaulted: z.string().default('bcc@example.org'),
  fresh: z.string().default(() => `id-${(made += 1)}`),
  cents: z.string().transform((text) => Number(text) * 1000),
  trimmed: z.string().trim().toLowerCase(),
  coerced: z.coerce.number(),
  date: z.union([z.string(), z.number()]).transform((time) => new Date(time)),
  optional: z.string().optional(),
  nested: z.object({ token: z.string().default('deep'), list: z.array(z.string()).default(['a', 'b']) }).prefault({}),
} as const;
type Field = keyof typeof fields;

const given: Readonly<Record<Field, fc.Arbitrary<unknown>>> = {
  text: fc.string({ maxLength: 8 }),
  defaulted: fc.constantFrom(undefined, 'ann@example.org'),
  fresh: fc.constantFrom(undefined, 'mine'),
  cents: fc.nat(99).map(String),
  trimmed: fc.constantFrom(' Ann ', 'bob'),
  coerced: fc.constantFrom('5', 7, true),
  date: fc.constantFrom('2026-01-01', 0),
  optional: fc.constantFrom(undefined, 'x'),
  nested: fc.constantFrom(undefined, {}, { token: 'mine' }, { list: [] }),
};

type Args = Record<string, unknown>;
const argsOf = (shape: readonly (readonly [string, Field])[]): fc.Arbitrary<Args> =>
  fc.tuple(...shape.map(([, field]) => given[field])).map((values) => {
    const entries = shape.map(([key], index) => [key, values[index]] as const);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  });

const cases = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...keys), fc.constantFrom(...(Object.keys(fields) as Field[]))), {
    selector: ([key]) => key,
    minLength: 1,
    maxLength: 4,
  })
  .chain((shape) =>
    fc.record({
      shape: fc.constant(shape),
      args: argsOf(shape),
      edits: fc.array(argsOf(shape), { maxLength: 2 }),
      word: fc.constantFrom('edit', 'approve'),
      end: fc.constantFrom('approve', 'refuse'),
    }),
  );
type Case = typeof cases extends fc.Arbitrary<infer One> ? One : never;

const schemaOf = ({ shape }: Case): z.ZodType =>
  z.object(Object.fromEntries(shape.map(([key, field]) => [key, fields[field] as z.ZodType])));

type MakeGraph = (one: Case, ran: unknown[]) => { readonly graph: Graph; readonly bench: Bench };

const doors: Readonly<Record<string, MakeGraph>> = {
  agent(one, ran) {
    const send = tool({ description: 'Sends.', input: schemaOf(one), run: (args) => void ran.push(args) });
    const models = createScriptedModels([{ calls: [{ tool: 'send', input: one.args }] }, 'Done.']);
    const graph = graphOf(
      'g',
      [{ id: 'a', ...agent({ model: 'm', prompt: 'Go.', tools: { send } }) }],
      edges('> a', 'a >'),
    );
    return { graph, bench: createBench({ models }) };
  },
  'AI SDK'(one, ran) {
    const model = scriptedSdkModel([{ calls: [['send', one.args]] }, 'Done.']);
    const graph = graphOf(
      'g',
      [
        node('a', 'read', async (ctx) => {
          const d = durable(ctx, { name: 'support' });
          const send = sdkTool({ inputSchema: schemaOf(one), execute: (args: unknown) => void ran.push(args) });
          const tools = d.tools({ send }, { send: { approval: 'always' } });
          const loop = new ToolLoopAgent({ model: d.model(model), tools, ...d.settings });
          return (await loop.generate({ prompt: 'Go.' })).text;
        }),
      ],
      edges('> a', 'a >'),
    );
    return { graph, bench: createBench() };
  },
};

/** The arguments in the open question, as a door shows them: in its words, and in its data, which must be the same. */
async function shownAt(bench: Bench): Promise<{ readonly waitId: string; readonly args: unknown } | undefined> {
  const context = { store: bench.store, tenant: 'default' } as unknown as ReadContext;
  const { waits } = await perform(listWaits, context, {});
  const [wait] = waits;
  if (wait === undefined) return undefined;
  const { prompt = '', metadata } = wait;
  const args: unknown = JSON.parse(prompt.slice(prompt.indexOf('\n{') + 1));
  expect(toJson((metadata as Args)['args'])).toEqual(args);
  expect(prompt).not.toContain('[redacted]');
  return { waitId: wait.waitId, args };
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(toJson(value)));

for (const [door, make] of Object.entries(doors))
  test(`A6 what a person approves is what runs: ${door}`, { timeout: 1_200_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        cases.filter(({ shape }) => door === 'agent' || shape.every(([, field]) => field !== 'fresh')),
        async (one) => {
          const ran: unknown[] = [];
          const { graph, bench } = make(one, ran);
          await runToRest(bench.engine, graph, {}, 'r');
          const left = [...one.edits];
          /** What may run: what was shown when the person said yes, or what they wrote. */
          const approved: unknown[] = [];
          for (let round = 0; round < 8; round += 1) {
            expect(ran).toEqual([]);
            const shown = await shownAt(bench);
            if (shown === undefined) break;
            const edit = left.shift();
            const answer = edit === undefined ? one.end : { decision: one.word, args: edit };
            if (answer === 'approve') approved.push(shown.args);
            if (edit !== undefined) approved.push(plain(edit));
            const isTaken = await afterCrash(bench)
              .answer('r', shown.waitId, answer)
              .then(
                () => true,
                // A form that the schema of the arguments refuses: the question stays.
                () => false,
              );
            if (isTaken) await resumeToRest(afterCrash(bench), 'r', graph);
            if (ran.length > 0) break;
          }
          const isRefused = one.end === 'refuse' && one.edits.length === 0;
          expect(ran.length).toBeLessThanOrEqual(isRefused ? 0 : 1);
          expect(ran.length).toBeGreaterThanOrEqual(one.end === 'approve' ? 1 : 0);
          for (const args of ran) expect(approved).toContainEqual(plain(args));
        },
      ),
      { numRuns: scale(40, 2_000) },
    );
  });
