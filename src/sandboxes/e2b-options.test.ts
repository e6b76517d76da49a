/** Settings of E2B that cannot be used are refused when they are given, before anything is asked of the service. */
import { expect, test } from 'vitest';
import { e2b } from './index.ts';

test.each([
  [{ setup: [[]] }, /setup is a list of commands, each a list of texts/u],
  [{ setup: [['apt'], []] }, /setup is a list of commands/u],
  [{ setup: 'apt' }, /setup is a list of commands/u],
  [{ onTimeout: 'stop' }, /onTimeout must be 'kill' or 'pause'/u],
  [{ image: 'base' }, /image/u],
])('SB7.1 %j is refused', (options, reason) => {
  expect(() => e2b(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(reason) as string }),
  );
});

test('SB7.1 a kind is named for its template, and isolates nothing', () => {
  expect(e2b({ setup: [['true']], onTimeout: 'pause' })).toMatchObject({ name: 'e2b base', isolates: false });
  expect(e2b({ template: 'own' }).name).toBe('e2b own');
});
