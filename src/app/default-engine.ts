/** The engine that `compile()` makes when it is given none. */
import { createMemoryBlobs } from '../blobs/memory-blobs.ts';
import type { Engine, EngineOptions } from '../engine/api.ts';
import { createEngine } from '../engine/engine.ts';
import { defaultLimits } from '../engine/limits.ts';
import { CairnError } from '../errors.ts';
import type { BlobStore } from '../ports/blobs.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { environmentSecrets } from './environment-secrets.ts';
import { systemClock } from './system-clock.ts';
import { createSystemIds } from './system-ids.ts';

/**
 * An engine of the machine's clock, ids and environment. Without a store, runs and blobs are kept in memory. With a store but no
 * blob store every value stays in its checkpoint, however large: nothing is put where it would not survive as long as the store.
 */
export function createDefaultEngine(settings: Partial<EngineOptions> = {}): Engine {
  return createEngine({
    clock: systemClock,
    ids: createSystemIds(),
    secrets: environmentSecrets,
    ...storage(settings),
    ...settings,
    limits: { ...limitsFor(settings), ...settings.limits },
  });
}

function storage({ store }: Partial<EngineOptions>): Pick<EngineOptions, 'store' | 'blobs'> {
  if (store === undefined) return { store: createMemoryStore(), blobs: createMemoryBlobs() };
  return { store, blobs: noBlobs };
}

function limitsFor({ store, blobs, limits }: Partial<EngineOptions>): EngineOptions['limits'] {
  const isInline = store !== undefined && blobs === undefined;
  return isInline ? { inlineBytes: limits?.valueBytes ?? defaultLimits.valueBytes } : {};
}

const missing = (): Promise<never> =>
  Promise.reject(
    new CairnError('CONFIG_INVALID', {
      path: 'blobs',
      reason: 'this graph was compiled with a store, but without a blob store',
    }),
  );

const noBlobs: BlobStore = { name: 'none', put: missing, get: missing, has: async () => false, collect: async () => 0 };
