import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { openPostgresStore, passwordFrom } from './postgres/index.ts';
import { openRedisStore } from './redis/index.ts';
import { openSqliteStore } from './sqlite/index.ts';

const urls = ['postgres://me@db.example/app', 'rediss://me@cache.example'] as const;
const openUrl = (url: string, password?: () => string | undefined) =>
  url.startsWith('redis')
    ? openRedisStore({ url, ...(password && { password }) })
    : openPostgresStore({ url, ...(password && { password }) });

test.each(urls)(
  'O2.9 another thread opens %s from plain data, a password of the environment or its file included',
  (url) => {
    const dataOf = (password?: () => string | undefined): unknown => {
      const source = openUrl(url, password).renewalSource?.();
      return typeof source === 'string' ? source : structuredClone(source?.data);
    };
    expect(dataOf()).toMatchObject({ password: {} });
    expect(dataOf(passwordFrom({ CAIRN_STORE_PASSWORD: 'word' }))).toMatchObject({ password: { text: 'word' } });
    const file = dataOf(passwordFrom({ CAIRN_STORE_PASSWORD_FILE: 'secret.txt' }));
    expect(file).toMatchObject({ password: { file: resolve('secret.txt') } });
    expect(dataOf(passwordFrom({}))).toMatchObject({ password: {} });
  },
);

test.each(urls)('O2.9 %s with a password that only the program knows says why it is not', (url) => {
  expect(openUrl(url, () => 'word').renewalSource?.()).toBe('its password comes from a function of the program');
});

test('O2.9 a pool and a clock of the program are said, too', async () => {
  const pool = { connect: () => Promise.reject(new Error()), end: () => Promise.resolve(), on: () => pool };
  expect(openPostgresStore({ pool }).renewalSource?.()).toBe("its pool is the program's own");
  const folder = mkdtempSync(join(tmpdir(), 'cairn-renewal-'));
  const store = openSqliteStore({ path: join(folder, 'runs.db'), now: () => 5 });
  expect(store.renewalSource?.()).toBe('its clock is a function of the program');
  await store.close();
  rmSync(folder, { recursive: true });
});
