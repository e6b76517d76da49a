/** Tests of the identity of a store's data. */

import assert from 'node:assert/strict';
import type { SuitePart } from './suite.ts';

export const identityTests: SuitePart = {
  tests: {
    'S6 the identity is the same for every opening, until it is given another': async ({ store, reopen }) => {
      const first = await store.readIdentity();
      const other = (await reopen()) ?? store;
      assert.equal(await other.readIdentity(), first);
      for (const identity of ['shop-staging', 'nul\0 and \u{1f600}']) {
        await other.setIdentity(identity);
        assert.equal(await store.readIdentity(), identity);
        assert.equal(await other.readIdentity(), identity);
      }
    },
  },
};
