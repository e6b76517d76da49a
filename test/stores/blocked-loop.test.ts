/** Nodes that hold the event loop for longer than a lease, with two workers on each store that processes share. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../src/index.ts';
import { until } from '../support/awaited.ts';
import { preparePostgres } from '../support/postgres-store.ts';
import { startRedis } from '../support/redis.ts';
import { scale } from '../support/scale.ts';
import { blockingGraph } from './blocking-worker.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-blocked-loop-'));
const servers = { postgres: await preparePostgres(), redis: await startRedis() };
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  for (const server of Object.values(servers)) if (typeof server !== 'string') await server.stop();
});

/** A worker's process, and all that it has said. */
class WorkerProcess {
  readonly #process: ChildProcess;
  said = '';
  warned = '';

  constructor(...args: readonly (string | number)[]) {
    const program = join(import.meta.dirname, 'blocking-worker.ts');
    const flags = ['--disable-warning=ExperimentalWarning', program, ...args.map(String)];
    this.#process = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process.stdout?.setEncoding('utf8').on('data', (text: string) => (this.said += text));
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => (this.warned += text));
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }
}

const leaseMs = 4_000;

/** Two workers on a store. */
class Fleet {
  readonly #url: string;
  readonly #workers: readonly WorkerProcess[];

  constructor(url: string, busyMaxMs = 60_000) {
    this.#url = url;
    this.#workers = [1, 2].map(() => new WorkerProcess(url, leaseMs, busyMaxMs));
  }

  async ready(): Promise<void> {
    await until('both workers work', () => this.#workers.every(({ said }) => said.includes('ready')), 50);
  }

  /** Starts runs, each of which holds its process for so many ms. */
  async start(runs: Readonly<Record<string, number>>): Promise<void> {
    const store = openStore(this.#url);
    const app = blockingGraph().compile({ store, wakes: false });
    for (const [runId, ms] of Object.entries(runs)) await app.start({ ms }, { runId, detach: true });
    await app.close();
    await store.close();
  }

  /** What the workers have said in lines that begin with this word. */
  lines(word: string): readonly string[] {
    const all = this.#workers.flatMap(({ said }) => said.split('\n'));
    return all.filter((line) => line.startsWith(`${word} `)).sort();
  }

  get warned(): string {
    return this.#workers.map(({ warned }) => warned).join('');
  }

  kill(): void {
    for (const worker of this.#workers) worker.kill();
  }
}

const urls: Readonly<Record<string, string>> = {
  sqlite: `sqlite:${join(folder, 'runs.db')}`,
  ...Object.fromEntries(
    Object.entries(servers).flatMap(([name, server]) => (typeof server === 'string' ? [] : [[name, server.url]])),
  ),
};

/** Why there is no server here. */
const reasons: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(servers).flatMap(([name, server]) => (typeof server === 'string' ? [[name, server]] : [])),
);

const fleets = new Map(Object.entries(urls).map(([name, url]) => [name, new Fleet(url)]));
fleets.set('busy', new Fleet(`sqlite:${join(folder, 'busy.db')}`, leaseMs / 2));
// What takes CPU is over before anything is measured in leases.
beforeAll(async () => void (await Promise.all(Array.from(fleets.values(), (fleet) => fleet.ready()))), 60_000);
afterAll(() => fleets.forEach((fleet) => fleet.kill()));

describe.concurrent('O2.9 P4 work that holds the event loop keeps its lease, begins once and ends', () => {
  for (const name of ['sqlite', 'postgres', 'redis']) {
    const fleet = fleets.get(name);
    const reason = fleet === undefined ? `: ${reasons[name] ?? ''}` : '';
    test.skipIf(fleet === undefined)(`on ${name}${reason}`, { timeout: 60_000 }, async () => {
      if (fleet === undefined) return;
      // One for three leases, and several in a row for less than one each, which leave no turn for a renewal and its reply.
      const short = Object.fromEntries(['a', 'b', 'c'].map((id) => [id, leaseMs * 0.6]));
      const runs = { long: leaseMs * scale(1.6, 4), ...short };
      await fleet.start(runs);
      const ids = Object.keys(runs).sort();
      await until('all runs have ended', () => fleet.lines('completed').length === ids.length, 50);
      expect(fleet.lines('begun')).toEqual(ids.map((id) => `begun ${id}`));
      expect(fleet.lines('after')).toEqual(ids.map((id) => `after ${id}`));
      // Each process tells of the node once, whichever runs it was in.
      expect(fleet.warned.match(/CAIRN_LOOP_BLOCKED/g)?.length).toBeLessThanOrEqual(2);
      expect(fleet.warned).toMatch(/node hold of graph blocking \(run \w+\) held the event loop for \d+\.\d s/);
    });
  }

  test('O2.9 a loop that is blocked for longer than busyMaxMs loses its runs to others, and the node is named', async () => {
    const fleet = fleets.get('busy') as Fleet;
    await fleet.start({ stuck: leaseMs * 5 });
    await until('the other worker has taken the run up', () => fleet.lines('begun').length === 2, 50);
    expect(fleet.warned).toMatch(/^cairn: node hold of run stuck has held the event loop of process \d+ for \d+ s/m);
  });
});
