/** What commands say of a store to other processes and to people holds no password, and ids in it are no options. */
import { expect, test } from 'vitest';
import { openScreen } from './screen.ts';
import { splitPassword } from '../app/open-store/store-url.ts';
import { openSession, storeOptions, type Session } from './session.ts';

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
  expect(storeOptions({ storeUrl, blobsUrl: undefined, configFile: undefined })).toEqual(['--store', url]);
});

const plain = {
  isJson: false,
  storeUrl: undefined,
  blobsUrl: undefined,
  configFile: undefined,
  runsConfig: false,
  texts: {},
};

test('a word that begins with a dash is printed as an operand, behind the options of the command', () => {
  const { commandLine } = openSession(openScreen({}), { ...plain, storeUrl: 'runs.db' });
  const words = (...line: readonly string[]): string => commandLine(...line).replace(/^.*?(?=resume|log|answer)/u, '');
  expect(words('resume', 'r1')).toBe('resume r1 --store runs.db');
  expect(words('resume', '--yes', '--file', 'g.ts')).toBe('resume --file g.ts --store runs.db -- --yes');
  expect(words('answer', '-rf', 'w1', '-1', '--resume')).toBe('answer --resume --store runs.db -- -rf w1 -1');
});

test('blobs of the environment belong to its store or the folder’s own, and not to a store that is typed', () => {
  const open = (typed: { storeUrl?: string; blobsUrl?: string }): Session =>
    openSession(openScreen({}), { ...plain, ...typed });
  const before = process.env['CAIRN_BLOBS'];
  process.env['CAIRN_BLOBS'] = 's3://runs';
  try {
    expect(open({}).blobsUrl).toBe('s3://runs');
    expect(open({ storeUrl: 'other.db' }).blobsUrl).toBeUndefined();
    const both = open({ storeUrl: 'other.db', blobsUrl: 's3://others/x?region=eu' });
    expect(both.blobsUrl).toBe('s3://others/x?region=eu');
    expect(both.commandLine('show', 'r')).toMatch(/show r --store other\.db --blobs 's3:\/\/others\/x\?region=eu'$/u);
    process.env['CAIRN_BLOBS'] = '';
    expect(open({}).blobsUrl).toBeUndefined();
  } finally {
    if (before === undefined) delete process.env['CAIRN_BLOBS'];
    else process.env['CAIRN_BLOBS'] = before;
  }
});
