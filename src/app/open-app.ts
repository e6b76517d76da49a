/** Opens a store with an engine, for commands that advance runs. */
import type { CheckpointSettings } from '../dialects/text-workflow.ts';
import { cleanUp, defaultSettings, type CleanUpContext } from '../operations/store/clean-up.ts';
import type { Engine, EngineOptions, RunMeta } from '../engine/api.ts';
import { createEngine } from '../engine/engine.ts';
import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type { Graph } from '../graph/graph.ts';
import { findGraphOf, readGraphText } from '../engine/commands/find-graph.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';
import type { ScheduleContext } from '../operations/runs/schedules.ts';
import { isFromText } from '../operations/runs/run-outputs.ts';
import type { WatchedEvent, WorkContext } from '../operations/contract/operation.ts';
import type { RunRow, Store } from '../ports/store.ts';
import { CairnError } from '../errors.ts';
import { openSqliteStore } from '../stores/sqlite/index.ts';
import { environmentSecrets, openHost, openModels } from './config/config.ts';
import { createGraphLoader, type GraphLoader, type StoreTrust, type TextDialect } from './workflows/graph-loader.ts';
import { defaultTenant } from './config/default-tenant.ts';
import { openIfThere, type StoreChoice } from './open-store/open-reading.ts';
import { blobsOf, chooseBlobs, openBlobs } from './open-store/open-blobs.ts';
import { openServer } from './open-store/open-server.ts';
import { choosePlace, isOwnPlace, type StorePlace, makeFolder } from './open-store/store-url.ts';
import { openExplainer } from './open-store/open-history.ts';
import { createLeaseGuard } from './process/lease-guard.ts';
import { isWorkerDead, createSystemIds } from './process/process-ids.ts';
import { readConfig, type FoundConfig } from './config/read-config.ts';
import { systemClock } from './process/system-clock.ts';
import { readForeignTexts, type ForeignTexts } from './workflows/foreign-texts.ts';
import type { WorkflowCatalog } from './workflows/workflow-catalog.ts';
import type { FileDialects } from './workflows/file-dialects.ts';
import { readVersion } from './version.ts';

// Cleans up old runs: after a run has ended or paused, and periodically in long-lived processes.

/** Receives errors of clean-ups. Such errors do not affect runs. */
export type Report = (error: unknown) => void;

/** Combines settings. Those of the workflow win over those of the configuration. Undefined if neither has any, so nothing is removed. */
export function mergeSettings(
  ofConfig: CheckpointSettings | undefined,
  ofWorkflow: CheckpointSettings | undefined,
): CheckpointSettings | undefined {
  const isConfigured = ofConfig !== undefined || Object.keys(ofWorkflow ?? {}).length > 0;
  return isConfigured ? { ...ofConfig, ...ofWorkflow } : undefined;
}

/** Cleans up after a run that this process advanced, if its settings say so. Never throws. */
export async function cleanUpAfter(context: CleanUpContext, runId: string, report: Report): Promise<void> {
  try {
    const run = await context.store.readRun({ tenant: context.tenant, runId });
    const settings = run === undefined ? undefined : await context.settingsOf(run);
    if (run === undefined || settings === undefined) return;
    if (settings.auto_cleanup ?? defaultSettings.auto_cleanup) await cleanUp.run(context, { workflow: run.graphId });
  } catch (error) {
    report(error);
  }
}

/** Periodic cleaning while a process lives. */
export interface Cleaning {
  /** The context with observed settings: reading a workflow's settings may bring the next clean-up forward. */
  readonly context: CleanUpContext;
  /** Stops the cleaning, after a clean-up in progress has ended. */
  readonly end: () => Promise<void>;
}

/**
 * Cleans up now and then periodically, one clean-up at a time. Its timer does not keep the process alive.
 * @param everyMs - the longest interval; a workflow's settings may ask for a shorter one
 */
