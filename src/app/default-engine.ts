/** The engine that `compile()` makes when it is given none. */
import type { Engine, EngineOptions } from '../engine/api.ts';
import { createEngine } from '../engine/engine.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { blobsBeside } from './blobs-beside.ts';
import { environmentSecrets } from './environment-secrets.ts';
import { openModels } from './open-models.ts';
import { systemClock } from './system-clock.ts';
import { createSystemIds } from './system-ids.ts';
import { readVersion } from './version.ts';

/**
 * An engine of the machine's clock, ids and environment, and of any model of the AI SDK. Without a store, runs are kept in memory. Blobs are kept as long as the
 * store keeps runs: beside a SQLite database, where the command line looks for them too, or in memory.
 * @throws CONFIG_INVALID a store of another kind without a blob store
 */
export function createDefaultEngine(settings: Partial<EngineOptions> = {}): Engine {
  const store = settings.store ?? createMemoryStore();
  return createEngine({
    clock: systemClock,
    ids: createSystemIds(),
    secrets: environmentSecrets,
    models: openModels(),
    version: readVersion(),
    wakes: true,
    ...settings,
    store,
    blobs: settings.blobs ?? blobsBeside(store),
  });
}
