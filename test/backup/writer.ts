/** A process that runs refunds until it is killed: node writer.ts STORE NAME. */
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { refunds } from './refunds.ts';

const [, , path = '', name = ''] = process.argv;
const app = refunds(openSqliteStore({ path }));
for (let no = 0; ; no += 1) {
  const runId = `${name}-${no}`;
  await app.invoke({ name: runId }, { runId });
  if (no % 2 === 0) await app.resume(runId, { answers: { approve: 'yes' } });
  console.log(runId);
}
