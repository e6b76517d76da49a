/** Runs over a real Restate server: the suite of hosts. */
import { afterAll, describe, test } from 'vitest';
import { startRestate, type RestateServer } from '../../examples/hosts/restate-server.ts';
import { restateHost } from '../../src/hosts/index.ts';
import { hostSuite, type HostedRuns, type HostUnderTest } from '../../src/testing/host-suite.ts';

const server = await startRestate();
if (typeof server === 'string') console.warn(`Restate was not tested: ${server}`);

async function create({ graphs, forMs }: HostedRuns): Promise<HostUnderTest> {
  const { ingress, register, restart } = server as RestateServer;
  const host = restateHost({ graphs, forMs, ingress });
  const port = await host.listen(0);
  await register(`http://127.0.0.1:${port}`);
  return {
    wake: (runId, at) => host.wake(runId, at),
    sweep: () => host.sweep(),
    async forget() {
      await restart(false);
      await register(`http://127.0.0.1:${port}`);
    },
    stop: () => host.close(),
  };
}

describe.skipIf(typeof server === 'string')(`Restate${typeof server === 'string' ? `: ${server}` : ''}`, () => {
  afterAll(() => (server as RestateServer).stop());
  hostSuite({ test, create, runs: 20 });
});
