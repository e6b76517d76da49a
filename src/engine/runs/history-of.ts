/** The histories that an engine keeps runs in. */
import { History } from '../../history/history.ts';
import type { NamingOptions } from '../../history/read/tag-checkpoint.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

export function historyOf({ tenant, store, blobs, ids, clock }: EngineEnvironment, naming?: NamingOptions): History {
  const isWorkerDead = (workerId: string): boolean | undefined => ids.isWorkerDead(workerId);
  return new History({ tenant, store, blobs, ids, isWorkerDead, now: () => clock.now() }, naming);
}
