/** The operation `identity`: shows or sets the identity of a store's data, from which idempotency keys are derived (S6). */
import { objectOf, text } from '../contract/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { giveIdentity } from '../../history/access/identity.ts';
import type { Operation } from '../contract/operation.ts';

export interface StoreIdentityInput {
  readonly new?: boolean;
  readonly set?: string;
}

export interface StoreIdentityOutput {
  /** Empty if the store has none. */
  readonly identity: string;
  /** The identity before the change; absent if it was not changed. */
  readonly before?: string;
}

export const storeIdentity: Operation<StoreIdentityInput, StoreIdentityOutput> = {
  name: 'read_identity',
  command: 'identity',
  summary: 'show the identity of the store, or give it another',
  input: {
    new: { type: 'flag', description: 'give it a random one, for runs from now on' },
    set: { type: 'text', description: 'give it this one' },
  },
  output: 'the identity',
  outputSchema: objectOf({ identity: text }, { before: text }),
  isReadOnly: false,
  scope: 'admin',
  async run({ store }, { new: isNew = false, set }) {
    if (isNew && set !== undefined)
      throw new CairnError('USAGE_INVALID', { reason: '--new and --set were both given', hint: 'Give one of them.' });
    const before = await store.readIdentity();
    if (!isNew && set === undefined) return { identity: before };
    return { identity: await giveIdentity(store, set), before };
  },
};
