/** The key seed of a run, from which its idempotency keys are derived: a hash of the store's identity, the tenant, the run's id and its birth. It is made when the run is admitted and stored in its row. So runs with the same id in two stores or tenants, or one after the other in one, never send a receiver the same keys (X1). Runs from before seeds existed use their id. A fork has its own seed and reads its ancestors'. */
import { CairnError } from '../../errors.ts';
import type { Ids } from '../../ports/ids.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { hashParts } from '../../state/values/canonical-text.ts';
import { metaOf } from './stored-meta.ts';

const checkLength = 8;

function checkOf(seed: string): string {
  return hashParts(['key seed check', seed]).slice(0, checkLength);
}

/**
 * The birth of a new run: no other run has it, though one had the same id and was removed.
 * @param at - when the run is admitted, in epoch ms
 */
export function birthOf(ids: Pick<Ids, 'random'>, at: number): string {
  return `${at} ${ids.random()}`;
}

/**
 * The seed of a new run. It includes a check value, because a damaged seed would send effects again under other keys.
 * @param birth - tells the run from others that had its id before
 */
export async function makeKeySeed(
  store: Pick<Store, 'readIdentity'>,
  tenant: string,
  runId: string,
  birth: string,
): Promise<string> {
  const seed = hashParts(['key seed', await store.readIdentity(), tenant, runId, birth]);
  return `${seed}.${checkOf(seed)}`;
}

/** The seed of a run. @throws CHECKPOINT_CORRUPT its row is damaged */
export function keySeedOf(run: Pick<RunRow, 'runId' | 'key' | 'meta'>): string {
  const { keySeed } = metaOf(run);
  if (keySeed === undefined) return run.runId;
  const [seed = '', check] = keySeed.split('.');
  if (check === checkOf(seed)) return seed;
  throw new CairnError('CHECKPOINT_CORRUPT', { checkpoint: run.key, reason: 'the seed of its keys is damaged' });
}
