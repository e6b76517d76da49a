/** The identity of a store's data, from which idempotency keys are derived (S6). */
import { CairnError } from '../../errors.ts';
import type { Store } from '../../ports/store.ts';

/**
 * Sets the identity of a store's data, for runs started from now on. @param identity - default: a random one. @throws USAGE_INVALID it is
 * empty
 */
export async function giveIdentity(store: Store, identity: string = crypto.randomUUID()): Promise<string> {
  if (identity === '')
    throw new CairnError('USAGE_INVALID', { reason: 'the identity is empty', hint: 'Give it a name.' });
  await store.setIdentity(identity);
  return identity;
}
