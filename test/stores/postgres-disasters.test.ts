/** What `npm run prove` does to workers over Postgres: kills at every call, calls of several processes at once, deploys, a full disk, a failover. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { runFleet } from '../../examples/fleet/fleet.ts';
import { AgentGraph, END, functionNode, openHistory, openStore, START } from '../../src/index.ts';
import type { Reconciliation } from '../../src/graph/contracts/node-contract.ts';
import { crashProcesses } from '../../src/testing/crash-kit/crash-processes.ts';
import { admission } from '../../src/testing/store-suite/examples.ts';
import { findOrder, type Made } from '../../src/testing/store-suite/random/linearizability.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { until } from '../support/awaited.ts';
import { bundleScript } from '../support/bundled-script.ts';
import { CuttingProxy } from '../support/cutting-proxy.ts';
import { openOn, preparePostgres, type PostgresUnderTest } from '../support/postgres-store.ts';
import { isProving } from '../support/scale.ts';
import { giveToPlainUser } from '../support/server-process.ts';
import { startPair } from '../support/standby.ts';
import { releaseOf } from './deployed-worker.ts';

const found = isProving ? await preparePostgres() : 'in npm run prove: each takes up to a minute';
if (isProving && typeof found === 'string') console.warn(`Disasters of Postgres were not tested: ${found}`);

describe.skipIf(typeof found === 'string')(
  `disasters of Postgres${typeof found === 'string' ? `: ${found}` : ''}`,
  { timeout: 600_000 },
  () => {
    const server = found as PostgresUnderTest;
    const folder = mkdtempSync(join(tmpdir(), 'cairn-disasters-'));
    beforeEach(() => server.empty());
    afterAll(async () => {
      rmSync(folder, { recursive: true, force: true });
      await server.stop();
    });

    test.each(['publish', 'orders'])(
      'P1 P2 %s, killed at every call of the store, ends as if it never was',
      async (name) => {
        vi.stubEnv('CAIRN_CASE_STORE', server.url);
        const script = await bundleScript(join(import.meta.dirname, '../crash/cases', `${name}.ts`));
        const report = await crashProcesses({ script, folder: join(folder, name) });
        vi.unstubAllEnvs();
        console.log(`${name} over Postgres: ${report.trials} processes killed`);
        expect(report.points).toBeGreaterThan(20);
        expect(report.faults).toEqual([]);
      },
    );

    test('P4 calls of three processes at once are answered as if made in some order', async () => {
      const histories = 150;
      const store = openOn(server);
      for (let index = 0; index < histories; index += 1) await store.admitRun(admission(`run ${index}`));
      await store.close();
      const firstAt = Date.now() + 8_000;
      const script = join(import.meta.dirname, 'calling-process.ts');
      const made: Made[][] = Array.from({ length: histories }, () => []);
      const call = async (worker: string, seed: number): Promise<void> => {
        const args = [script, server.url, worker, `${seed}`, `${firstAt}`, `${histories}`, '120'];
        const child = spawn(process.execPath, ['--no-warnings', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
        for await (const line of createInterface(child.stdout)) {
          const { index, made: one } = JSON.parse(line) as { readonly index: number; readonly made: Made };
          made[index]?.push(one);
        }
      };
      await Promise.all(['one', 'two', 'three'].map((worker, seed) => call(worker, seed + 1)));
      expect(made.flat()).toHaveLength(histories * 18);
      const overlapping = made.filter((calls) =>
        calls.some((a) => calls.some((b) => a.calledAt < b.calledAt && b.calledAt < a.repliedAt)),
      );
      expect(overlapping.length).toBeGreaterThan(histories / 2);
      expect(made.flatMap((calls, index) => (findOrder(calls) ? [] : [index]))).toEqual([]);
      // A token is one worker's alone.
      for (const calls of made) {
        const tokens = calls.flatMap(({ reply }) => /^granted \d+$/.exec(reply) ?? []);
        expect(new Set(tokens).size).toBe(tokens.length);
      }
    });

    test('O2 old and new code side by side: each run is completed by the code that it began with, and by nobody else', async () => {
      const store = openStore(server.url);
      const runs = 40;
      const begin = async (version: string): Promise<void> => {
        const graph = releaseOf(version).compile({ store, wakes: false });
        for (let no = 1; no <= runs; no += 1) await graph.start({}, { runId: `v${version}-${no}`, detach: true });
        await graph.close();
      };
      const crew = ['1', '1', '2', '2'].map((version) => new Deployed(server.url, version));
      try {
        // Runs of a hash that nobody alive has are offered to all, as a change may be compatible: here each has a worker.
        await until('all workers are alive', async () => (await store.listWorkers('default')).length === 4, 60);
        await begin('1');
        await begin('2');
        const done = (): readonly string[] =>
          crew.flatMap(({ lines }) => lines.filter((line) => line.startsWith('completed ')));
        await until('all runs are completed', () => new Set(done()).size === 2 * runs, 120);
      } finally {
        await Promise.all(crew.map((worker) => worker.end()));
      }
      for (const { version, lines } of crew) {
        const others = lines.filter(
          (line) => line.startsWith('completed v') && !line.startsWith(`completed v${version}-`),
        );
        expect(others).toEqual([]);
        // What a worker cannot advance it is offered at most once.
        const refused = lines.filter((line) => line.startsWith('error '));
        expect(new Set(refused).size).toBe(refused.length);
      }
      const { isValid } = await openHistory(store).verify();
      expect(isValid).toBe(true);
      await store.close();
    });

    test('S4 a full disk is told, takes nothing back, and a run goes on when there is room again', async (context) => {
      const place = join(folder, 'small');
      const tablespace = join(place, 'data');
      mkdirSync(place);
      const no = mountSmall(place);
      if (no !== undefined) {
        context.skip(`no small disk can be mounted here: ${no}`);
        return;
      }
      try {
        mkdirSync(tablespace);
        giveToPlainUser(tablespace);
        // The server reaches it by a path of its own user.
        execFileSync('chmod', ['755', folder, place]);
        await server.run(`create tablespace small location '${tablespace}'`);
        await server.run('alter table cairn.checkpoints set tablespace small');
        await fillUp(server);
      } finally {
        await server.run('alter table cairn.checkpoints set tablespace pg_default');
        await server.run('drop tablespace small');
        execFileSync('umount', [place]);
      }
    });

    test('S4 doctor tells of a standby whose promotion may lose what was acknowledged', async (context) => {
      const pair = await startPair();
      if (typeof pair === 'string') {
        context.skip(pair);
        return;
      }
      const store = openStore(pair.urlAt(pair.port));
      const told = (verdict: string, detail: string): Promise<unknown> =>
        until(
          `standbys are ${verdict}: ${detail}`,
          async () => {
            const finding = (await store.examine?.())?.find(({ name }) => name === 'standbys');
            return finding?.verdict === verdict && finding.detail.includes(detail) && finding;
          },
          200,
        );
      try {
        await told('ok', 'walreceiver: commits wait for one');
        pair.waitFor('');
        expect(await told('warning', 'walreceiver: asynchronous')).toMatchObject({
          fix: 'set synchronous_standby_names, and synchronous_commit = on',
        });
        pair.waitFor('walreceiver');
        await told('ok', 'walreceiver: commits wait for one');
        // One that is not covered, beside one that is.
        pair.addArchive();
        expect(await told('warning', 'archive: asynchronous')).toMatchObject({
          fix: 'name it in synchronous_standby_names too, or promote none but walreceiver',
        });
      } finally {
        await store.close();
        await pair.stop();
      }
    });

    test('P1 P2 orders go on over a failover to a synchronous standby, and each effect happens once', async (context) => {
      const pair = await startPair();
      if (typeof pair === 'string') {
        context.skip(pair);
        return;
      }
      const proxy = await CuttingProxy.before(pair.port);
      try {
        const url = pair.urlAt(proxy.port);
        let looks = 0;
        const random = createSeededRandom(11);
        const orders = 100;
        const report = await runFleet({
          url,
          ledger: join(folder, 'failover.jsonl'),
          orders,
          workers: 3,
          kills: 2,
          random: () => random.next(),
          tell: () => undefined,
          disturb: async () => {
            looks += 1;
            if (looks !== 10) return;
            await pair.failOver();
            proxy.turnTo(pair.standbyPort);
          },
        });
        expect(looks).toBeGreaterThan(10);
        expect(report).toMatchObject({ completed: orders, effects: orders * 3, repeated: [], faults: [] });
      } finally {
        await proxy.close();
        await pair.stop();
      }
    });
  },
);

/** A worker with one version of a workflow. */
class Deployed {
  readonly version: string;
  readonly lines: string[] = [];
  readonly #child: ChildProcess;

