/** A store that some of its users cannot reach for a while, and come back to. */
import { CairnError } from '../../src/errors.ts';
import type { Store } from '../../src/ports/store.ts';

/** One user's way to a store. */
export interface CutStore {
  readonly store: Store;
  /** From now on each call is STORE_UNAVAILABLE. */
  readonly cut: () => void;
  readonly heal: () => void;
}

/** The store as a server that several processes share, over a connection that can be cut. */
export function cutStore(inner: Store): CutStore {
  let isCut = false;
  const others = Object.entries(inner).filter(([name]) => name !== 'watch' && name !== 'hearsOthers');
  const methods = others.map(([name, member]) => {
    if (typeof member !== 'function' || name === 'close') return [name, member];
    const call = (...given: never[]): unknown =>
      isCut
        ? Promise.reject(new CairnError('STORE_UNAVAILABLE', { store: inner.name, reason: 'the line is cut' }))
        : (member as (...args: never[]) => unknown).apply(inner, given);
    return [name, call];
  });
  const store = { ...Object.fromEntries(methods), capabilities: { ...inner.capabilities, isShared: true } } as Store;
  return { store, cut: () => (isCut = true), heal: () => (isCut = false) };
}
