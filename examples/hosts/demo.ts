/**
 * A hundred runs over a Restate server from npm and three endpoints. Endpoints are killed all the time, the server once. At the end each
 * effect is counted: it happened once, or a person was asked about it. `npm run demo -- hosts [RUNS]`
 */
import { runOrders } from './disturbed-runs.ts';
import { startRestate, type RestateServer } from './restate-server.ts';

const runs = Number(process.argv[2] ?? 100);

async function main(server: RestateServer): Promise<boolean> {
  const report = await runOrders(server, {
    runs,
    killEveryMs: 2_500,
    leaseMs: 5_000,
    say: console.log,
    async disturbServer() {
      await server.restart(true);
      console.log('the server was killed and started again');
    },
  });
  const { completed, tookMs, kills, onceCount, doubts, isValid } = report;
  console.log(`${completed} of ${runs} completed in ${(tookMs / 1_000).toFixed(1)} s, ${kills} endpoints killed`);
  console.log(
    `${onceCount} of ${2 * runs} effects happened once, ${doubts} were asked about; histories are ${isValid ? 'sound' : 'DAMAGED'}`,
  );
  return isValid && onceCount === 2 * runs;
}

const server = await startRestate();
if (typeof server === 'string') {
  console.error(`${server}. npm install brings it for Linux and macOS.`);
  process.exitCode = 1;
} else
  try {
    process.exitCode = (await main(server)) ? 0 : 1;
  } finally {
    await server.stop();
  }
