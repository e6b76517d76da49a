/** Opens a store with an engine over it, for commands that move runs. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { createFileBlobs } from '../blobs/file-blobs.ts';
import type { Engine, RunMeta } from '../engine/api.ts';
import { createEngine } from '../engine/engine.ts';
import type { Graph } from '../graph/graph.ts';
import type { WatchedEvent, WorkContext } from '../operations/operation.ts';
import type { BlobStore } from '../ports/blobs.ts';
import type { Store } from '../ports/store.ts';
import { openSqliteStore } from '../stores/sqlite/index.ts';
import { environmentSecrets } from './environment-secrets.ts';
import { loadGraphModule } from './load-graph-module.ts';
import { defaultTenant, type StoreChoice } from './open-reading.ts';
import { parseStoreUrl, type StorePlace } from './store-url.ts';
import { isWorkerDead } from './process-name.ts';
import { systemClock } from './system-clock.ts';
import { createSystemIds } from './system-ids.ts';

export interface AppOptions extends StoreChoice {
  /** Told of each event of runs that operations follow. */
  readonly watch?: (event: WatchedEvent) => void;
}

/** Everything an operation needs, and the end of it. */
export interface App extends WorkContext {
  readonly place: StorePlace;
  /** Closes the engine (intents withdrawn, claims released), then the store. Closing twice is closing once. */
  close(): Promise<void>;
}

async function openPlace(place: StorePlace): Promise<{ readonly store: Store; readonly blobs: BlobStore }> {
  if (place.kind === 'memory') {
    const [{ createMemoryStore }, { createMemoryBlobs }] = await Promise.all([
      import('../stores/memory/index.ts'),
      import('../blobs/memory-blobs.ts'),
    ]);
    return { store: createMemoryStore(), blobs: createMemoryBlobs() };
  }
  if (place.isDefault) mkdirSync(dirname(place.path), { recursive: true, mode: 0o700 });
  return { store: openSqliteStore({ path: place.path }), blobs: createFileBlobs(place.blobs) };
}

/** Finds the graph of a run where its module was when the run was started. */
function findGraphFrom(
  root: string,
): (graphId: string, graphHash: string, meta: RunMeta) => Promise<Graph | undefined> {
  return async (_graphId, _graphHash, { source, exportName }) =>
    source === undefined ? undefined : (await loadGraphModule(root, source, exportName)).graph;
}

/** @throws CONFIG_INVALID the URL; STORE_* the store cannot be opened */
export async function openApp(options: AppOptions): Promise<App> {
  const { cwd, storeUrl, watch } = options;
  const place = parseStoreUrl(storeUrl, cwd);
  const { store, blobs } = await openPlace(place);
  const ids = createSystemIds();
  const engine: Engine = createEngine({
    store,
    blobs,
    clock: systemClock,
    ids,
    secrets: environmentSecrets,
    findGraph: findGraphFrom(cwd),
  });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await engine.close();
    await store.close();
  };
  return {
    tenant: defaultTenant,
    store,
    blobs,
    engine,
    ids,
    isWorkerDead,
    place,
    now: Date.now,
    ...(watch !== undefined && { watch }),
    async loadGraph(file, exportName) {
      const loaded = await loadGraphModule(cwd, file, exportName);
      // Paths in the store of the working folder move with it; another store is opened from anywhere.
      const isMovable = place.kind === 'sqlite' && place.isDefault;
      return isMovable ? loaded : { ...loaded, source: loaded.path };
    },
    close: () => (closing ??= close()),
  };
}
