/** `npm run simulate -- --seeds 100000 [--from N] [--fail-last]`: simulations of several workers over one failing store; prints the seeds that fail. */
import { inspect, parseArgs } from 'node:util';
import { createMemoryBlobs } from '../src/blobs/memory-blobs.ts';
import { createMemoryStore } from '../src/stores/memory/index.ts';
import { simulate } from '../test/simulation/simulate.ts';

const { values } = parseArgs({
  options: {
    'fail-last': { type: 'boolean', default: false },
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
  },
});
const [count, from] = [Number(values.seeds), Number(values.from)];
if (!Number.isSafeInteger(count) || !Number.isSafeInteger(from) || count < 1 || from < 0) {
  process.stderr.write('npm run simulate -- --seeds COUNT [--from SEED]\n');
  process.exit(2);
}

let failed = 0;
for (let seed = from; seed < from + count; seed += 1) {
  const report = await simulate(seed, {
    graph: { failsLast: values['fail-last'] },
    open: (now) => ({ store: createMemoryStore({ now }), blobs: createMemoryBlobs(now) }),
  }).catch((error: unknown) => ({ faults: [`the simulation itself failed: ${inspect(error)}`] }));
  if (report.faults.length > 0) {
    failed += 1;
    process.stdout.write(`failed: npm run simulate -- --seeds 1 --from ${seed}\n  ${report.faults.join('\n  ')}\n`);
  }
  const done = seed - from + 1;
  if (done % 1_000 === 0) process.stderr.write(`${done} of ${count}, ${failed} failed\n`);
  if (count === 1) process.stdout.write(`${JSON.stringify(report)}\n`);
}
process.stdout.write(`${count - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
