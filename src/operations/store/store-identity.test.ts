import { expect, test } from 'vitest';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { storeIdentity } from './store-identity.ts';

test('S6 the identity is shown, set by name, or made anew at random; both at once, or an empty one, are refused', async () => {
  const store = createMemoryStore({ identity: 'shop-prod' });
  const context = { store, tenant: 'default', isWorkerDead: () => undefined, now: () => 0 };
  expect(await storeIdentity.run(context, {})).toEqual({ identity: 'shop-prod' });
  const set = { identity: 'shop-staging', before: 'shop-prod' };
  expect(await storeIdentity.run(context, { set: 'shop-staging' })).toEqual(set);
  const made = await storeIdentity.run(context, { new: true });
  const again = await storeIdentity.run(context, { new: true });
  expect([made.before, again.before]).toEqual(['shop-staging', made.identity]);
  expect(new Set([made.identity, again.identity, '']).size).toBe(3);
  expect(await store.readIdentity()).toBe(again.identity);
  for (const input of [{ new: true, set: 'x' }, { set: '' }])
    await expect(storeIdentity.run(context, input)).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  expect(await store.readIdentity()).toBe(again.identity);
});
