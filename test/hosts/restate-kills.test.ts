/**
 * Runs over a real Restate server while endpoints and servers are killed or hang: each effect happens once, or is asked about. Each endpoint
 * that starts computes for a second, so the gate takes a third of the orders, and leaves more servers to `npm run prove`.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Endpoints, runOrders } from '../../examples/hosts/disturbed-runs.ts';
import { orderOf, readLedger } from '../../examples/hosts/order.ts';
import { startRestate, type RestateServer } from '../../examples/hosts/restate-server.ts';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { wakeByRestate } from '../../src/hosts/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { until } from '../support/awaited.ts';
import { isProving, scale } from '../support/scale.ts';

const minutesMost = 10 * 60_000;

async function withServer(nodes: number, use: (server: RestateServer) => Promise<void>): Promise<void> {
  const server = await startRestate(nodes);
  if (typeof server === 'string') return console.warn(`Restate was not killed: ${server}`);
  try {
    await use(server);
  } finally {
    await server.stop();
  }
}

test(
  'HO8 orders complete, each effect once or asked about, while endpoints are killed again and again and the server once',
  { timeout: minutesMost },
  () =>
    withServer(1, async (server) => {
      const runs = scale(100, 300);
      // An endpoint computes for a second when it starts, and for longer beside other tests: one that is killed before does nothing.
      const killEveryMs = scale(2_500, 1_000);
      const disturbServer = (): Promise<void> => server.restart(true);
      const report = await runOrders(server, { runs, killEveryMs, leaseMs: 2_000, disturbServer });
      expect(report).toMatchObject({ completed: runs, onceCount: 2 * runs, repeatedCount: 0, isValid: true });
      expect(report.kills).toBeGreaterThan(0);
    }),
);

test.skipIf(!isProving)(
  'HO8 the same on three servers of which one is killed for good, in npm run prove',
  { timeout: minutesMost },
  () =>
    withServer(3, async (server) => {
      const runs = 150;
      const disturbServer = (): Promise<void> => server.killNode();
      const report = await runOrders(server, { runs, killEveryMs: 1_000, leaseMs: 2_000, disturbServer });
      expect(report).toMatchObject({ completed: runs, onceCount: 2 * runs, repeatedCount: 0, isValid: true });
    }),
);

test.skipIf(!isProving)(
  'HO4 what an endpoint writes that hung longer than its lease and the server waited is refused, in npm run prove',
  { timeout: minutesMost },
  () =>
    withServer(1, async (server) => {
      const folder = mkdtempSync(join(tmpdir(), 'cairn-hang-'));
      const [path, ledger] = [join(folder, 'cairn.db'), join(folder, 'ledger')];
      const engine = createDefaultEngine({
        store: openSqliteStore({ path }),
        host: wakeByRestate({ ingress: server.ingress }),
      });
      const { ingress } = server;
      const options = { path, ledger, ingress, leaseMs: 1_000, forMs: 200, timeoutMs: 1_500, cancelGraceMs: 200 };
      const endpoints = new Endpoints({ ...options, effectMs: 1_000 });
      const { store, tenant } = engine.ports;
      try {
        const { graph } = orderOf(ledger, engine);
        await server.register(await endpoints.open(1));
        const { runId } = await engine.start(graph, {}, { detach: true });
        await until('the charge', () => readLedger(ledger).length === 1, 5);
        const goOn = endpoints.suspend();
        await endpoints.add();
        // The server calls the other one. That one waits for the lease, then asks whether the charge has happened.
        await until('a question', async () => (await engine.waits(runId)).length > 0, 50);
        const waits = async (): Promise<void> => {
          for (const { waitId, kind } of await engine.waits(runId))
            if (kind === 'doubt') await engine.answer(runId, waitId, 'happened');
            else if (kind === 'question') await engine.answer(runId, waitId, 'yes');
        };
        await until(
          'the end',
          async () => {
            await waits().catch(() => {});
            return (await store.readRun({ tenant, runId }))?.status === 'completed';
          },
          50,
        );
        const before = await store.readCheckpoints({ tenant, runId }, { from: 0, to: Infinity });
        goOn();
        const refusals = (): string =>
          existsSync(`${ledger}.refused`) ? readFileSync(`${ledger}.refused`, 'utf8') : '';
        await until('a refused write', () => /^\d+ (?:commit|renewClaims?) CLAIM_FENCED$/mu.test(refusals()), 50);
        expect(await store.readCheckpoints({ tenant, runId }, { from: 0, to: Infinity })).toEqual(before);
        expect(readLedger(ledger).toSorted()).toEqual([`${runId} charge`, `${runId} send`]);
      } finally {
        endpoints.close();
        await engine.close();
        await store.close();
        rmSync(folder, { recursive: true, force: true });
      }
    }),
);
