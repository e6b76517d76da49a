/** What a model is shown of a tool's result. */
import { expect, test } from 'vitest';
import type { FileAccess } from '../../graph/contracts/access.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { composedObservation, observation, shorten } from './observation.ts';

const fileOf = (type: string): FileRef => new FileRef({ hash: 'a'.repeat(64), name: 'it.bin', type, sizeBytes: 7 });
const described = (type: string): string => `[file it.bin, ${type}, 7 bytes, aaaaaaaaaaaa]`;

test('A4 of files that are results a model that sees is shown the images, and all others are described', () => {
  const image = fileOf('image/png');
  expect(observation(image, 'call', true)).toEqual({
    output: described('image/png'),
    parts: [
      { type: 'text', text: described('image/png') },
      { type: 'image', data: image, mediaType: 'image/png', name: 'it.bin' },
    ],
  });
  expect(observation(image, 'call')).toEqual({ output: described('image/png') });
  expect(observation(fileOf('text/plain'), 'call', true)).toEqual({ output: described('text/plain') });
  for (const result of ['image/png', 7, null, { type: 'image/png' }])
    expect(observation(result, 'call', true)).toEqual({ output: result });
});

test('A4 a result that is too long is shown by its two ends, cut between characters, with where the whole is', () => {
  const text = 'é'.repeat(40_000);
  const shown = shorten(text, 'is on record as call') ?? '';
  expect(shown).toContain(`[… ${80_000 - 2 * 8 * 1024} bytes are left out here; the whole is on record as call …]`);
  expect(shown).not.toContain('\uFFFD');
  expect([shorten('x'.repeat(64 * 1024), ''), typeof shorten('x'.repeat(64 * 1024 + 1), '')]).toEqual([
    undefined,
    'string',
  ]);
});

test('A4 the result of a composed tool may be a hundred levels deep, and no deeper', async () => {
  const nested = (levels: number): unknown => (levels === 0 ? 'end' : [nested(levels - 1)]);
  const files = {} as FileAccess;
  expect(await composedObservation(nested(100), files, 'call')).toEqual({ output: nested(100) });
  await expect(composedObservation(nested(101), files, 'call')).rejects.toMatchObject({ code: 'VALUE_UNSTORABLE' });
});
