/**
 * A process that writes to a SQLite store and says on its standard output what was acknowledged, a line each, until it is killed.
 *
 * Arguments: path, run id, worker id, lease in ms, how many commits (0: no end), whether it rests between commits.
 */
import { writeSync } from 'node:fs';
import { CairnError } from '../../src/errors.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { admission, bytesOf, checksumOf, tenant } from '../../src/testing/store-suite/examples.ts';

const [path = '', runId = '', workerId = '', lease = '0', count = '0', pace = 'busy'] = process.argv.slice(2);
const say = (line: string): void => void writeSync(1, `${line}\n`);

const store = openSqliteStore({ path });
await store.admitRun(admission(runId));
const reply = await store.claimRun({ tenant, runId, workerId, leaseMs: Number(lease), takeFrom: 'dead' });
if (reply.claim === undefined) {
  say(`held by ${reply.owner}`);
  process.exit(3);
}
const { claim, run } = reply;
say(`claimed at ${run.head}`);

/** Three at a time, so that some are under way whenever the process is killed. */
async function commitSome(from: number): Promise<void> {
  const seqs = [from, from + 1, from + 2];
  await Promise.all(
    seqs.map(async (seq) => {
      const text = `${seq} by ${workerId}`;
      const checkpoint = { seq, at: seq, body: bytesOf(text), checksum: checksumOf(text) };
      await store.commit({ claim, checkpoint, durability: seq % 2 === 0 ? 'power' : 'process' });
      say(`acknowledged ${seq}`);
    }),
  );
}

try {
  const end = Number(count) === 0 ? Infinity : run.head + Number(count);
  for (let seq = run.head + 1; seq <= end; seq += 3) {
    await commitSome(seq);
    if (pace === 'rests') await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await store.close();
  say('done');
} catch (error) {
  say(CairnError.is(error) ? `refused ${error.code}` : String(error));
  process.exit(4);
}