  constructor(url: string, version: string) {
    this.version = version;
    const args = ['--no-warnings', join(import.meta.dirname, 'deployed-worker.ts'), url, version];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    createInterface(child.stdout).on('line', (line) => this.lines.push(line));
  }

  async end(): Promise<void> {
    const isOver = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await isOver;
  }
}

/** @returns why not */
function mountSmall(place: string): string | undefined {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'none', place], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return (error as Error).message.trim();
  }
}

/** Writes checkpoints until the disk is full, makes room, and goes on. */
async function fillUp(server: PostgresUnderTest): Promise<void> {
  const store = openStore(server.url);
  const effects: number[] = [];
  /** What the world says of an effect in doubt, by its key. */
  const happened = new Map<string, string>();
  let size = 200_000;
  const graph: AgentGraph = new AgentGraph({}, { id: 'filling', checkpointPolicy: 'every_node' });
  let before: string = START;
  const nodes = 60;
  for (let index = 0; index < nodes; index += 1) {
    const fill = ({ idempotencyKey }: { readonly idempotencyKey: string }): string => {
      effects.push(index);
      // What cannot be compressed, and differs from node to node.
      const output = Array.from({ length: size / 10 }, () => Math.random().toString(36).slice(2, 12)).join('');
      happened.set(idempotencyKey, output);
      return output;
    };
    const reconcile = ({ idempotencyKey }: { readonly idempotencyKey: string }): Reconciliation => {
      const output = happened.get(idempotencyKey);
      return output === undefined ? { happened: false } : { happened: true, output };
    };
    graph.addNode(`n${index}`, functionNode(fill, { effectClass: 'external', reconcile }));
    graph.addEdge(before, `n${index}`);
    before = `n${index}`;
  }
  const compiled = graph.addEdge(before, END).compile({ store });
  const full = await compiled.invoke({}, { runId: 'filled' }).catch((error: unknown) => error);
  expect(full).toMatchObject({ code: 'STORE_FULL' });
  const reached = effects.length;
  expect(reached).toBeGreaterThan(3);
  expect(reached).toBeLessThan(nodes);
  const history = openHistory(store);
  expect((await history.verify('filled')).isValid).toBe(true);
  await server.run('alter table cairn.checkpoints set tablespace pg_default');
  size = 100;
  const result = await (await compiled.engine.resume('filled')).result();
  expect(result.status).toBe('completed');
  // The effect whose result found no room was announced before: it was in doubt, and was looked up.
  expect(effects).toEqual(Array.from({ length: nodes }, (_, index) => index));
  expect((await history.verify('filled')).isValid).toBe(true);
  await compiled.close();
  await store.close();
}
