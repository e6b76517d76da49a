/** A person's word before a tool acts: what an answer may be. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { afterCrash, createBench, edges, graphOf, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { createScriptedModels } from '../../models/scripted.ts';
import type { AnySchema } from '../../schema/standard-schema.ts';
import { agent } from '../agent.ts';
import { tool } from './tool-box.ts';

interface Asking {
  readonly sent: unknown[];
  /** Answers the open question. */
  readonly answer: (said: unknown) => Promise<void>;
  /** The prompt of the open question, or the status. */
  readonly goOn: () => Promise<string | undefined>;
}

/** An agent that asks before it sends; each answer is given by another process. */
async function ask(input: AnySchema, args: unknown, audience?: 'user'): Promise<Asking> {
  const sent: unknown[] = [];
  const send = tool({
    description: 'Sends.',
    input,
    ...(audience && { audience }),
    run: (given) => void sent.push(given),
  });
  const models = createScriptedModels([{ calls: [{ tool: 'send', input: args }] }, 'Done.']);
  const bench = createBench({ models });
  const graph = graphOf(
    'g',
    [{ id: 'a', ...agent({ model: 'm', prompt: 'Go.', tools: { send } }) }],
    edges('> a', 'a >'),
  );
  let { waits } = await runToRest(bench.engine, graph, {}, 'r');
  expect(waits[0]?.audience).toBe(audience);
  return {
    sent,
    answer: async (said) => void (await afterCrash(bench).answer('r', waits[0]?.waitId ?? '', said)),
    goOn: async () => {
      const rest = await resumeToRest(afterCrash(bench), 'r', graph);
      ({ waits } = rest);
      return waits[0]?.prompt ?? rest.status;
    },
  };
}

const edit = (args: unknown): unknown => ({ decision: 'edit', args });

test('A6 other arguments that do not fit the schema are refused where they are given, and the question stays open', async () => {
  const { sent, answer, goOn } = await ask(z.object({ to: z.string() }), { to: 'ann' });
  await expect(answer(edit({ to: 7 }))).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  await expect(answer(edit({}))).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  await answer(edit({ to: 'bob' }));
  expect([await goOn(), sent]).toEqual(['completed', [{ to: 'bob' }]]);
});

test('A6 arguments that only the check of the tool finds wrong are asked for again, with the reason', async () => {
  const even = z.object({ n: z.number().refine((n) => n % 2 === 0, 'must be even') });
  const { sent, answer, goOn } = await ask(even, { n: 2 });
  await answer(edit({ n: 3 }));
  expect(await goOn()).toBe('args.n: must be even\nMay the agent call send?\n{\n  "n": 2\n}');
  await answer(edit({ n: 4 }));
  expect([await goOn(), sent]).toEqual(['completed', [{ n: 4 }]]);
});

test.each([
  ['names places in itself', { $ref: '#/$defs/A', $defs: { A: { type: 'object', required: ['n'] } } }, 'refused'],
  ['is recursive', { type: 'object', required: ['n'], properties: { next: { $ref: '#' } } }, 'asked again'],
  ['says what no answer can be held against', { required: ['n'], patternProperties: { a: {} } }, 'asked again'],
])('A6 a schema that %s holds for edited arguments too', async (_, schema, expected) => {
  const { sent, answer, goOn } = await ask(schema, { n: 1 });
  const given = await answer(edit({ m: 1 })).then(goOn, () => 'refused');
  expect(given).toMatch(expected === 'refused' ? /^refused$/u : /^args\.n is missing\nMay the agent/u);
  await answer('approve');
  expect([await goOn(), sent]).toEqual(['completed', [{ n: 1 }]]);
});

test('A6.1 answers are read as those of the approval of a node', async () => {
  const approved = await ask({ type: 'object' }, { n: 1 }, 'user');
  await approved.answer({ is_approved: true, data: { n: 2 }, feedback: 'rather two' });
  expect([await approved.goOn(), approved.sent]).toEqual(['completed', [{ n: 2 }]]);
  for (const said of ['reject', { decision: 'reject', reason: 'no' }, { is_approved: false, feedback: 'no' }]) {
    const refused = await ask({ type: 'object' }, { n: 1 });
    await refused.answer(said);
    expect([await refused.goOn(), refused.sent]).toEqual(['completed', []]);
  }
  for (const odd of [{ decision: 'edit' }, { decision: 'refuse', args: {} }, { is_approved: false, data: {} }])
    await expect((await ask({ type: 'object' }, {})).answer(odd)).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
});
