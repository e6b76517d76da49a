/** Fleets of workers of Cairn and of other systems, over queues of runs of ten steps that were started before. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { installPeer } from './install-peer.ts';
import { NotMeasured } from './group.ts';
import { cpuOf } from './process-cpu.ts';

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

/** How a queue is worked. */
export interface FleetOptions {
  readonly runs: number;
  readonly workers: number;
  /** Reads the CPU time of the server so far. */
  readonly serverCpu?: () => number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs that are completed while workers start and code is compiled. What follows is measured. */
export const warmUpOf = (runs: number): number => Math.floor(runs / 10);

/** What a queue took after its first runs. */
export interface FleetWork {
  readonly seconds: number;
  /** CPU of all workers, user and system. */
  readonly workerMs: number;
  readonly serverMs: number;
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

/** The others that are compared with. @throws NotMeasured */
export const openPeerFleets = (): readonly FleetSystem[] => [
  peerFleet('openworkflow', ['Postgres', 'SQLite'], 'fleet-openworkflow.mjs', [
    'openworkflow@0.10.1',
    'postgres@3.4.9',
  ]),
  peerFleet('DBOS', ['Postgres'], 'fleet-dbos.mjs', ['@dbos-inc/dbos-sdk@5.3.0', 'pg@8']),
];

/** Another system, installed from the registry. @throws NotMeasured */
function peerFleet(
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

/** After that long without a run that ended, none is expected any more. */
const stuckMs = 60_000;

/** Lets workers do all runs of a queue, and stops them. @throws NotMeasured no run has ended for a minute, and some are left */
export async function workQueue(
  system: FleetSystem,
  store: string,
  { runs, workers, serverCpu = () => 0, env = {} }: FleetOptions,
): Promise<FleetWork> {
  const children = Array.from({ length: workers }, (_, index) => {
    const into = join(system.folder, `work-${index}.json`);
    const child = spawn(process.execPath, ['--import', './count-work.mjs', ...system.workerOf(store)], {
      cwd: system.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_NO_WARNINGS: '1', COUNT_INTO: into, ...env },
    });
    return { child, exited: once(child, 'exit'), into };
  });
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const workerCpu = (): number => sum(children.map(({ child }) => cpuOf(child.pid)));
  const look = () => ({ at: performance.now(), workerMs: workerCpu(), serverMs: serverCpu() });
  let [from, to] = [look(), look()];
  let completed = 0;
  let isStuck = false;
  const watch = setTimeout(() => {
    isStuck = true;
    for (const { child } of children) child.kill('SIGKILL');
  }, stuckMs);
  const hear = (line: string): void => {
    if (!/\bcompleted\b/.test(line)) return;
    completed += 1;
    watch.refresh();
    if (completed === warmUpOf(runs)) from = look();
    if (completed !== runs) return;
    to = look();
    for (const { child } of children) child.kill('SIGTERM');
  };
  for (const { child } of children)
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', hear);
  const codes = await Promise.all(children.map(async ({ exited }) => (await exited)[0] as number | null));
  clearTimeout(watch);
  if (isStuck) throw new NotMeasured(`no run of ${system.name} ended for a minute after ${completed} of ${runs}`);
  if (completed !== runs || codes.some((code) => code !== 0))
    throw new Error(`workers of ${system.name} ended with ${codes.join(', ')} after ${completed} of ${runs} runs`);
  const works = children.map(
    ({ into }) => JSON.parse(readFileSync(into, 'utf8')) as { readonly cpuMs: number; readonly statements: number },
  );
  return {
    seconds: (to.at - from.at) / 1_000,
    workerMs: to.workerMs - from.workerMs,
    serverMs: to.serverMs - from.serverMs,
    statements: sum(works.map(({ statements }) => statements)),
  };
}
