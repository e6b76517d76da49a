/** Makes the engine for `compile()` when none is passed. */
import type { Engine, EngineOptions } from '../engine/api.ts';
import { CairnError } from '../errors.ts';
import type { CheckpointKeeper } from '../ports/checkpoint-store.ts';
import { createEngine } from '../engine/engine.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import type { Store } from '../ports/store.ts';
import { blobsOf, openBlobs, type BlobsSetting } from './open-store/open-blobs.ts';
import { openStore } from './open-store/open-store.ts';
import { backByCheckpoints } from './checkpoint-store/checkpoint-backed-store.ts';
import { environmentSecrets, openModels } from './config/config.ts';
import { catchUncaughtErrors } from './process/uncaught-errors.ts';
import { createLeaseGuard } from './process/lease-guard.ts';
import { systemClock } from './process/system-clock.ts';
import { createSystemIds } from './process/process-ids.ts';
import { readVersion } from './version.ts';
import { webhookFaults, type Webhook } from '../graph/webhooks.ts';
import { lazySendWebhook } from './webhooks/lazy-send-webhook.ts';

/** Settings of the engine. */
export interface DefaultEngineSettings extends Partial<
  Omit<EngineOptions, 'store' | 'blobs' | 'leaseGuard' | 'isolation' | 'webhooks'>
> {
  /** A store, or the URL of one. */
  readonly store?: Store | string;
  /** Where large values are: a blob store, or the URL of one, as for `openStore`. Default: with the store. */
  readonly blobs?: BlobsSetting;
  /**
   * A checkpoint store to use in place of `store`. Runs live in memory, and each checkpoint is saved whole here, where other processes
   * find it.
   */
  readonly checkpointStore?: CheckpointKeeper;
  /** Whether errors that nobody caught fail the attempt in whose code they arose (E6.9), until the engine is closed. Default false. */
  readonly catchUncaught?: boolean;
  /**
   * What the ends and questions of all runs are told to, beside what their graphs say. False: nothing is told, whatever graphs say, as in
   * tests. Default: what graphs say.
   */
  readonly webhooks?: readonly Webhook[] | false;
  /** How long a node may hold the event loop before its leases are renewed no longer (O2.9), in ms. Default 5 minutes; 0: they never are. */
  readonly busyMaxMs?: number;
}

/**
 * Makes an engine with the system's clock, ids and environment, and any model of the AI SDK. Without a store, runs live in memory.
 * Blobs are stored with the store: in it, beside a SQLite database, where the command line finds them too, or in memory.
 * @throws CONFIG_INVALID the store is of another kind and there is no blob store
 */
export function createDefaultEngine({
  checkpointStore,
  catchUncaught = false,
  busyMaxMs,
  ...settings
}: DefaultEngineSettings = {}): Engine {
  const busy = busyMaxMs === undefined ? {} : { busyMaxMs };
  if (catchUncaught) {
    const stop = catchUncaughtErrors();
    return afterClose(createDefaultEngine({ ...settings, ...busy, ...(checkpointStore && { checkpointStore }) }), stop);
  }
  if (checkpointStore !== undefined) return createCheckpointedEngine(settings, checkpointStore);
  const blobs = openBlobs(settings.blobs);
  const store =
    typeof settings.store === 'string' ? openStore(settings.store) : (settings.store ?? createMemoryStore());
  // Real time is guarded, and no other.
  const leaseGuard =
    settings.clock === undefined ? createLeaseGuard({ store, leaseMs: settings.leaseMs, ...busy }) : undefined;
  const { webhooks = [], ...others } = settings;
  const engine = createEngine({
    clock: systemClock,
    ids: createSystemIds(),
    secrets: environmentSecrets,
    models: openModels(),
    version: readVersion(),
    wakes: true,
    ...others,
    webhooks: webhooks === false ? undefined : { hooks: checkWebhooks(webhooks), send: lazySendWebhook },
    store,
    blobs: blobsOf(store, blobs),
    leaseGuard,
  });
  // Whoever closes the engine closes the store too, which was opened for it.
  return afterClose(engine, async () => {
    leaseGuard?.close();
    if (typeof settings.store === 'string') await store.close();
  });
}

/** @throws CONFIG_INVALID with every fault */
function checkWebhooks(webhooks: readonly Webhook[]): readonly Webhook[] {
  const faults = webhookFaults(webhooks);
  if (faults.length > 0) throw new CairnError('CONFIG_INVALID', { path: 'webhooks', reason: faults.join('; ') });
  return webhooks;
}

/** Calls what has to end when the engine is closed. */
function afterClose(engine: Engine, end: () => Promise<void> | void): Engine {
  const close = engine.close.bind(engine);
  engine.close = async () => {
    await close();
    await end();
  };
  return engine;
}

let isWarnedOfLimits = false;

function createCheckpointedEngine({ store, ...settings }: DefaultEngineSettings, keeper: CheckpointKeeper): Engine {
  if (store !== undefined)
    throw new CairnError('CONFIG_INVALID', { path: 'checkpointStore', reason: 'a store was given beside it' });
  if (!isWarnedOfLimits)
    process.emitWarning(
      'a checkpoint store knows no claims and no waits: go on with a run in one process at a time, and take an answer as kept only when the run has gone on',
      { code: 'CAIRN_CHECKPOINT_STORE' },
    );
  isWarnedOfLimits = true;
  const memory = createMemoryStore({ name: 'checkpointStore' });
  const blobs = blobsOf(memory, settings.blobs);
  const backed = backByCheckpoints(memory, blobs, keeper, settings.findGraph);
  const engine = createDefaultEngine({ ...settings, store: backed.store, blobs });
  backed.serve(engine);
  return engine;
}
