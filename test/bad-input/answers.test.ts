/** Answers and signals that do not fit, are of odd kinds, come late, or go nowhere. */
import { expect, test } from 'vitest';
import type { Question } from '../../src/graph/contracts/node-contract.ts';
import type { RunResult } from '../../src/engine/api.ts';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../engine-kit.ts';

const asking = (question: Question): ReturnType<typeof graphOf> =>
  graphOf('asking', [node('q', 'human', (ctx) => ctx.ask(question))], edges('> q', 'q >'));
const waitOf = (result: RunResult): string => result.waits[0]?.waitId ?? '';
const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
};

test.each<[string, Omit<Question, 'prompt'>, unknown, string]>([
  ['none of the choices', { choices: ['yes', { value: 2, label: 'two' }] }, 'no', 'none of "yes", 2'],
  ['a bigint among choices', { choices: ['yes'] }, 1n, 'none of'],
  ['of another type', { schema: { type: 'string' } }, 1, 'integer, not string'],
  ['of none of several types', { schema: { type: ['string', 'null'] } }, true, 'boolean, not string or null'],
  ['no constant', { schema: { const: 'a' } }, 'b', 'is not "a"'],
  ['not listed', { schema: { enum: ['a', 1n] } }, 2n, 'none of'],
  ['of none of the forms', { schema: { anyOf: [{ type: 'string' }, { type: 'null' }] } }, 1, 'none of the allowed'],
  ['against a part', { schema: { allOf: [{ type: 'number' }, { minimum: 3 }] } }, 2, 'below 3'],
  ['too short', { schema: { minLength: 2 } }, 'a', 'shorter than 2'],
  ['too long', { schema: { maxLength: 2 } }, 'abc', 'longer than 2'],
  ['of another form', { schema: { pattern: '^a$' } }, 'b', 'does not match'],
  ['too large', { schema: { maximum: 3 } }, 4, 'above 3'],
  ['not above', { schema: { exclusiveMinimum: 3 } }, 3, 'not above 3'],
  ['not below', { schema: { exclusiveMaximum: 3 } }, 3, 'not below 3'],
  ['too few', { schema: { minItems: 1 } }, [], 'fewer than 1'],
  ['too many', { schema: { maxItems: 1 } }, [1, 2], 'more than 1'],
  ['with a wrong item', { schema: { items: { type: 'string' } } }, ['a', 1], 'answer[1] is integer'],
  ['without a key', { schema: { required: ['__proto__'] } }, {}, 'answer.__proto__ is missing'],
  ['with a wrong key', { schema: { properties: { a: { type: 'string' } } } }, { a: 1 }, 'answer.a is integer'],
  ['with a key too many', { schema: { additionalProperties: false } }, { a: 1 }, 'answer.a is not expected'],
])('W3 an answer %s is refused with the reason, and the question stays open', async (_, question, answer, reason) => {
  const { engine } = createBench();
  const graph = asking({ prompt: '?', ...question });
  const paused = await runToRest(engine, graph);
  const refused = engine.answer(paused.runId, waitOf(paused), answer);
  await expect(refused).rejects.toMatchObject({ code: 'ANSWER_INVALID', message: expect.stringContaining(reason) });
  expect(waitOf(await resumeToRest(engine, paused.runId, graph))).toBe(waitOf(paused));
});

test.each<[string, unknown, string]>([
  ['a function', () => 1, 'VALUE_UNSTORABLE'],
  ['a deep list', nested(100_000), 'VALUE_UNSTORABLE'],
  ['a huge text', 'x'.repeat(65 * 1024 * 1024), 'VALUE_TOO_LARGE'],
])('C2 an answer that is %s is refused, and the question stays open', async (_, answer, code) => {
  const { engine } = createBench();
  const graph = asking({ prompt: '?' });
  const paused = await runToRest(engine, graph);
  await expect(engine.answer(paused.runId, waitOf(paused), answer)).rejects.toMatchObject({ code });
  await expect(engine.signal(paused.runId, 'go', answer)).rejects.toMatchObject({ code });
  await engine.answer(paused.runId, waitOf(paused), { fits: true });
  expect((await resumeToRest(engine, paused.runId, graph)).state.outputs['q']).toEqual({ fits: true });
});

test('P6 an answer to an unknown run, an unknown wait, or a closed one says which it is', async () => {
  const { engine } = createBench();
  const graph = asking({ prompt: '?' });
  const paused = await runToRest(engine, graph);
  const { runId } = paused;
  await expect(engine.answer('none', 'w', 1)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  await expect(engine.signal('none', 'go', 1)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  await expect(engine.answer(runId, 'w_none', 1)).rejects.toMatchObject({ code: 'WAIT_NOT_FOUND' });
  await engine.answer(runId, waitOf(paused), { first: true }, { by: 'ada' });
  await expect(engine.answer(runId, waitOf(paused), 2)).rejects.toMatchObject({
    code: 'WAIT_CLOSED',
    data: { by: 'ada', answer: { first: true } },
  });
});

test.each<[string, Question]>([
  ['a pattern that is no regular expression', { prompt: '?', schema: { items: { pattern: '(' } } }],
  ['a deadline that is no time', { prompt: '?', deadlineAt: Number.NaN }],
  ['a deadline that never comes', { prompt: '?', deadlineAt: Number.POSITIVE_INFINITY }],
])('W1 a question with %s is refused when it is asked, not when it is answered', async (_, question) => {
  const { engine } = createBench();
  const failed = await runToRest(engine, asking(question));
  expect(failed.status).toBe('failed');
  expect(failed.error?.cause).toMatchObject({ code: 'NODE_CALL_REFUSED' });
});
