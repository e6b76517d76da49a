/** What commands say of a store to other processes and to people holds no password, and ids in it are no options. */
import { expect, test } from 'vitest';
import { openScreen } from './screen.ts';
import { openSession, splitPassword, storeOptions } from './session.ts';

test.each([
  ['postgres://app:s3cret@db/flows', 'postgres://app@db/flows', 's3cret'],
  ['postgres://app:p%40ss%20word@127.0.0.1:5432/f?schema=x', 'postgres://app@127.0.0.1:5432/f?schema=x', 'p@ss word'],
  ['postgresql://:only@db/flows', 'postgresql://@db/flows', 'only'],
  ['postgres://app:50%@db/flows', 'postgres://app@db/flows', '50%'],
  ['postgres://app@db/flows', 'postgres://app@db/flows', undefined],
  ['sqlite:/data/a:b@c.db', 'sqlite:/data/a:b@c.db', undefined],
  ['memory:', 'memory:', undefined],
])('the password of %s stands in no command line', (storeUrl, url, password) => {
  expect(splitPassword(storeUrl)).toEqual(password === undefined ? { url } : { url, password });
  expect(storeOptions({ storeUrl, configFile: undefined })).toEqual(['--store', url]);
});

test('a word that begins with a dash is printed as an operand, behind the options of the command', () => {
  const options = { isJson: false, storeUrl: 'runs.db', configFile: undefined, runsConfig: false, texts: {} };
  const { commandLine } = openSession(openScreen({}), options);
  const words = (...line: readonly string[]): string => commandLine(...line).replace(/^.*?(?=resume|log|answer)/u, '');
  expect(words('resume', 'r1')).toBe('resume r1 --store runs.db');
  expect(words('resume', '--yes', '--file', 'g.ts')).toBe('resume --file g.ts --store runs.db -- --yes');
  expect(words('answer', '-rf', 'w1', '-1', '--resume')).toBe('answer --resume --store runs.db -- -rf w1 -1');
});
