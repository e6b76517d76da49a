import { expect, test } from 'vitest';
import { CairnError } from './errors.ts';

test('P6 an error as JSON says its hint once, though the hint came with its values', () => {
  const error = new CairnError('USAGE_INVALID', { reason: 'no such file', hint: 'Name another file.' });
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    code: 'USAGE_INVALID',
    message: 'no such file',
    hint: 'Name another file.',
    retry: 'no',
    data: { reason: 'no such file' },
  });
});
