import { describe, expect, test } from 'vitest';
import { checkAnswer } from './check-answer.ts';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

const choices = ['Deploy', { value: 'stop', label: 'Stop it' }, { value: { retry: true }, label: 'Try again' }];
const lenient = { choices, matching: 'lenient' } as const;

describe('W3 answers to choices', () => {
  test.each([
    [1, 'Deploy'],
    ['1', 'Deploy'],
    [' 2 ', 'stop'],
    [3, { retry: true }],
    ['deploy', 'Deploy'],
    ['please STOP IT now', 'stop'],
    ['stop', 'stop'],
    ['try again, and then stop it', 'stop'],
    [{ retry: true }, { retry: true }],
  ])('W3 lenient: %j stands for %j', (answer, value) => {
    expect(checkAnswer(lenient, answer)).toEqual(value);
  });

  test.each([
    [7, '`7` is no number of a choice: 1 to 3'],
    ['0', '`0` is no number of a choice: 1 to 3'],
    ['-1', '`-1` is no number of a choice: 1 to 3'],
    ['maybe', 'Invalid choice: maybe: answer 1 to 3, or one of: Deploy, Stop it, Try again'],
    [1.5, 'Invalid choice: 1.5: answer 1 to 3, or one of: Deploy, Stop it, Try again'],
    ['', 'Invalid choice: : answer 1 to 3, or one of: Deploy, Stop it, Try again'],
    [null, 'Invalid choice: null: answer 1 to 3, or one of: Deploy, Stop it, Try again'],
  ])('W3 lenient: %j is refused', (answer, reason) => {
    expect(() => checkAnswer(lenient, answer)).toThrow(
      expect.objectContaining({ code: 'ANSWER_INVALID', data: { reason } }),
    );
  });

  test('W3 lenient: a number is not looked for in labels', () => {
    expect(() => checkAnswer({ choices: ['version 7', 'version 8'], matching: 'lenient' }, 7)).toThrow('1 to 2');
    expect(checkAnswer({ choices: ['5', '7'], matching: 'lenient' }, '7')).toBe('7');
  });

  test('W3 exact, which is the default, takes a value and nothing like it', () => {
    expect(checkAnswer({ choices }, 'stop')).toBe('stop');
    for (const answer of ['Stop it', 'STOP', 1, '1'])
      expect(() => checkAnswer({ choices }, answer)).toThrow('is none of');
  });

  test('W3 open: choices are suggestions, and the schema decides', () => {
    expect(checkAnswer({ choices, matching: 'open' }, 'else')).toBe('else');
    expect(() => checkAnswer({ choices, matching: 'open', schema: { type: 'string' } }, 7)).toThrow('not string');
  });

  test('W3 what an answer stands for must fit the schema too', () => {
    expect(() => checkAnswer({ ...lenient, schema: { type: 'string' } }, 3)).toThrow('not string');
  });
});

describe('W3 in a run', () => {
  const graph = graphOf(
    'g',
    [node('ask', 'human', (ctx) => ctx.ask({ prompt: '?', ...lenient, deadlineAt: 1e15, defaultAnswer: 'try again' }))],
    edges('> ask', 'ask >'),
  );

  test('W3 the value that is meant is recorded, and an answer that is none leaves the question open', async () => {
    const { engine } = createBench();
    const { runId, waits } = await runToRest(engine, graph);
    const waitId = waits[0]?.waitId ?? '';
    expect(waits[0]).toMatchObject({ matching: 'lenient', defaultAnswer: { retry: true } });
    await expect(engine.answer(runId, waitId, 'perhaps')).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
    await engine.answer(runId, waitId, 'stop it, please');
    await engine.answer(runId, waitId, 2);
    expect((await resumeToRest(engine, runId, graph)).state.outputs['ask']).toBe('stop');
  });

  test('W3 a fork is answered alike', async () => {
    const { engine } = createBench();
    const { runId, seq } = await runToRest(engine, graph);
    const fork = await engine.fork({ runId, seq }, { answers: { ask: '3' } });
    expect((await resumeToRest(engine, fork.runId, graph)).state.outputs['ask']).toEqual({ retry: true });
    await expect(engine.fork({ runId, seq }, { answers: { ask: 'no' } })).rejects.toThrow('Invalid choice: no');
  });

  test('W3 a matching that is none is refused before anything is asked', async () => {
    const wrong = graphOf(
      'g',
      [node('ask', 'human', (ctx) => ctx.ask({ prompt: '?', matching: 'fuzzy' as 'open' }))],
      edges('> ask', 'ask >'),
    );
    const result = await runToRest(createBench().engine, wrong);
    expect(result.error?.cause).toMatchObject({ code: 'NODE_CALL_REFUSED' });
  });
});
