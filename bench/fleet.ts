/** Fleets of workers of Cairn and of other systems, over queues of runs of ten steps that were started before. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { installPeer } from './install-peer.ts';

const processes = resolve(import.meta.dirname, 'processes');

/** A system whose workers are measured. */
export interface FleetSystem {
  readonly name: string;
  readonly stores: readonly ('SQLite' | 'Postgres')[];
  /** A folder with its program and its packages. */
  readonly folder: string;
  /** The program that starts runs: `node PROGRAM STORE RUNS`. */
  readonly program: string;
  /** Arguments of Node for a worker over a store. */
  readonly workerOf: (store: string) => readonly string[];
}

/** What a queue took. */
export interface FleetWork {
  readonly seconds: number;
  /** CPU of all workers, user and system, their starts included. */
  readonly workerMs: number;
  /** What they asked SQLite for, if that was counted. */
  readonly statements: number;
}

/** Cairn as it is built in a checkout, as a program uses it. */
export function cairnFleet(name: string, checkout: string, folder: string): FleetSystem {
  const program = 'fleet-cairn.mjs';
  const own = mkdtempSync(join(folder, 'cairn-'));
  mkdirSync(join(own, 'node_modules'));
  symlinkSync(resolve(checkout), join(own, 'node_modules/cairn-workflows'), 'dir');
  for (const file of [program, 'count-work.mjs']) cpSync(join(processes, file), join(own, file));
  const command = join(own, 'node_modules/cairn-workflows/dist/bin/cairn.cjs');
  return {
    name,
    stores: ['Postgres', 'SQLite'],
    folder: own,
    program,
    workerOf: (store) => [command, 'worker', '--store', storeUrl(store), '--modules', program],
  };
}

/** Another system, installed from the registry. @throws NotMeasured */
export function peerFleet(
  name: string,
  stores: FleetSystem['stores'],
  program: string,
  packages: readonly string[],
): FleetSystem {
  const text = (file: string): string => readFileSync(join(processes, file), 'utf8');
  const files = { [program]: text(program), 'count-work.mjs': text('count-work.mjs') };
  const folder = installPeer(`fleet-${name}`, packages, files);
  return { name, stores, folder, program, workerOf: (store) => [program, store] };
}

/** Cairn names a file of SQLite by a URL, the others by its path. */
const storeUrl = (store: string): string => (store.includes(':') ? store : `sqlite:${store}`);

/** Starts runs, and leaves them in the queue. */
export function fillQueue({ name, folder, program }: FleetSystem, store: string, runs: number): void {
  const place = name.startsWith('Cairn') ? storeUrl(store) : store;
  const { status, stderr } = spawnSync(process.execPath, [program, place, String(runs)], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${name} could not start the runs: ${stderr}`);
}

/** Lets workers do all runs of a queue, and stops them. */
export async function workQueue(
  system: FleetSystem,
  store: string,
  runs: number,
  workers: number,
  env: Readonly<Record<string, string>> = {},
): Promise<FleetWork> {
  const started = performance.now();
  let [completed, endMs] = [0, started];
  const children = Array.from({ length: workers }, (_, index) => {
    const into = join(system.folder, `work-${index}.json`);
    const child = spawn(process.execPath, ['--import', './count-work.mjs', ...system.workerOf(store)], {
      cwd: system.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_NO_WARNINGS: '1', COUNT_INTO: into, ...env },
    });
    return { child, exited: once(child, 'exit'), into };
  });
  const stopAll = (): void => children.forEach(({ child }) => void child.kill('SIGTERM'));
  for (const { child } of children)
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        if (!/\bcompleted\b/.test(line)) return;
        completed += 1;
        if (completed !== runs) return;
        endMs = performance.now();
        stopAll();
      });
  const codes = await Promise.all(children.map(async ({ exited }) => (await exited)[0] as number | null));
  if (completed !== runs || codes.some((code) => code !== 0))
    throw new Error(`workers of ${system.name} ended with ${codes.join(', ')} after ${completed} of ${runs} runs`);
  const works = children.map(
    ({ into }) => JSON.parse(readFileSync(into, 'utf8')) as { readonly cpuMs: number; readonly statements: number },
  );
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    seconds: (endMs - started) / 1_000,
    workerMs: sum(works.map(({ cpuMs }) => cpuMs)),
    statements: sum(works.map(({ statements }) => statements)),
  };
}