export function cleanUpEvery(cleaning: CleanUpContext, everyMs: number, report: Report): Cleaning {
  let working: Promise<void> | undefined;
  let intervalMs = everyMs;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const arm = (): void => {
    clearTimeout(timer);
    if (isOver) return;
    timer = setTimeout(work, Math.min(intervalMs, 2_147_483_647));
    timer.unref();
  };
  const heed = (settings: CheckpointSettings | undefined): void => {
    const wantedMs = 1000 * (settings?.cleanup_interval_seconds ?? Infinity);
    if (wantedMs >= intervalMs) return;
    intervalMs = wantedMs;
    if (working === undefined) arm();
  };
  const context: CleanUpContext = {
    ...cleaning,
    settingsOf: async (run) => {
      const settings = await cleaning.settingsOf(run);
      heed(settings);
      return settings;
    },
  };
  function work(): void {
    // Start from the longest interval again, because the workflow that set a shorter one may be gone.
    intervalMs = everyMs;
    working ??= cleanUp
      .run(context, {})
      .then(() => undefined, report)
      .finally(() => {
        working = undefined;
        arm();
      });
  }
  work();
  return {
    context,
    end: async () => {
      isOver = true;
      clearTimeout(timer);
      await working;
    },
  };
}

// One engine for each tenant of a process, over the same store. Each is created on first use, and all are closed together.

export interface TenantEngines {
  /** The tenant's engine, always the same one, so that everybody who resumes a run gets the same run (E2.5). */
  of(tenant: string): Engine;
  close(): Promise<void>;
}

/** @param config - how long nodes may hold the event loop before the leases of all engines are renewed no longer */
export function createTenantEngines(
  options: Omit<EngineOptions, 'tenant' | 'leaseGuard'>,
  { busyMaxMs }: { readonly busyMaxMs?: number | undefined } = {},
): TenantEngines {
  const engines = new Map<string, Engine>();
  const { store, leaseMs } = options;
  const leaseGuard = createLeaseGuard({ store, leaseMs, ...(busyMaxMs !== undefined && { busyMaxMs }) });
  return {
    of(tenant) {
      const engine = engines.get(tenant) ?? createEngine({ ...options, leaseGuard, tenant });
      engines.set(tenant, engine);
      return engine;
    },
    close: async () => {
      await Promise.all(Array.from(engines.values(), (engine) => engine.close()));
      leaseGuard?.close();
    },
  };
}

export interface AppOptions extends StoreChoice {
  /**
   * Folders of workflows. If two have the same name, the one in the later folder is used. Default: the configuration's, else `workflows`.
   */
  readonly workflows?: readonly string[] | undefined;
  /** Permissions of workflows passed as text, `inline` included. Default: the configuration's, else none. */
  readonly allow?: readonly string[] | undefined;
  /**
   * Whether a store in files is believed that a run's text was read from a file of its user, and so not checked against the grants. Default
   * true. If false, of a store other than the folder's own, a text is checked against the grants unless a file here contains the same.
   */
  readonly trustsStore?: boolean;
  /** Whether the folder's configuration is read at all. Default true. */
  readonly readsConfig?: boolean;
  /** Interval of periodic clean-ups in milliseconds, or as configured. Default: never. */
  readonly cleanUpEvery?: number | 'configured';
  /** Whether to create the store if it does not exist. Default true. */
  readonly makesStore?: boolean;
  /** Whether the store is opened for reading alone; then `makesStore` means nothing. Default false. */
  readonly readOnly?: boolean;
  /** A process that advances a run stays with it for timers due within this time. Default 90,000 ms. */
  readonly holdTimersMs?: number;
  /** The same while a question is open. Default 10,000 ms: times that come again and again do not keep a person waiting. */
  readonly holdQuestionsMs?: number;
  /** Whether runs that pause here are resumed when a time comes that they wait for. Default false. */
  readonly wakes?: boolean;
  /** Receives errors of clean-ups. */
  readonly report?: (error: unknown) => void;
  /** Receives each event of runs that operations follow. */
  readonly watch?: (event: WatchedEvent) => void;
}

