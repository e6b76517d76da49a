/**
 * What commands cost over a store of many runs: `node bench/large-store.ts 100000 [FILE [PATTERN]]`. It fills a SQLite
 * store, unless FILE is there already, and prints for each command, or for those that match PATTERN, its CPU, how long it took, the most
 * memory its process had, and how much it printed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openStore } from '../src/index.ts';
import { buildStore, builtGraphId, builtRunId } from '../test/support/built-store.ts';

const runs = Number(process.argv[2] ?? 100_000);
const folder = mkdtempSync(join(tmpdir(), 'cairn-large-'));
const pattern = process.argv[4] ?? '';
const path = resolve(process.argv[3] ?? join(folder, 'runs.db'));
const middle = builtRunId(Math.floor(runs / 2));

const commands: readonly (readonly string[])[] = [
  ['ls'],
  ['ls', '--status', 'failed'],
  ['ls', '--graph', builtGraphId(7)],
  ['ls', '--label', 'user=u7'],
  ['show', middle],
  ['log', middle],
  ['post-mortem', middle],
  ['inbox'],
  ['export', middle, '-'],
  ['cleanup', '--dry-run'],
  ['doctor'],
  ['ls', '--all', '--json'],
  ['verify'],
  ['prune', '--all', '--dry-run'],
];

/** The built package, if it is built. */
const built = resolve(import.meta.dirname, '../dist/bin/cairn.cjs');
const cairn = existsSync(built) ? built : resolve(import.meta.dirname, '../src/cli/main.ts');

/** Has a process write what it took when it ends. What its memory was at most is Linux's word: Node's is at least its parent's. */
const usageFile = join(folder, 'usage.json');
const usageScript = `process.on('exit', () => {
  const { readFileSync, writeFileSync } = process.getBuiltinModule('node:fs');
  const [, peakKib] = /VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  writeFileSync(${JSON.stringify(usageFile)}, JSON.stringify({ cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakKib }));
})`;

async function fill(): Promise<void> {
  const store = openStore(`sqlite:${path}`);
  await buildStore(store, runs, Date.now());
  await store.close();
}

function measure(command: readonly string[]): readonly (string | number)[] {
  const args = ['--import', `data:text/javascript,${encodeURIComponent(usageScript)}`, cairn, ...command];
  const startMs = performance.now();
  const { status, stdout } = spawnSync(process.execPath, [...args, '--store', `sqlite:${path}`], {
    cwd: folder,
    maxBuffer: 4 * 1024 ** 3,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const seconds = (performance.now() - startMs) / 1_000;
  const { cpuSeconds, peakKib } = JSON.parse(readFileSync(usageFile, 'utf8')) as Record<
    'cpuSeconds' | 'peakKib',
    number
  >;
  return [
    cpuSeconds.toFixed(2),
    seconds.toFixed(2),
    Math.round(peakKib / 1_024),
    Math.round(stdout.length / 1_024),
    status ?? -1,
  ];
}

if (!existsSync(path)) await fill();
console.log(`| ${runs} runs on SQLite | CPU, s | took, s | peak, MB | printed, KiB | exit |`);
console.log('| --- | ---: | ---: | ---: | ---: | ---: |');
for (const command of commands.filter((words) => new RegExp(pattern).test(words.join(' '))))
  console.log(`| \`${command.join(' ')}\` | ${measure(command).join(' | ')} |`);
