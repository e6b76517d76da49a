/**
 * `npm run demo -- fleet`: orders on three worker processes over one Postgres, workers killed at random, effects counted. Without a server it
 * starts one of its own; CAIRN_TEST_POSTGRES names another. `--orders N` and `--kills N` change the numbers.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { isWhole, moveAndTakeOver, runFleet } from './fleet.ts';

const { values } = parseArgs({
  options: { orders: { type: 'string', default: '200' }, kills: { type: 'string', default: '12' } },
});
const [orders, kills] = [Number(values.orders), Number(values.kills)];

const ownServer = process.env['CAIRN_TEST_POSTGRES'];
const server = ownServer === undefined ? await startPostgres() : undefined;
if (typeof server === 'string') {
  console.error(`${server}. Name one of your own, for tests alone: CAIRN_TEST_POSTGRES=postgres://USER@HOST/DATABASE`);
  process.exit(1);
}
const url = ownServer ?? server?.url ?? '';
const folder = mkdtempSync(join(tmpdir(), 'cairn-fleet-'));
const tell = (line: string): void => console.log(line);

try {
  const moved = await moveAndTakeOver({
    url,
    ledger: join(folder, 'moved.jsonl'),
    file: join(folder, 'runs.db'),
    tell,
  });
  tell(
    `its ${moved.effects} effects happened once each: ${moved.repeated.length === 0 ? 'yes' : moved.repeated.join()}`,
  );
  tell(`its history is whole: ${moved.isValid ? 'yes' : 'no'}\n`);
  const report = await runFleet({
    url,
    ledger: join(folder, 'ledger.jsonl'),
    orders,
    workers: 3,
    kills,
    random: Math.random,
    tell,
  });
  const { completed, effects, expectedEffects, repeated, faults, durationMs } = report;
  tell(
    `\n${completed} of ${orders} orders completed in ${(durationMs / 1000).toFixed(1)} s, through ${report.kills} kills`,
  );
  tell(`${effects} of ${expectedEffects} effects happened, ${repeated.length} of them more than once`);
  tell(faults.length === 0 ? 'every history is whole' : faults.join('\n'));
  const isFine = moved.status === 'completed' && moved.isValid && moved.repeated.length === 0;
  process.exitCode = isFine && isWhole(report, orders) ? 0 : 1;
} finally {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
}
