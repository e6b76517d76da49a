/**
 * What the idempotency keys of a run derive from: a hash of the store's identity, the tenant and the run's id, made when the run is admitted
 * and kept in its row. So two stores, or two tenants, that use one run id never send a receiver the same keys (X1). A run from before
 * there were seeds has its id for one; a fork has a seed of its own, and finds its ancestors' in their rows.
 */
import { CairnError } from '../../errors.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { hashParts } from '../../state/values/hash.ts';
import { metaOf } from './stored-meta.ts';

const checkLength = 8;

function checkOf(seed: string): string {
  return hashParts(['key seed check', seed]).slice(0, checkLength);
}

/** The seed of a new run; it carries a check, since a damaged one would send effects again under other keys. */
export async function makeKeySeed(store: Store, tenant: string, runId: string): Promise<string> {
  const seed = hashParts(['key seed', await store.readIdentity(), tenant, runId]);
  return `${seed}.${checkOf(seed)}`;
}

/** What the keys of a run derive from. @throws CHECKPOINT_CORRUPT its row is damaged */
export function keySeedOf(run: Pick<RunRow, 'runId' | 'key' | 'meta'>): string {
  const { keySeed } = metaOf(run);
  if (keySeed === undefined) return run.runId;
  const [seed = '', check] = keySeed.split('.');
  if (check === checkOf(seed)) return seed;
  throw new CairnError('CHECKPOINT_CORRUPT', { checkpoint: run.key, reason: 'the seed of its keys is damaged' });
}
