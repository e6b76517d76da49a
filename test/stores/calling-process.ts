/**
 * One of several processes that call a store at once: `node calling-process.ts URL WORKER SEED FIRST HISTORIES STEP_MS`. For each history it
 * makes some random calls on the run of that number, beginning at a time that all know, and prints what it called and what was answered.
 */
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { callsEach, makeCall, RandomCaller, type Made } from '../../src/testing/store-suite/random/linearizability.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';

const [url = '', worker = '', ...numbers] = process.argv.slice(2);
const [seed = 0, firstAt = 0, histories = 0, stepMs = 0] = numbers.map(Number);
const store = openPostgresStore({ url });
await store.readIdentity();
const random = createSeededRandom(seed);
/** The machine's clock, which all processes share, in microseconds. */
const moment = (): number => Number(process.hrtime.bigint() / 1_000n);

for (let index = 0; index < histories; index += 1) {
  const caller = new RandomCaller(random.fork(), store, `run ${index}`, worker);
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, firstAt + index * stepMs - Date.now())));
  for (let turn = 0; turn < callsEach; turn += 1) {
    const call = await caller.next();
    const calledAt = moment();
    const reply = await makeCall(store, `run ${index}`, call);
    const made: Made = { call, reply, calledAt, repliedAt: moment() };
    caller.hear(call, reply);
    process.stdout.write(`${JSON.stringify({ index, made })}\n`);
  }
}
await store.close();
