/** Opens a store with an engine, for commands that advance runs. */
import { defaultSettings, type CleanUpContext } from '../operations/store/clean-up.ts';
import type { EngineOptions, Isolation, RunMeta } from '../engine/api.ts';
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Graph } from '../graph/graph.ts';
import { findGraphOf } from '../engine/commands/find-graph.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';
import type { ScheduleContext } from '../operations/runs/schedules.ts';
import type { WatchedEvent, WorkContext } from '../operations/contract/operation.ts';
import type { Log } from '../ports/log.ts';
import type { Store } from '../ports/store.ts';
import { CairnError } from '../errors.ts';
import { environmentSecrets, openHost, openModels } from './config/config.ts';
import { createGraphLoader, type GraphLoader, type StoreTrust, type TextDialect } from './workflows/graph-loader.ts';
import { defaultTenant } from './config/default-tenant.ts';
import { openToRead, type StoreChoice } from './open-store/open-reading.ts';
import { blobsOf, chooseBlobs, openBlobs } from './open-store/open-blobs.ts';
import { kindOf, type StorePlace } from './open-store/store-kinds.ts';
import { choosePlace, isOwnPlace } from './open-store/store-url.ts';
import { openExplainer } from './open-store/open-history.ts';
import { isolateIn, type Surroundings } from './isolation/isolation.ts';
import type { ProcessMetrics } from './metrics/metrics.ts';
import { isWorkerDead, createSystemIds } from './process/process-ids.ts';
import { readConfig, type FoundConfig } from './config/read-config.ts';
import { systemClock } from './process/system-clock.ts';
import { readForeignTexts, type ForeignTexts } from './workflows/foreign-texts.ts';
import type { WorkflowCatalog } from './workflows/workflow-catalog.ts';
import type { FileDialects } from './workflows/file-dialects.ts';
import { bulkGraph, bulkGraphId } from '../operations/runs/bulk-run.ts';
import { readVersion } from './version.ts';
import { lazySendWebhook } from './webhooks/lazy-send-webhook.ts';
import { cleanUpEvery, CleanUpsAfterRuns } from './keep-clean.ts';
import { settingsReader } from './retention-settings.ts';
import { createTenantEngines } from './tenant-engines.ts';
import { configureLimit } from '../graph/limit.ts';

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
  /** Receives what happens to runs. Default: nothing is logged. */
  readonly log?: Log;
  /** Counts what happens to runs. Default: nothing is counted. */
  readonly metrics?: ProcessMetrics;
  /** Receives each event of runs that operations follow. */
  readonly watch?: (event: WatchedEvent) => void;
  /** The door that this is opened for. On a store of this machine whoever is at it acts as the store's owner. Default: the library. */
  readonly door?: string;
}

/** Everything that operations need. */
export interface App extends CleanUpContext, ScheduleContext {
  readonly place: StorePlace;
  readonly config: FoundConfig;
  /** Modules whose graphs were made known besides the configuration's: a process that takes a suspect over knows them too. */
  readonly modules: Set<string>;
  /**
   * Says what the configuration grants to texts, and by which file; absent if it grants nothing or is not read. For whoever starts a
   * server.
   */
  readonly grantsNote?: string;
  /** The counters that were given. */
  readonly metrics?: ProcessMetrics;
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
  const isThere = !('path' in place) || existsSync(place.path);
  return readOnly || !(makesStore || isThere) ? openToRead(place) : kindOf(place).open(place);
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
  need: 'a schedule or a change of many runs that was imported',
  grant: '--trust at its import, which lets it start what it names',
};

const restoredSchedule = {
  need: 'a schedule or a change of many runs from a backup',
  grant: '--trust at its restore, which lets it start what it names',
};

