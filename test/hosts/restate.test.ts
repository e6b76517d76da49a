/** Runs over a real Restate server: the suite of hosts, and what the server is given. */
import { afterAll, describe, expect, test } from 'vitest';
import { restateHost } from '../../src/hosts/index.ts';
import { hostSuite } from '../../src/testing/host-suite.ts';
import { startRestate } from '../support/restate-server.ts';

const server = await startRestate();

if (typeof server === 'string') test.skip(server, () => {});
else
  describe('Restate', () => {
    afterAll(() => server.stop());
    hostSuite({
      test: (title, run) => test(title, { timeout: 60_000 }, run),
      runs: 20,
      async create({ graphs, forMs }) {
        const host = restateHost({ graphs, forMs, ingress: server.ingress });
        const port = await host.listen(0);
        await server.register(`http://127.0.0.1:${port}`);
        return {
          wake: (runId, at) => host.wake(runId, at),
          sweep: () => host.sweep(),
          async forget() {
            await server.restart(false);
            await server.register(`http://127.0.0.1:${port}`);
          },
          stop: () => host.close(),
        };
      },
    });
  });
