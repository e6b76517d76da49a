import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { kindOf, requireBackups, serverSchemes } from './store-kinds.ts';
import { parseStoreUrl, splitPassword } from './store-url.ts';

test('O3 a password in the URL of any server is taken out of it', () => {
  expect(serverSchemes).toEqual(['postgres', 'postgresql', 'redis', 'rediss']);
  for (const scheme of serverSchemes)
    expect(splitPassword(`${scheme}://app:s3cret@db/1`)).toEqual({ url: `${scheme}://app@db/1`, password: 's3cret' });
});

test('O3 what no backup of ours holds is refused with how it is copied', () => {
  const reasonOf = (url: string, how: 'backUp' | 'restore'): unknown => {
    try {
      return requireBackups(parseStoreUrl(url, '/here'), how).path;
    } catch (error) {
      return (error as { readonly data: { readonly reason: string } }).data.reason;
    }
  };
  expect(reasonOf('runs.db', 'backUp')).toBe('/here/runs.db');
  expect(reasonOf('postgres://db/flows', 'backUp')).toBe('a Postgres store is backed up with pg_dump');
  expect(reasonOf('redis://db', 'restore')).toBe('a Redis store is restored from the files of its server');
  expect(reasonOf('file:runs', 'backUp')).toMatch(/is copied while no process has it open/);
  expect(reasonOf('memory:', 'restore')).toMatch(/into a SQLite store/);
});

test('O3 a store is not made by reading, and one whose creation was interrupted holds nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-kinds-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'empty.db'), '');
  for (const url of ['sqlite:none.db', 'sqlite:empty.db', 'file:none', 'memory:']) {
    const place = parseStoreUrl(url, folder);
    expect(await kindOf(place).openToRead(place)).toBeUndefined();
  }
});
