import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { memoriesSuite } from '../../testing/memories-suite.ts';
import { openSqliteMemories } from './sqlite-memories.ts';

const top = mkdtempSync(join(tmpdir(), 'cairn-memories-'));
afterAll(() => rmSync(top, { recursive: true, force: true }));
let count = 0;
const newPath = (): string => join(top, String((count += 1)), 'memories.db');

describe('memories in SQLite', () => {
  memoriesSuite({ test, create: () => openSqliteMemories({ path: newPath() }) });

  test('A42 they outlast the process, two connections see each other, and only the owner may read the file', async () => {
    const path = newPath();
    const [one, two] = [openSqliteMemories({ path }), openSqliteMemories({ path })];
    const owner = { user: 'ada', session: 's' };
    await one.write(owner, ['a'], 'k');
    await two.write(owner, ['again'], 'k');
    await one.close();
    await two.close();
    const later = openSqliteMemories({ path });
    expect((await later.read(owner)).map(({ content }) => content)).toEqual(['a']);
    await later.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('A41 a file that is no database is told', () => {
    expect(() => openSqliteMemories({ path: top })).toThrow(/unable to open|is a directory|STORE|cannot/iu);
  });
});