/** Everything that operations need. */
export interface App extends CleanUpContext, ScheduleContext {
  readonly place: StorePlace;
  readonly config: FoundConfig;
  /**
   * Says what the configuration grants to texts, and by which file; absent if it grants nothing or is not read. For whoever starts a
   * server.
   */
  readonly grantsNote?: string;
  /** JSON Schema of workflow files, with the blocks available here. */
  readonly readSchema: () => Promise<JsonSchema>;
  /**
   * The same for another tenant, with an engine of its own, so that tenants see nothing of each other. Periodic clean-ups run only for the
   * default tenant.
   */
  readonly ofTenant: (tenant: string) => WorkContext;
  /** Closes the engines (intents are withdrawn, claims released), then the store. A second call has no effect. */
  close(): Promise<void>;
}

/**
 * Opens the store. If it does not exist and must not be created, an empty one in memory takes its place, so that a mistyped id in another
 * folder leaves nothing behind.
 */
async function openPlace(
  place: StorePlace,
  { makesStore = true, readOnly = false }: Pick<AppOptions, 'makesStore' | 'readOnly'>,
): Promise<Store> {
  if ('url' in place) return openServer(place);
  if (readOnly && place.kind !== 'memory') {
    const store = await openIfThere(place);
    if (store !== undefined) return store;
  }
  if (place.kind === 'memory' || readOnly || !(makesStore || existsSync(place.path))) {
    const { createMemoryStore } = await import('../stores/memory/index.ts');
    return createMemoryStore();
  }
  if (place.kind === 'file') {
    const { openFileStore } = await import('../stores/file/index.ts');
    return openFileStore({ path: place.path });
  }
  makeFolder(dirname(place.path), `sqlite:${place.path}`);
  return openSqliteStore({ path: place.path });
}

/** The folders of workflows: those named, else the configuration's, else `workflows` if it exists. */
function foldersOf(config: FoundConfig, { cwd, workflows }: AppOptions): readonly string[] {
  const named = workflows?.map((folder) => resolve(cwd, folder)) ?? [];
  if (named.length > 0) return named;
  if (config.workflows !== undefined) return config.workflows;
  const usual = join(cwd, 'workflows');
  return existsSync(usual) ? [usual] : [];
}

const importedSchedule = {
  need: 'a schedule that was imported',
  grant: '--trust at its import, which lets it start what it names',
};

const restoredSchedule = {
  need: 'a schedule from a backup',
  grant: '--trust at its restore, which lets it start what it names',
};

const foreignSchedule = {
  need: 'a schedule of a store that is not of this folder',
  grant: 'the store as `store` in the configuration of this folder, if it is yours',
};

/** A schedule starts runs of a file that it names, with nobody there: of whom, must be known. @throws PERMISSION_DENIED */
function refuseForeignSchedule({ isImported, isRestored }: RunMeta, trust: StoreTrust): void {
  if (isImported === true) throw new CairnError('PERMISSION_DENIED', importedSchedule);
  if (isRestored === true) throw new CairnError('PERMISSION_DENIED', restoredSchedule);
  if (trust === 'foreign') throw new CairnError('PERMISSION_DENIED', foreignSchedule);
}

/** Makes a loader that loads on first use, and only once. */
function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | undefined;
  return () => (loaded ??= load());
}

/** What is believed of the rows of a store. A file that is not there yet is made by this process: nobody else has written to it. */
function trustIn(place: StorePlace, { trustsStore, cwd }: AppOptions, { store }: FoundConfig): StoreTrust {
  if ('url' in place) return 'server';
  if ('path' in place && !existsSync(place.path)) return 'own';
  return trustsStore !== false || isOwnPlace(place, store, cwd) ? 'own' : 'foreign';
}

