/** One endpoint of the demo: `endpoint.ts OPTIONS`. Tells its parent at which port it listens. */
import { appendFileSync } from 'node:fs';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { restateHost } from '../../src/hosts/index.ts';
import { CairnError } from '../../src/index.ts';
import type { Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import type { EndpointOptions } from './disturbed-runs.ts';
import { orderOf } from './order.ts';

const options = JSON.parse(process.argv[2] ?? '') as EndpointOptions;
const { path, ledger, ingress, leaseMs, forMs, cancelGraceMs, timeoutMs, effectMs } = options;
const engine = createDefaultEngine({
  store: notingRefusals(openSqliteStore({ path })),
  wakes: false,
  leaseMs,
  ...(cancelGraceMs !== undefined && { bounds: { cancelGraceMs } }),
});
const host = restateHost({
  graphs: [orderOf(ledger, engine, timeoutMs, effectMs)],
  ingress,
  ...(forMs !== undefined && { forMs }),
  onError: (runId, error) =>
    appendFileSync(`${ledger}.errors`, `${process.pid} ${runId} ${CairnError.from(error).code}\n`),
});
process.once('disconnect', () => process.exit());
// Whoever started it may be gone before it listens.
process.send?.(await host.listen(0), undefined, undefined, () => {});

/** The store; calls that it refuses are written down, as those of an endpoint that hung until others went on with its runs. */
function notingRefusals(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: readonly unknown[]): unknown => {
        const reply: unknown = Reflect.apply(member, target, args);
        if (reply instanceof Promise)
          reply.catch((error: unknown) => {
            appendFileSync(`${ledger}.refused`, `${process.pid} ${String(name)} ${CairnError.from(error).code}\n`);
          });
        return reply;
      };
    },
  });
}
