/** The engine that `compile()` makes when it is given none. */
import type { Engine, EngineOptions } from '../engine/api.ts';
import { CairnError } from '../errors.ts';
import type { CheckpointKeeper } from '../ports/checkpoint-store.ts';
import { createEngine } from '../engine/engine.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { blobsBeside } from './place/blobs-beside.ts';
import { backByCheckpoints } from './checkpoint-store/checkpoint-backed-store.ts';
import { environmentSecrets } from './config/environment-secrets.ts';
import { openModels } from './config/open-models.ts';
import { systemClock } from './process/system-clock.ts';
import { createSystemIds } from './process/system-ids.ts';
import { readVersion } from './version.ts';

/** What may be said of the engine. */
export interface DefaultEngineSettings extends Partial<EngineOptions> {
  /** Runs are kept in memory, and each checkpoint whole here, where another process finds it. In place of `store`. */
  readonly checkpointStore?: CheckpointKeeper;
}

/**
 * An engine of the machine's clock, ids and environment, and of any model of the AI SDK. Without a store, runs are kept in memory. Blobs are kept as long as the
 * store keeps runs: beside a SQLite database, where the command line looks for them too, or in memory.
 * @throws CONFIG_INVALID a store of another kind without a blob store
 */
export function createDefaultEngine({ checkpointStore, ...settings }: DefaultEngineSettings = {}): Engine {
  if (checkpointStore !== undefined) return createCheckpointedEngine(settings, checkpointStore);
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

let isToldOfLimits = false;

function createCheckpointedEngine(settings: Partial<EngineOptions>, keeper: CheckpointKeeper): Engine {
  if (settings.store !== undefined)
    throw new CairnError('CONFIG_INVALID', { path: 'checkpointStore', reason: 'a store was given beside it' });
  if (!isToldOfLimits)
    process.emitWarning(
      'a checkpoint store knows no claims and no waits: go on with a run in one process at a time, and take an answer as kept only when the run has gone on',
      { code: 'CAIRN_CHECKPOINT_STORE' },
    );
  isToldOfLimits = true;
  const memory = createMemoryStore({ name: 'checkpointStore' });
  const blobs = settings.blobs ?? blobsBeside(memory);
  const backed = backByCheckpoints(memory, blobs, keeper, settings.findGraph);
  const engine = createDefaultEngine({ ...settings, store: backed.store, blobs });
  backed.serve(engine);
  return engine;
}
