/** The name of a store's data to the outside, which idempotency keys derive from (S6). */
import { CairnError } from '../../errors.ts';
import type { Store } from '../../ports/store.ts';

/** Gives a store's data another identity, for runs from now on. @param identity - default: a random one. @throws USAGE_INVALID it is empty */
export async function giveIdentity(store: Store, identity: string = crypto.randomUUID()): Promise<string> {
  if (identity === '')
    throw new CairnError('USAGE_INVALID', { reason: 'the identity is empty', hint: 'Give it a name.' });
  await store.setIdentity(identity);
  return identity;
}
