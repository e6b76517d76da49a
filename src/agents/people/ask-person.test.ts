/** A model that asks the person it works for: what is asked, how often, and what it is told. */
import { expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import type { RunResult } from '../../engine/api.ts';
import { createScriptedModels } from '../../models/scripted.ts';
import { agent } from '../agent.ts';
import { askPerson } from './ask-person.ts';

interface Asked {
  readonly paused: RunResult;
  /** Goes on in another process; an answer is given first. */
  readonly goOn: (answer?: unknown) => Promise<RunResult>;
  /** What the model was told, call by call of its first answer. */
  readonly told: () => unknown;
  readonly requestCount: () => number;
  readonly events: () => Promise<readonly unknown[]>;
}

async function ask(...calls: readonly object[]): Promise<Asked> {
  const models = createScriptedModels([{ calls: calls.map((input) => ({ tool: 'person', input })) }, 'Done.']);
  const node = agent({ model: 'm', prompt: 'Go.', tools: { person: askPerson() } });
  const graph = graphOf('g', [{ id: 'a', ...node }], edges('> a', 'a >'));
  const bench = createBench({ models, findGraph: () => graph });
  let { engine } = bench;
  const paused = await runToRest(engine, graph, {}, 'r');
  return {
    paused,
    goOn: async (answer) => {
      engine = afterCrash(bench);
      if (answer !== undefined) await engine.answer('r', paused.waits[0]?.waitId ?? '', answer);
      return resumeToRest(engine, 'r', graph);
    },
    told: () =>
      (models.requests[1]?.messages.at(-1)?.content as readonly { output: unknown }[] | undefined)?.map(
        ({ output }) => output,
      ),
    requestCount: () => models.requests.length,
    events: async () => {
      const found: unknown[] = [];
      for await (const event of engine.events('r'))
        if (event.type === 'checkpoint')
          found.push(...event.change.filter(({ kind }) => kind === 'event').map(({ detail }) => detail));
      return found;
    },
  };
}

test('A24 a question is the same one after a restart, is asked once, and the model is not asked for its call again', async () => {
  const { paused, goOn, told, requestCount } = await ask({ message: 'Which branch?' });
  expect(paused.waits).toMatchObject([{ prompt: 'Which branch?', audience: 'user' }]);
  const again = await goOn();
  expect(again.waits.map(({ waitId }) => waitId)).toEqual(paused.waits.map(({ waitId }) => waitId));
  expect(requestCount()).toBe(1);
  const done = await goOn('main');
  expect([done.status, told(), requestCount()]).toEqual(['completed', ['main'], 2]);
});

test('A24 questions with options are answered at once, and held to them', async () => {
  const questions = [
    { question: 'Which?', options: ['a', 'b'] },
    { id: 'who', question: 'Who?', options: ['ann', 'bob'], several: true, own_words: true },
  ];
  const { paused, goOn, told } = await ask({ message: 'Before I begin:', questions });
  expect(paused.waits[0]?.prompt).toBe(
    'Before I begin:\n1. Which? [a | b]\nwho. Who? [ann | bob] (several, or your own words)',
  );
  await expect(goOn({ '1': 'c', who: ['ann'] })).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  await expect(goOn({ '1': 'a' })).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  await goOn({ '1': 'a', who: ['ann', 'Cem, my brother'] });
  expect(told()).toEqual([
    {
      answers: [
        { id: '1', selected: ['a'] },
        { id: 'who', selected: ['ann'], own_words: 'Cem, my brother' },
      ],
    },
  ]);
});

test('A24 what a model tells without asking is kept with the history, once, and it goes on', async () => {
  const { paused, goOn, told, events } = await ask(
    { action: 'inform', message: 'I begin.' },
    { action: 'inform', message: 'It is long.' },
    { message: 'Go on?' },
  );
  expect(paused.waits.map(({ prompt }) => prompt)).toEqual(['Go on?']);
  await goOn('yes');
  expect(told()).toEqual(['The person was told.', 'The person was told.', 'yes']);
  expect(await events()).toEqual([
    { type: 'person-informed', message: 'I begin.' },
    { type: 'person-informed', message: 'It is long.' },
  ]);
});

test('A24 two questions under one id are told to the model', async () => {
  const one = { id: 'x', question: '?', options: ['a', 'b'] };
  const { paused, told } = await ask({ message: '?', questions: [one, one] });
  expect([paused.status, told()]).toEqual(['completed', ['person failed: two questions have the id x']]);
});
