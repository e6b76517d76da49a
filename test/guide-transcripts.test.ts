/**
 * Runs the transcripts of docs/guide: blocks that begin with ```console run. A line after `$ ` is a command; the lines that follow
 * it must be printed, in this order. `…` stands for anything: within a line, or as a line of its own. The blocks of a page share a
 * folder, which begins with the example workflows and the files of the page: blocks that begin with ```LANGUAGE file=NAME.
 *
 * In the gate a line that is nothing but a command of `cairn` runs in a process that they share; a shell runs the others, and all of them
 * in `npm run prove`.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { CommandHost } from './cli/command-host.ts';
import { builtDoors, builtMain } from './support/built-package.ts';
import { isProving } from './support/scale.ts';

const root = join(import.meta.dirname, '..');
const zod = join(root, 'node_modules/zod/index.js');
const top = mkdtempSync(join(tmpdir(), 'cairn-transcripts-'));
const host = new CommandHost(builtMain);
afterAll(() => {
  host.close();
  rmSync(top, { recursive: true, force: true });
});

interface Exchange {
  readonly place: string;
  readonly command: string;
  readonly expected: readonly string[];
}

function readExchanges(guide: string): readonly Exchange[] {
  const text = readFileSync(join(root, 'docs/guide', guide), 'utf8');
  return [...text.matchAll(/^```console run\n(.*?)^```$/gmsu)].flatMap((block) => {
    const first = text.slice(0, block.index).split('\n').length + 1;
    const exchanges: { place: string; command: string; expected: string[] }[] = [];
    for (const [index, line] of (block[1] ?? '').trimEnd().split('\n').entries()) {
      if (line.startsWith('$ '))
        exchanges.push({ place: `${guide}:${first + index}`, command: line.slice(2), expected: [] });
      else exchanges.at(-1)?.expected.push(line.trimEnd());
    }
    return exchanges;
  });
}

/** A folder with the examples in it and `cairn` on the path. */
function makeFolder(guide: string): { readonly folder: string; readonly path: string } {
  const folder = join(top, guide);
  const programs = join(top, `${guide}.bin`);
  mkdirSync(programs);
  cpSync(join(root, 'examples/workflows'), folder, { recursive: true, filter: (path) => !path.endsWith('.ts') });
  const script = join(programs, 'cairn');
  writeFileSync(script, `#!/bin/sh\nexec "${process.execPath}" "${builtMain}" "$@"\n`);
  chmodSync(script, 0o755);
  writeFiles(guide, folder);
  return { folder, path: `${programs}:${process.env['PATH'] ?? ''}` };
}

/** Writes the files that a page shows, with the doors of the package at their place in the source. */
function writeFiles(guide: string, folder: string): void {
  const text = readFileSync(join(root, 'docs/guide', guide), 'utf8');
  for (const [, name = '', content = ''] of text.matchAll(/^```\w+ file=(\S+)\n(.*?)^```$/gmsu))
    writeFileSync(
      join(folder, name),
      content.replaceAll(
        /from '(cairn-workflows[^']*|zod)'/gu,
        (_, name: string) => `from '${pathToFileURL(builtDoors[name] ?? zod).href}'`,
      ),
    );
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`);

/** The first expected line that was not printed after those before it; undefined: all were. */
function firstMissing(printed: string, expected: readonly string[]): string | undefined {
  const lines = printed.split('\n').map((line) => line.trimEnd());
  let next = 0;
  return expected.find((wanted) => {
    if (wanted === '…' || wanted === '') return false;
    const pattern = new RegExp(`^${wanted.split('…').map(escaped).join('.*')}$`, 'u');
    const found = lines.findIndex((line, index) => index >= next && pattern.test(line));
    next = found + 1;
    return found < 0;
  });
}

const plainWord = /(?:[\w@%+=:,./-]|'[^']*'|"[^"$`\\]*")+/gu;

/** The arguments of a command of `cairn` in which a shell would do nothing but take away the quotes; undefined for any other line. */
function argumentsOf(command: string): readonly string[] | undefined {
  const [program, ...args] = command.match(plainWord) ?? [];
  if (program !== 'cairn' || [program, ...args].join(' ') !== command) return undefined;
  return args.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/gu, (_, single, double) => String(single ?? double)));
}

/** @returns what is printed, to standard output and standard error */
function runCommand(command: string, cwd: string, environment: NodeJS.ProcessEnv): string {
  const args = isProving ? undefined : argumentsOf(command);
  if (args !== undefined) return host.run('', { args, cwd, environment }, true).out;
  const { stdout, stderr } = spawnSync('/bin/sh', ['-c', `${command} 2>&1`], {
    cwd,
    env: environment,
    encoding: 'utf8',
  });
  return `${stdout}${stderr}`;
}

const pages = readdirSync(join(root, 'docs/guide'))
  .filter((name) => name.endsWith('.md'))
  .map((guide) => ({ guide, exchanges: readExchanges(guide) }))
  .filter(({ exchanges }) => exchanges.length > 0);

test('there are transcripts in the guide', () => {
  expect(pages.length).toBeGreaterThan(0);
});

test.each(pages)('the commands of $guide print what it says', { timeout: 120_000 }, ({ guide, exchanges }) => {
  const { folder, path } = makeFolder(guide);
  const env = { ...process.env, PATH: path, CI: 'true', COLUMNS: '80', NO_COLOR: '1' };
  for (const { place, command, expected } of exchanges) {
    const printed = runCommand(command, folder, env);
    const missing = firstMissing(printed, expected);
    expect(missing === undefined ? '' : `${place} ${missing}\nis not in\n${printed}`).toBe('');
  }
});
