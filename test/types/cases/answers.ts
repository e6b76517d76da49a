/** Answers are known by the node that asks, and must be what it takes. Type-checked, never run. */
import { expectTypeOf } from 'vitest';
import { AgentGraph, humanNode, workflow } from '../../../src/index.ts';
import { z } from 'zod';

const person = {
  type: 'object',
  properties: { age: { type: 'integer' }, tags: { type: 'array', items: { enum: ['a', 'b'] } } },
  required: ['age'],
} as const;

const graph = new AgentGraph({})
  .addNode('choice', humanNode({ prompt: 'Ship it?', choices: ['yes', 'no'] }))
  .addNode('labelled', humanNode({ prompt: 'How many?', choices: [{ value: 1, label: 'one' }, 'none'] }))
  .addNode('person', humanNode({ prompt: 'Who?', schema: person }))
  .addNode('form', humanNode({ prompt: 'Fine?', schema: z.object({ ok: z.boolean(), why: z.string().default('') }) }))
  .addNode('late', humanNode({ prompt: 'Now?', choices: ['yes'], timeoutMs: 5, defaultAnswer: 'later' }))
  .addNode('rehearsed', humanNode({ prompt: 'Fine?', choices: ['yes'], autoAccept: true }))
  .addNode('free', humanNode({ prompt: 'Anything?' }))
  .addNode('several', async (ctx) => [await ctx.ask({ name: 'title', prompt: 'Title?', schema: { type: 'string' } })])
  .addNode('asked', async (ctx) => (await ctx.ask({ prompt: 'How?', schema: z.object({ n: z.number() }) })).n)
  .addNode('end', ({ state: { outputs } }) => {
    // An answer is recorded as it was given: what a schema would fill in is not there.
    expectTypeOf(outputs.form).toEqualTypeOf<{ ok: boolean; why?: string | undefined } | undefined>();
    expectTypeOf(outputs.asked).toEqualTypeOf<number | undefined>();
    expectTypeOf(outputs.choice).toEqualTypeOf<'yes' | 'no' | undefined>();
    expectTypeOf(outputs.labelled).toEqualTypeOf<1 | 'none' | undefined>();
    expectTypeOf(outputs.person?.age).toEqualTypeOf<number | undefined>();
    expectTypeOf(outputs.person?.tags).toEqualTypeOf<readonly ('a' | 'b')[] | undefined>();
    expectTypeOf(outputs.late).toEqualTypeOf<string | undefined>();
    if (typeof outputs.rehearsed === 'object') expectTypeOf(outputs.rehearsed.approved).toEqualTypeOf<boolean>();
    expectTypeOf(outputs.free).toEqualTypeOf<unknown>();
    expectTypeOf(outputs.several).toEqualTypeOf<string[] | undefined>();
  });

export async function answer(): Promise<void> {
  const compiled = graph.compile();
  const { runId } = await compiled.invoke({});
  await compiled.resume(runId, { answers: { choice: 'yes', labelled: 1, person: { age: 3 }, free: [1] } });
  // By a wait's id, by a question's name behind its node, and by the path of a node in a child.
  await compiled.resume(runId, { answers: { w_1a2b: 'x', 'several/title': 'T', 'child/ask': 1 } });
  await compiled.answer(runId, 'choice', 'no');
  await compiled.fork(runId, { answers: { choice: 'no' } });
  // @ts-expect-error none of the choices
  await compiled.resume(runId, { answers: { choice: 'yess' } });
  // @ts-expect-error no such node
  await compiled.resume(runId, { answers: { choise: 'yes' } });
  await compiled.resume(runId, { answers: { form: { ok: true } } });
  // @ts-expect-error the schema says true or false
  await compiled.answer(runId, 'form', { ok: 'yes' });
  // @ts-expect-error the schema says a number
  await compiled.resume(runId, { answers: { person: { age: 'old' } } });
  // @ts-expect-error none of the choices
  await compiled.answer(runId, 'choice', 'yess');
  // @ts-expect-error none of the choices
  await compiled.fork(runId, { answers: { choice: 'yess' } });
  // @ts-expect-error no such node
  await compiled.preview(runId, { answers: { choise: 'yes' } });
}

export async function answerFlow(): Promise<void> {
  const flow = workflow('flow')
    .input(z.object({}))
    .step('ask', humanNode({ prompt: '?', choices: ['yes', 'no'] }))
    .parallel({ other: humanNode({ prompt: '?', choices: ['a'] }) })
    .returns(({ state }) => state.artifacts.ask)
    .compile();
  await flow.resume('run', { answers: { ask: 'yes', other: 'a' } });
  // @ts-expect-error none of the choices
  await flow.resume('run', { answers: { other: 'b' } });
}