/** Access to workflows and modules, each read on first use. */
function openTexts(
  options: AppOptions,
  config: FoundConfig,
  {
    place,
    trust,
    isModuleNamed,
  }: {
    readonly place: StorePlace;
    readonly trust: StoreTrust;
    readonly isModuleNamed: (source: string) => boolean;
  },
): {
  readonly openDialect: () => Promise<FileDialects>;
  readonly openWorkflows: () => Promise<WorkflowCatalog>;
  readonly loader: GraphLoader;
  readonly foreign: ForeignTexts;
} {
  const { cwd } = options;
  const allow = options.allow ?? config.allow ?? [];
  const openDialect = once(async () => {
    const { loadFileDialects } = await import('./workflows/file-dialects.ts');
    return loadFileDialects(config, allow);
  });
  const openSaved = async (): Promise<TextDialect> => {
    const [{ readBundle, options: ofTexts }, { texts: workflows }] = await Promise.all([
      openDialect(),
      openWorkflows(),
    ]);
    return { readSaved: (text, saved) => readBundle(text, { ...ofTexts, ...saved, workflows }) };
  };
  const openSavedDot = async (): Promise<TextDialect> => {
    const { dot, options: ofTexts } = await openDialect();
    const { checkpoint: _, ...shared } = ofTexts;
    return {
      readSaved: (text, { checksCarried: __, ...saved } = {}) => dot.readSavedDot(text, { ...shared, ...saved }),
    };
  };
  const folders = foldersOf(config, options);
  const foreign = readForeignTexts({ ...config, folders, cwd, allow });
  const openWorkflows = once(async () => {
    const { openCatalog } = await import('./workflows/workflow-catalog.ts');
    return openCatalog({ dialect: await openDialect(), folders, cwd, foreign });
  });
  const loader = createGraphLoader({
    cwd,
    isModuleNamed,
    // Paths are recorded relative to the working folder if the store belongs to it, so that they can be moved together.
    isMovable: place.kind === 'sqlite' && place.isDefault,
    store: trust,
    openDialect,
    dialects: { yaml: openSaved, dot: openSavedDot },
    openCatalog: openWorkflows,
  });
  return { openDialect, openWorkflows, loader, foreign };
}

/** The settings of an engine that come from the options and the configuration alone. */
function engineSettings(
  options: AppOptions,
  config: FoundConfig,
): Omit<EngineOptions, 'store' | 'blobs' | 'findGraph'> {
  return {
    // Stay for the next attempt of a retry too, which is due after a minute at most unless its file says otherwise.
    limits: { holdTimersMs: options.holdTimersMs ?? 90_000, holdQuestionsMs: options.holdQuestionsMs ?? 10_000 },
    clock: systemClock,
    ids: createSystemIds(),
    secrets: environmentSecrets,
    ...(config.redact !== undefined && { redact: config.redact }),
    models: openModels(config.models, config.prices, config.limits),
    ...(config.telemetry !== undefined && { telemetry: config.telemetry }),
    version: readVersion(),
    ...(options.wakes === true && { wakes: 'due' as const }),
    host: openHost(config.host, environmentSecrets),
  };
}

/** Graphs of the modules that the configuration names, by their ids: a run that a server started by name tells no file. */
function openNamedGraphs(
  cwd: string,
  allowModule: GraphLoader['allowModule'],
  modules: readonly string[] = [],
): (graphId: string, meta: RunMeta) => Promise<Graph | undefined> {
  const open = once(async () => {
    const { loadGraphsOf } = await import('./workflows/load-graph-module.ts');
    const found = modules.map(async (file) =>
      (await loadGraphsOf(cwd, file)).map((graph) => [graph.id, { graph, file }] as const),
    );
    return new Map((await Promise.all(found)).flat());
  });
  return async (graphId, meta) => {
    const found = meta.source !== undefined || modules.length === 0 ? undefined : (await open()).get(graphId);
    if (found !== undefined) await allowModule(meta, found.file);
    return found?.graph;
  };
}

/** Schedules that are opened when one is added or removed. */
function openedLate(open: () => Promise<App['schedules']>): App['schedules'] {
  return {
    add: async (schedule) => (await open()).add(schedule),
    remove: async (name) => (await open()).remove(name),
    nextTime: async (times, after) => (await open()).nextTime(times, after),
  };
}

