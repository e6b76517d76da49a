/** Folders that processes left, and which of them the next one removes. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeTree } from './folder.ts';
import { tidy } from './local-box.ts';

test('SB3 folders of processes that are gone are removed by the next one, once, and no others', async () => {
  const place = mkdtempSync(join(tmpdir(), 'cairn-tidy-'));
  const gone = `cairn-box-${spawnSync(process.execPath, ['--version']).pid}-left`;
  const kept = [`cairn-box-${process.pid}-own`, 'cairn-box-0-zero', 'cairn-box-none', 'other'].toSorted();
  for (const name of [gone, ...kept]) mkdirSync(join(place, name, 'inner'), { recursive: true });
  await tidy(place, removeTree);
  expect(readdirSync(place)).toEqual(kept);
  mkdirSync(join(place, gone));
  await tidy(place, removeTree);
  expect(readdirSync(place)).toContain(gone);
  rmSync(place, { recursive: true });
});
