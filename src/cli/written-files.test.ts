/** Files that commands write: whole, for their owner only, and never through a link (D40). */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { environment, main, openFolder } from '../../test/cli/cairn.ts';
import { writeOwnFile } from './files.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 90_000 });

const folder = openFolder();
const at = (name: string): string => join(folder.path, name);
writeFileSync(at('w.dot'), 'digraph w { start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }');
folder.cairn('run', 'w.dot', '--run-id', 'r');

const commands: readonly (readonly [name: string, ...args: readonly string[]])[] = [
  ['page.html', 'post-mortem', 'r', '--html', 'page.html'],
  ['r.jsonl', 'export', 'r', 'r.jsonl'],
  ['r.svg', 'draw', 'r', '--out', 'r.svg'],
];

test('D40 a file that was open to others is for its owner only once a command has written it', () => {
  for (const [name, ...args] of commands) {
    writeFileSync(at(name), 'what stood here');
    chmodSync(at(name), 0o644);
    expect([name, folder.cairn(...args).code]).toEqual([name, 0]);
    expect([name, statSync(at(name)).mode & 0o777]).toEqual([name, 0o600]);
    expect(readFileSync(at(name), 'utf8')).not.toContain('what stood here');
  }
  expect(readdirSync(folder.path).filter((name) => name.endsWith('.part'))).toEqual([]);
});

test('D40 no command writes through a symbolic link, whether it leads to a file or to nothing', () => {
  writeFileSync(at('victim'), 'mine');
  writeFileSync(at('victim.dot'), 'digraph w { start [shape=Mdiamond];   exit [shape=Msquare]; start -> exit }');
  const before = readFileSync(at('victim.dot'), 'utf8');
  symlinkSync('victim.dot', at('linked.dot'));
  expect(folder.cairn('fmt', 'linked.dot', '--write').err).toContain('it is a symbolic link');
  expect(readFileSync(at('victim.dot'), 'utf8')).toBe(before);
  for (const [name, ...args] of commands)
    for (const target of ['victim', 'nothing']) {
      const link = `${target}-${name}`;
      symlinkSync(target, at(link));
      const { code, err } = folder.cairn(...args.map((word) => (word === name ? link : word)));
      expect([link, code, err]).toEqual([link, 2, expect.stringContaining('it is a symbolic link')]);
    }
  expect(readFileSync(at('victim'), 'utf8')).toBe('mine');
  expect(existsSync(at('nothing'))).toBe(false);
});

test('D40 a source that is formatted keeps its mode, and a device is written into', () => {
  chmodSync(at('victim.dot'), 0o640);
  expect(folder.cairn('fmt', 'victim.dot', '--write').code).toBe(0);
  expect(statSync(at('victim.dot')).mode & 0o777).toBe(0o640);
  writeOwnFile(folder.path, '/dev/null', 'x');
  expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
});

test('H4 a copy of a run is exported from a store that may only be read; moving the run needs more', (context) => {
  const own = openFolder();
  own.write('w.dot', readFileSync(at('w.dot'), 'utf8'));
  own.cairn('run', 'w.dot', '--run-id', 'r');
  const places = ['', ...readdirSync(own.path, { recursive: true, encoding: 'utf8' })].map((name) =>
    join(own.path, name),
  );
  const isRoot = process.getuid?.() === 0;
  if (isRoot) for (const place of places) chownSync(place, 65_534, 65_534);
  const run = (...args: readonly string[]): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, [main, ...args], {
      cwd: own.path,
      env: environment(),
      encoding: 'utf8',
      ...(isRoot ? { uid: 65_534, gid: 65_534 } : {}),
    });
  context.skip(run('--version').status !== 0, 'another user cannot reach this folder');
  for (const place of places) chmodSync(place, statSync(place).isDirectory() ? 0o500 : 0o400);
  const copy = run('export', 'r', '-');
  expect([copy.status, String(copy.stderr), String(copy.stdout).startsWith('{"cairn":"export"')]).toEqual([
    0,
    '',
    true,
  ]);
  expect(String(run('export', 'r', '-', '--move').stderr)).toContain('[STORE_READ_ONLY]');
  for (const place of places) chmodSync(place, 0o700);
});
