/** Which model a node asks in a fork that cannot act. */
import { expect, test } from 'vitest';
import { asOtherModel, otherModelOf } from './other-model.ts';

test('X7.1 a node is named by its id or its path, one for a node holds for all within it, and the nearest counts', () => {
  const nodeModels = { desk: 'big', 'desk/draft': 'small', judge: 'mid' };
  const of = (...path: readonly string[]): string | undefined => otherModelOf({ nodeModels }, path);
  expect([of('desk'), of('desk', 'write'), of('desk', 'draft'), of('desk', 'draft', 'inner')]).toEqual([
    'big',
    'big',
    'small',
    'small',
  ]);
  expect([of('other', 'judge'), of('other'), otherModelOf({}, ['desk'])]).toEqual(['mid', undefined, undefined]);
});

test('X7.1 the other model is asked, and what it costs and may answer is known of it', async () => {
  const asked: string[] = [];
  const access = asOtherModel(
    {
      generate: ({ model }) => (asked.push(model), Promise.reject(new Error('no'))),
      embed: () => Promise.reject(new Error('no')),
      rerank: () => Promise.reject(new Error('no')),
      transcribe: () => Promise.reject(new Error('no')),
      generateImages: () => Promise.reject(new Error('no')),
      costOf: (model) => model.length,
      tokensMaxOf: (model) => model.length,
    },
    'small',
  );
  await expect(access.generate({ model: 'big', messages: [] })).rejects.toThrow('no');
  expect([asked, access.costOf?.('b', { inputTokens: 1, outputTokens: 1 }), access.tokensMaxOf?.('b')]).toEqual([
    ['small'],
    5,
    5,
  ]);
});
