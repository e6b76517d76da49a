/**
 * The store as a process under test sees it: writes are counted, and once the process is dead no call goes through and no reply arrives.
 */
import type { Store } from '../../ports/store.ts';
import { storeMethods, type StoreMethod } from '../faulty-store.ts';
import { never, type Life } from './process-life.ts';
import type { WorkUnderWay } from './work-under-way.ts';

/** Writes that are crash points. */
const writes: ReadonlySet<StoreMethod> = new Set(['admitRun', 'commit', 'postMessage']);

type Call = (...args: readonly unknown[]) => Promise<unknown>;

/** Wraps a store for one process. @param work - told of each call, which may take real time */
export function mortalStore(store: Store, life: Life, work?: WorkUnderWay): Store {
  const wrap =
    (method: StoreMethod): Call =>
    async (...args) => {
      if (life.isDead) return never();
      const fate = writes.has(method) ? life.enter('write') : 'go';
      if (fate === 'dead') return never();
      const call = (): Promise<unknown> => (store[method] as Call)(...args);
      const reply = await (work === undefined ? call() : work.attempt(call));
      if (fate === 'die after') life.kill();
      return life.isDead ? never() : reply;
    };
  return {
    name: store.name,
    capabilities: store.capabilities,
    ...Object.fromEntries(storeMethods.map((method) => [method, wrap(method)])),
    // Every trial has a store of its own. All return the same identity, so that idempotency keys can be compared between trials.
    readIdentity: () => (life.isDead ? never() : Promise.resolve('crash kit')),
    ...(store.watch && {
      watch: (tenant: string, wake: () => void) => store.watch?.(tenant, () => void (life.isDead || wake())),
    }),
    ...(store.findDamage && { findDamage: () => (life.isDead ? never() : store.findDamage?.()) }),
    close: () => (life.isDead ? never() : store.close()),
  } as Store;
}
