/**
 * `npm run demo -- limits`: reports of sixty users on three workers over one Postgres, two at once for each user, eight calls at once at a
 * provider and a hundred a second; one worker is killed, one frozen, and an oracle outside counts. Without a server it starts one of its own;
 * CAIRN_TEST_POSTGRES names another. `--runs N`, `--kills N` and `--freezes N` change the numbers.
 */
import { parseArgs } from 'node:util';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { pauseByHand, runLimitsFleet } from './fleet.ts';
import { burst, callsPerSecond, placesAtProvider, placesPerUser } from './graph.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '600' },
    kills: { type: 'string', default: '1' },
    freezes: { type: 'string', default: '1' },
  },
});
const [runs, kills, freezes] = [Number(values.runs), Number(values.kills), Number(values.freezes)];

const ownServer = process.env['CAIRN_TEST_POSTGRES'];
const server = ownServer === undefined ? await startPostgres() : undefined;
if (typeof server === 'string') {
  console.error(`${server}. Name one of your own, for tests alone: CAIRN_TEST_POSTGRES=postgres://USER@HOST/DATABASE`);
  process.exit(1);
}
const url = ownServer ?? server?.url ?? '';
const tell = (line: string): void => console.log(line);

try {
  const report = await runLimitsFleet({ url, runs, users: 60, workers: 3, kills, freezes, tell });
  tell(
    `\n${report.completed} of ${runs} reports completed in ${(report.durationMs / 1000).toFixed(1)} s, through ${report.kills} kills and ${report.freezes} freezes`,
  );
  console.table({
    'calls at once at the provider': { allowed: placesAtProvider, most: report.mostAtProvider },
    'calls at once for a user': { allowed: placesPerUser, most: report.mostOfUser },
    'calls within a second': { allowed: callsPerSecond + burst, most: report.mostInSecond },
    'times over, of calls whose claim ran out': { allowed: '', most: report.overExplained },
    'times over, unexplained': { allowed: 0, most: report.overUnexplained },
  });
  for (const line of report.unexplained) tell(`over for no known reason: ${line}`);
  tell(`the last of the 60 users was served when ${report.endedBeforeLastUser} of ${runs} had ended`);
  const paused = await pauseByHand(url, tell);
  const isFine =
    report.completed === runs && report.overUnexplained === 0 && paused.begunWhilePaused === 0 && paused.isCompleted;
  process.exitCode = isFine ? 0 : 1;
} finally {
  await server?.stop();
}