const foreignSchedule = {
  need: 'a schedule or a change of many runs of a store that is not of this folder',
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
    isMovable: 'path' in place && place.isDefault === true,
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
  trust: StoreTrust,
): Omit<EngineOptions, 'store' | 'blobs' | 'findGraph'> {
  for (const [provider, limit] of Object.entries(config.limits ?? {})) configureLimit(provider, limit);
  return {
    // Stay for the next attempt of a retry too, which is due after a minute at most unless its file says otherwise.
    bounds: { holdTimersMs: options.holdTimersMs ?? 90_000, holdQuestionsMs: options.holdQuestionsMs ?? 10_000 },
    clock: systemClock,
    ids: createSystemIds(),
    secrets: environmentSecrets,
    ...(config.redact !== undefined && { redact: config.redact }),
    models: openModels(config.models, config.prices, config.limits),
    ...(config.telemetry !== undefined && { telemetry: config.telemetry }),
    ...(options.log !== undefined && { log: options.log }),
    ...(options.metrics !== undefined && { metrics: options.metrics }),
    version: readVersion(),
    ...(options.wakes === true && { wakes: 'due' as const }),
    host: openHost(config.host, environmentSecrets),
    // What a store that is not of this folder says is told to nobody.
    webhooks: trust === 'foreign' ? undefined : { hooks: config.webhooks ?? [], send: lazySendWebhook },
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

/** Reads experiments from files. */
function experimentsFrom(cwd: string, { loadGraph }: GraphLoader): NonNullable<CleanUpContext['loadExperiment']> {
  return async (file) => {
    const { loadExperiment } = await import('./workflows/load-experiment.ts');
    return loadExperiment(cwd, loadGraph, file);
  };
}

/** Schedules that are opened when one is added or removed. */
function openedLate(open: () => Promise<App['schedules']>): App['schedules'] {
  return {
    add: async (schedule) => (await open()).add(schedule),
    setPaused: async (...args) => (await open()).setPaused(...args),
    trigger: async (...args) => (await open()).trigger(...args),
    backfill: async (...args) => (await open()).backfill(...args),
    remove: async (name) => (await open()).remove(name),
    nextTime: async (times, after) => (await open()).nextTime(times, after),
  };
}

/**
 * Opens an app. @throws CONFIG_INVALID the configuration or the URL; CODE_NOT_RUN as the configuration; STORE_* the store cannot be opened
 */
export async function openApp(options: AppOptions): Promise<App> {
  const { cwd, watch, door, report = () => undefined } = options;
  const config = options.readsConfig === false ? { file: undefined } : await readConfig(options);
  const place = choosePlace(options.storeUrl, config.store, cwd);
  const isModuleNamed = (source: string): boolean => config.modules?.includes(resolve(cwd, source)) === true;
  const trust = trustIn(place, options, config);
  const { openDialect, openWorkflows, loader, foreign } = openTexts(options, config, { place, trust, isModuleNamed });
  const blobsNamed = openBlobs(chooseBlobs(options, config.blobs), cwd);
  const store = await openPlace(place, options);
  const blobs = blobsOf(store, blobsNamed);
  const modules = new Set<string>();
  const graphNamed = openNamedGraphs(cwd, loader.allowModule, config.modules);
  const engineOptions: EngineOptions = {
    ...engineSettings(options, config, trust),
    store,
    blobs,
    isolation: isolationOver(store, options, modules),
    findGraph: async (graphId, _graphHash, meta, readText) => {
      if (graphId !== 'schedule' && graphId !== bulkGraphId)
        return (await loader.findGraph(meta, readText)) ?? graphNamed(graphId, meta);
      refuseForeignSchedule(meta, trust);
      return graphId === bulkGraphId ? bulkGraph(cleaning) : (await openSchedules()).graph;
    },
  };
  const engines = createTenantEngines(engineOptions, config);
  const openSchedules = once(async () => {
    const { fileScheduleGraph, schedulesOfFiles } = await import('./schedules/file-schedules.ts');
    const files = { engine: engines.of(defaultTenant), ...loader };
    return { graph: fileScheduleGraph(files), schedules: schedulesOfFiles(files) };
  });
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
    loadExperiment: experimentsFrom(cwd, loader),
    findGraph: (run) => findGraphOf(engineOptions, run),
    settingsOf: settingsReader(config, loader, engineOptions),
    ...(watch !== undefined && { watch }),
    ...(door !== undefined && { acting: { door, ...(!('url' in place) && { as: 'owner' as const }) } }),
  };
  const everyMs = options.cleanUpEvery === 'configured' ? configuredMs(config) : options.cleanUpEvery;
  const afterRuns = new CleanUpsAfterRuns(report, options.log);
  const cleanUps = everyMs === undefined ? undefined : cleanUpEvery(cleaning, everyMs, report, options.log);
  return {
    ...cleaning,
    place,
    config,
    modules,
    ...optionalParts(options, config),
    ofTenant: (tenant) => ({ ...cleaning, tenant, engine: engines.of(tenant) }),
    rested: ({ runId }) => afterRuns.add(cleanUps?.context ?? cleaning, runId),
    readSchema: () => openDialect().then(({ workflowSchema, nodeTypes }) => workflowSchema(nodeTypes)),
    schedules: openedLate(async () => (await openSchedules()).schedules),
    close: once(async () => {
      await Promise.all([cleanUps?.end(), afterRuns.done()]);
      await engines.close();
      await foreign.close();
      await store.close();
    }),
  };
}

/** A process that advances suspects does as this one does. No other process could open a store of one. */
function isolationOver(store: Store, options: AppOptions, modules: ReadonlySet<string>): Isolation | undefined {
  return store.capabilities.isShared ? isolateIn(() => surroundingsOf(options, modules)) : undefined;
}

function surroundingsOf(options: AppOptions, modules: ReadonlySet<string>): Surroundings {
  const { cwd, storeUrl, blobsUrl, configFile, workflows, allow, trustsStore, readsConfig, runsConfig } = options;
  const { holdTimersMs, holdQuestionsMs } = options;
  const places = { cwd, storeUrl, blobsUrl, configFile, workflows, allow, trustsStore };
  const same = { ...places, readsConfig, runsConfig, holdTimersMs, holdQuestionsMs };
  return { kind: 'app', options: same, cwd, modules: [...modules] };
}

function optionalParts(
  { allow, cwd, metrics }: AppOptions,
  { allow: granted = [], file }: FoundConfig,
): Pick<App, 'grantsNote' | 'metrics'> {
  const counted = metrics === undefined ? {} : { metrics };
  if (allow !== undefined || granted.length === 0 || file === undefined) return counted;
  return { ...counted, grantsNote: `${relative(cwd, file)} grants workflows given as texts: ${granted.join(', ')}` };
}

function configuredMs({ checkpoint }: FoundConfig): number {
  return 1000 * (checkpoint?.cleanup_interval_seconds ?? defaultSettings.cleanup_interval_seconds);
}