/**
 * Opens an app. @throws CONFIG_INVALID the configuration or the URL; CODE_NOT_RUN as the configuration; STORE_* the store cannot be opened
 */
export async function openApp(options: AppOptions): Promise<App> {
  const { cwd, watch, report = () => undefined } = options;
  const config = options.readsConfig === false ? { file: undefined } : await readConfig(options);
  const place = choosePlace(options.storeUrl, config.store, cwd);
  const isModuleNamed = (source: string): boolean => config.modules?.includes(resolve(cwd, source)) === true;
  const trust = trustIn(place, options, config);
  const { openDialect, openWorkflows, loader, foreign } = openTexts(options, config, { place, trust, isModuleNamed });
  const blobsNamed = openBlobs(chooseBlobs(options, config.blobs), cwd);
  const store = await openPlace(place, options);
  const blobs = blobsOf(store, blobsNamed);
  const graphNamed = openNamedGraphs(cwd, loader.allowModule, config.modules);
  const engineOptions: EngineOptions = {
    ...engineSettings(options, config),
    store,
    blobs,
    findGraph: async (graphId, _graphHash, meta, readText) => {
      if (graphId !== 'schedule') return (await loader.findGraph(meta, readText)) ?? graphNamed(graphId, meta);
      refuseForeignSchedule(meta, trust);
      return (await openSchedules()).graph;
    },
  };
  const engines = createTenantEngines(engineOptions, config);
  const openSchedules = once(async () => {
    const { fileScheduleGraph, schedulesOfFiles } = await import('./schedules/file-schedules.ts');
    const files = { engine: engines.of(defaultTenant), ...loader };
    return { graph: fileScheduleGraph(files), schedules: schedulesOfFiles(files) };
  });
  const settingsOf = async (run: RunRow): Promise<CheckpointSettings | undefined> => {
    const ofWorkflow = isFromText(run) ? await loader.readSettings(await readGraphText(engineOptions, run)) : undefined;
    return mergeSettings(config.checkpoint, ofWorkflow);
  };
  const cleaning: CleanUpContext = {
    tenant: defaultTenant,
    store,
    blobs,
    engine: engines.of(defaultTenant),
    ids: engineOptions.ids,
    isWorkerDead,
    now: Date.now,
    explainChoice: openExplainer,
    ...loader,
    isModuleNamed,
    openWorkflows,
    findGraph: (run) => findGraphOf(engineOptions, run),
    settingsOf,
    ...(watch !== undefined && { watch }),
  };
  const everyMs = options.cleanUpEvery === 'configured' ? configuredMs(config) : options.cleanUpEvery;
  const cleanUps = everyMs === undefined ? undefined : cleanUpEvery(cleaning, everyMs, report);
  return {
    ...cleaning,
    place,
    config,
    ...noteGrants(options, config),
    ofTenant: (tenant) => ({ ...cleaning, tenant, engine: engines.of(tenant) }),
    rested: ({ runId }) => cleanUpAfter(cleanUps?.context ?? cleaning, runId, report),
    readSchema: async () => {
      const { workflowSchema, nodeTypes } = await openDialect();
      return workflowSchema(nodeTypes);
    },
    schedules: openedLate(async () => (await openSchedules()).schedules),
    close: once(async () => {
      await cleanUps?.end();
      await engines.close();
      await foreign.close();
      await store.close();
    }),
  };
}

function noteGrants({ allow, cwd }: AppOptions, { allow: granted = [], file }: FoundConfig): Pick<App, 'grantsNote'> {
  if (allow !== undefined || granted.length === 0 || file === undefined) return {};
  return { grantsNote: `${relative(cwd, file)} grants workflows given as texts: ${granted.join(', ')}` };
}

function configuredMs({ checkpoint }: FoundConfig): number {
  return 1000 * (checkpoint?.cleanup_interval_seconds ?? defaultSettings.cleanup_interval_seconds);
}
