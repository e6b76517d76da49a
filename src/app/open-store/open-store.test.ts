import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openStore } from './open-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-open-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const owner = { user: 'ann', session: 's' };
const bytes = new TextEncoder().encode('large');

test.each(['memory:', `sqlite:${join(folder, 'runs.db')}`, `file:${join(folder, 'runs')}`])(
  'S4 %s opens a store with blobs and memories, all closed together',
  async (url) => {
    const { blobs, memories, ...store } = openStore(url);
    expect(await blobs.get('t', await blobs.put({ tenant: 't' }, bytes))).toEqual(bytes);
    await memories.write(owner, ['likes tea'], 'k');
    expect(await memories.read(owner)).toMatchObject([{ content: 'likes tea' }]);
    expect((await store.listRuns({ tenant: 't' })).rows).toEqual([]);
    await store.close();
    await store.close();
    await expect(store.readIdentity()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  },
);

test('S4 the file of memories is made when one is written, not before', async () => {
  const store = openStore(join(folder, 'quiet.db'));
  await store.close();
  expect(existsSync(join(folder, 'quiet.db'))).toBe(true);
  expect(existsSync(join(folder, 'quiet.memories.db'))).toBe(false);
  await expect(store.memories.read(owner)).rejects.toMatchObject({ code: 'STORE_CLOSED' });
});

test('P6 what is no URL and no pool is refused', () => {
  expect(() => openStore({} as never)).toThrow(/a pool of the package pg/);
  expect(() => openStore('mysql://x')).toThrow(/stores of kind mysql are not known/);
});

test.each([
  'postgres://u:100%@127.0.0.1/x',
  'postgres://127.0.0.1/100%',
  'redis://u:100%@127.0.0.1',
  'redis://100%@127.0.0.1',
])('P6 %j is refused, as its % stands for no letter, and is not repeated', (url) => {
  expect(() => openStore(url)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  expect(() => openStore(url)).not.toThrow(/100%/);
});
