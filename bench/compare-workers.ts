/**
 * What a healthy `cairn worker` takes of the CPU, beside the same of another checkout that is built:
 * `npm run bench:workers -- FOLDER [--pairs N] [--runs N]`, once this checkout is built.
 *
 * Each pair is two whole processes over copies of stores with the same queued runs, one after another; who is first changes with each
 * pair. What counts is the median of the pairs' ratios. Statements and commits are counted once, in processes of their own.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { median } from './median.ts';

interface Side {
  readonly name: string;
  /** A folder of a program that uses this build, with a store in which runs are queued. */
  readonly folder: string;
}

interface Work {
  readonly cpuMs: number;
  readonly statements: number;
  readonly commits: number;
}

const { values: options, positionals } = parseArgs({
  options: { pairs: { type: 'string', default: '9' }, runs: { type: 'string', default: '1500' } },
  allowPositionals: true,
});
const [base] = positionals;
if (base === undefined) throw new Error('usage: npm run bench:workers -- FOLDER, a built checkout to compare with');
const runs = Number(options.runs);
const programs = resolve(import.meta.dirname, 'processes');
const scratch = mkdtempSync(join(tmpdir(), 'cairn-workers-'));

/** A program beside the build, its runs queued. */
function prepare(name: string, checkout: string): Side {
  const folder = join(scratch, name);
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  symlinkSync(resolve(checkout), join(folder, 'node_modules/cairn-workflows'), 'dir');
  for (const file of ['worker-graph.mjs', 'count-work.mjs']) cpSync(join(programs, file), join(folder, file));
  const args = ['worker-graph.mjs', 'sqlite:queued/cairn.db', String(runs)];
  mkdirSync(join(folder, 'queued'));
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the runs could not be started: ${stderr}`);
  return { name, folder };
}

/** Lets a worker do all the runs, and stops it. */
async function work({ folder }: Side, env: Readonly<Record<string, string>> = {}): Promise<Work> {
  rmSync(join(folder, 'store'), { recursive: true, force: true });
  cpSync(join(folder, 'queued'), join(folder, 'store'), { recursive: true });
  const command = join(folder, 'node_modules/cairn-workflows/dist/bin/cairn.cjs');
  const args = ['--import', './count-work.mjs', command, 'worker', '--store', 'sqlite:store/cairn.db'];
  const child = spawn(process.execPath, [...args, '--modules', 'worker-graph.mjs'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, COUNT_INTO: 'work.json', ...env },
  });
  let completed = 0;
  const exited = once(child, 'exit');
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      if (!/\bcompleted\b/.test(line)) return;
      completed += 1;
      if (completed === runs) child.kill('SIGTERM');
    });
  }
  const [code] = await exited;
  if (code !== 0 || completed !== runs) throw new Error(`the worker ended with ${code} after ${completed} runs`);
  return JSON.parse(readFileSync(join(folder, 'work.json'), 'utf8')) as Work;
}

const [ours, theirs] = [prepare('this build', resolve(import.meta.dirname, '..')), prepare('other', base)];
for (const side of [theirs, ours]) {
  const { statements, commits } = await work(side, { COUNT_STATEMENTS: '1' });
  console.log(
    `${side.name}: ${(statements / runs).toFixed(2)} statements and ${(commits / runs).toFixed(2)} commits a run`,
  );
}
const ratios: number[] = [];
for (let pair = 0; pair < Number(options.pairs); pair += 1) {
  const taken = new Map<Side, number>();
  for (const side of pair % 2 === 0 ? [ours, theirs] : [theirs, ours]) taken.set(side, (await work(side)).cpuMs);
  const [our, their] = [taken.get(ours)!, taken.get(theirs)!];
  ratios.push(our / their);
  console.log(`pair ${pair + 1}: ${our.toFixed(0)} ms beside ${their.toFixed(0)} ms, ${(our / their).toFixed(3)}`);
}
console.log(`median of ${ratios.length} ratios: ${median(ratios).toFixed(3)}`);
rmSync(scratch, { recursive: true, force: true });
