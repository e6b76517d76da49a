/** One endpoint of the demo: `endpoint.ts DATABASE LEDGER INGRESS`. Tells its parent at which port it listens. */
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { restateHost } from '../../src/hosts/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { orderOf } from './order.ts';

const [path = '', ledger = '', ingress = ''] = process.argv.slice(2);
const engine = createDefaultEngine({ store: openSqliteStore({ path }), wakes: false, leaseMs: 5_000 });
const host = restateHost({ graphs: [orderOf(ledger, engine)], ingress });
process.send?.(await host.listen(0));
process.once('disconnect', () => process.exit());
