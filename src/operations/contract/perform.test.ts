/** Who acts is what the context knows (D27). */
import { expect, test } from 'vitest';
import { objectOf, text } from './output-shapes.ts';
import { perform } from './perform.ts';

const noted = {
  input: {
    by: { type: 'text', description: 'who', isActor: true },
    note: { type: 'text', description: 'what' },
  },
  isReadOnly: true,
  outputSchema: objectOf({ by: text }),
  run: (_context: object, { by = 'nobody' }: { readonly by?: string; readonly note?: string }) =>
    Promise.resolve({ by }),
} as const;

test('D27 the actor of the context is recorded, whatever the input says; without one, what the input says', async () => {
  expect(await perform(noted, { actor: 'model' }, { by: 'person' })).toEqual({ by: 'model' });
  expect(await perform(noted, { actor: 'ann' }, {})).toEqual({ by: 'ann' });
  expect(await perform(noted, {}, { by: 'ann' })).toEqual({ by: 'ann' });
  expect(await perform(noted, {}, {})).toEqual({ by: 'nobody' });
});
