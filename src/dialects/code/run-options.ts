/** The options of the calls of a compiled graph. */
import { CairnError } from '../../errors.ts';
import type {
  Acting,
  CancelOptions,
  Engine,
  EngineOptions,
  ForkOptions,
  Patch,
  PreviewOptions,
  ResumeOptions,
  RunMeta,
  SignalWithStartOptions,
} from '../../engine/api.ts';
import type { Store } from '../../ports/store.ts';
import type { CheckpointKeeper } from '../../ports/checkpoint-store.ts';
import { type Amounts, amountsFault } from '../../graph/amounts.ts';
import type { Graph, Migration } from '../../graph/graph.ts';
import type { CheckpointName } from '../../history/read/references.ts';
import { isStartSchedule, type StartSchedule } from '../../ports/schedule.ts';
import type { Tools } from '../../graph/node-draft.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import { nearest } from '../../graph/nearest.ts';
import { retentionFaults, type RetentionSettings } from '../../graph/retention.ts';
import type { Webhook } from '../../graph/webhooks.ts';

// Where `compile()` gets an engine if none is passed. Dialects may not import adapters, so the package's entry point registers a factory
// here.

/** Settings of the engine that `compile` creates. What is missing gets the default of the package's entry point. */
export interface EngineSettings extends Partial<
  Omit<EngineOptions, 'store' | 'blobs' | 'leaseGuard' | 'isolation' | 'version' | 'webhooks'>
> {
  /**
   * Where runs are stored: a store, or the URL of one: `sqlite:PATH`, `file:FOLDER`, `postgres://USER@HOST:PORT/DATABASE`,
   * `redis://HOST:PORT`. One that is opened from its URL is closed with the graph. Default: memory.
   */
  readonly store?: Store | string;
  /** Where large values are: a blob store, or the URL of one, `s3://BUCKET/PREFIX` or `file:FOLDER`. Default: with the store. */
  readonly blobs?: BlobStore | string;
  /**
   * Where each checkpoint is saved whole, in place of a `store`: one of `cairn-workflows/checkpoint`, or one of your own. A checkpoint
   * store knows no claims, so only one process at a time may advance a run.
   */
  readonly checkpointStore?: CheckpointKeeper;
  /**
   * Whether errors that nobody caught fail the attempt in whose code they arose (E6.9), in place of ending the process; default false, since
   * they are the program's to handle. Errors of no node's code stay the program's.
   */
  readonly catchUncaught?: boolean;
  /** How long a node may hold the event loop before its leases are renewed no longer (O2.9), in ms. Default 5 minutes; 0: they never are. */
  readonly busyMaxMs?: number;
  /**
   * What the ends and questions of all runs are told to, beside what their graphs say. False: nothing is told, whatever graphs say, as in
   * tests. Default: what graphs say.
   */
  readonly webhooks?: readonly Webhook[] | false;
}
type EngineFactory = (settings: EngineSettings) => Engine;

let factory: EngineFactory | undefined;

/**
 * Registers the engine factory and returns `value` unchanged. The entry point exports the returned value, so that a bundler that drops
 * unused modules cannot keep the builder and drop its engine.
 */
export function withDefaultEngine<T>(value: T, create: EngineFactory): T {
  factory = create;
  return value;
}

/**
 * Makes an engine with the registered factory.
 * @throws CONFIG_INVALID no entry point has registered one
 */
export function createDefaultEngine(settings: EngineSettings): Engine {
  if (factory === undefined) {
    throw new CairnError('CONFIG_INVALID', {
      path: 'engine',
      reason: 'import AgentGraph and workflow from the main door, or give an engine',
    });
  }
  return factory(settings);
}

/** Parts that a graph is missing until it is compiled. */
export interface GraphParts {
  /** The tools that the graph's `toolNode('name')` nodes refer to, by name. */
  readonly tools?: Tools;
  /**
   * Nodes and steps that the code names otherwise than runs have them on record: `{ quote: 'price' }` for a node, `{ 'sell/charge card':
   * 'charge' }` for a step of it. Keep it while runs wait that have the old name (G15).
   */
  readonly renamed?: Readonly<Record<string, string>>;
  /**
   * How the state of older runs is brought to the form of this code: `[{ to: 2, up: (state) => ({ scratch: … }) }]`, by rising versions.
   * They run once for each run, before it goes on under this code (H3).
   */
  readonly migrations?: readonly Migration[];
  /**
   * A name of this code, such as a commit. Runs go on under it (`createWorker({ versioning })`), it is recorded with each start and resume,
   * and another one is other code, whatever the source says. Default: only the graph's hash tells.
   */
  readonly version?: string;
  /**
   * Which of its runs that ended are kept: `{ completed: '7d', failed: '30d', runs: 1000, perLabel: { user: 50 } }`. When a run of it rests
   * here and its result was given, at most 50 that expired are removed; a worker of the graph removes the rest. Default: all are kept.
   */
  readonly retention?: RetentionSettings;
}

/** Options of `compile`: the graph's parts, and either an existing engine or the settings for a new one. */
export type CompileOptions = GraphParts &
  (
    | (EngineSettings & { readonly engine?: never })
    /** An engine to share among several graphs, so that their runs are stored in one place. `close` does not close it. */
    | ({ readonly engine: Engine } & { readonly [Setting in keyof EngineSettings]?: never })
  );

/**
 * A run or one of its checkpoints. Either `{ runId, seq }` (every durable event and every result has these fields) or a name: a run's id or
 * key, `RUN@12`, `RUN@tag`, `RUN@head~2`, or a checkpoint's id. A prefix of an id is refused, because a program's ids may begin alike. To
 * resolve what a person typed, use `engine.locate(name, { byPrefix: true })`.
 */
export type RunTarget = CheckpointName;

/** Answers by the name of their wait, for graphs whose names are not known to the type checker. */
export type AnyAnswers = Readonly<Record<string, unknown>>;

export interface InvokeOptions extends Pick<Acting, 'by' | 'door' | 'as'> {
  /** Id of the new run. Default: a fresh one. Invoking twice with one id is the same run (E2). */
  readonly runId?: string;
  readonly meta?: RunMeta;
  /** W3C trace context that the run belongs to; recorded. Default: the telemetry's current one. */
  readonly traceparent?: string;
  /** What the run may spend, by unit: `{ usd: 5 }`. It replaces the graph's budget. */
  readonly budget?: Amounts;
  /** Aborting it cancels the run. */
  readonly signal?: AbortSignal;
}

/** Options of `start`. With `detach` the run is only recorded, for another process to advance. */
export interface BeginOptions extends Omit<InvokeOptions, 'signal'> {
  readonly detach?: boolean;
  /** Queue, priority and due time, for workers that pick up a detached run. */
  readonly schedule?: StartSchedule;
}

/** Options of `signalWithStart`: those of the signal, and of the start if there is no such run. */
export type SignalledOptions = Omit<SignalWithStartOptions, 'stays'>;

export interface StreamOptions extends InvokeOptions {
  /** Durable events after this seq. Default: all. */
  readonly after?: number;
  /** Whether to include live events, which are never stored: started, emitted, retrying and the like. Default true. */
  readonly live?: boolean;
}

export interface ContinueOptions<Answers = AnyAnswers>
  extends Omit<ResumeOptions, 'graph' | 'file'>, Pick<Acting, 'roles'> {
  /** Answers to open waits. Keys are wait ids, question names, or ids or paths (`a/b`) of the nodes that ask. */
  readonly answers?: Answers;
}

export interface BranchOptions<Answers = AnyAnswers> extends Omit<ForkOptions, 'set' | 'graph' | 'answers' | 'origin'> {
  /** Other answers to questions that the original run was asked. Keys are as in `resume`. */
  readonly answers?: Answers;
  /** Changes of state, by dotted path: `{ 'scratch.confidence': 0.95 }`. Use patches for keys that contain a dot. */
  readonly set?: Readonly<Record<string, unknown>> | readonly Patch[];
  /** A changed graph to go on under. Default: this one. */
  readonly graph?: Graph;
}

/** What to preview: a fork, or a resume with its options. */
export type PreviewedOptions<Answers = AnyAnswers> = BranchOptions<Answers> &
  Omit<PreviewOptions, keyof ForkOptions | 'file'>;

// The options that each call of a compiled graph takes. Anything else is refused at run time, because plain JavaScript has no type checker
// that would do it (G9, P6).

const isText = (value: unknown): boolean => typeof value === 'string';
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isNumber = (value: unknown): boolean => Number.isFinite(value);
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const has =
  (...methods: readonly string[]) =>
  (value: unknown): boolean =>
    isObject(value) && methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function');
const isFunction = (value: unknown): boolean => typeof value === 'function';

const isRedaction = (value: unknown): boolean =>
  isObject(value) &&
  Object.entries(value).every(([name, rules]) => name === 'store' && Array.isArray(rules) && rules.every(isText));

interface Kind {
  readonly fits: (value: unknown) => boolean;
  /** What the value must be, in words for messages. */
  readonly name: string;
  /** What is wrong with a value that does not fit, where that says more. */
  readonly faultOf?: (value: unknown) => string;
}

const text: Kind = { fits: isText, name: 'text' };
const flag: Kind = { fits: isFlag, name: 'true or false' };
const number: Kind = { fits: isNumber, name: 'a number' };
const object: Kind = { fits: isObject, name: 'an object' };
const graph: Kind = {
  fits: (value) => isObject(value) && Array.isArray((value as { nodes?: unknown }).nodes) && 'hash' in value,
  name: 'a compiled graph: what `toGraph()` returns',
};
const callback: Kind = { fits: isFunction, name: 'a function' };

/** Names of all options of `compile` and of the calls. */
export type OptionName =
  | 'engine'
  | keyof GraphParts
  | keyof EngineSettings
  | keyof InvokeOptions
  | keyof ContinueOptions
  | keyof BranchOptions
  | 'detach'
  | 'schedule'
  | 'after'
  | 'live'
  | 'asFork'
  | 'id'
  | keyof CancelOptions;

/** What each option's value must be. An option means the same in every call. */
const kinds: Readonly<Record<OptionName, Kind>> = {
  engine: { fits: has('start', 'resume', 'fork'), name: 'an engine' },
  tools: {
    fits: (value) => isObject(value) && Object.values(value).every(has('execute')),
    name: 'tools `{ execute }` by their names',
  },
  migrations: {
    fits: (value) => Array.isArray(value) && value.every(has('up')),
    name: 'a list of { to, up }',
  },
  renamed: {
    fits: (value) => isObject(value) && Object.values(value).every(isText),
    name: "recorded names by the new ones: { NEW: 'OLD', 'NODE/NEW STEP': 'OLD STEP' }",
  },
  store: {
    fits: (value) => isText(value) || has('admitRun', 'commit')(value),
    name: 'a store, or the URL of one; openStore(pool) makes one of a pool of connections',
  },
  checkpointStore: { fits: has('save', 'latest'), name: 'a checkpoint store' },
  catchUncaught: flag,
  busyMaxMs: { fits: (value) => isNumber(value) && (value as number) >= 0, name: 'a number of ms, 0 or more' },
  blobs: {
    fits: (value) => isText(value) || has('put', 'get')(value),
    name: 'a blob store, or the URL of one: s3://BUCKET/PREFIX, file:FOLDER',
  },
  clock: { fits: has('now', 'setTimer'), name: 'a clock' },
  ids: { fits: has('createRunId'), name: 'a source of ids' },
  secrets: { fits: has('read'), name: 'a source of secrets' },
  redact: { fits: isRedaction, name: '{ store }: names of keys and places' },
  models: { fits: has('generate'), name: 'a source of answers' },
  telemetry: { fits: has('startSpan', 'count'), name: 'a telemetry' },
  log: {
    fits: has('debug', 'info', 'warn', 'error'),
    name: 'a logger with debug, info, warn and error, as pino has them',
  },
  metrics: { fits: has('count', 'measure'), name: 'counters: createMetrics() makes some' },
  webhooks: { fits: (value) => value === false || Array.isArray(value), name: 'a list of webhooks, or false' },
  version: { fits: (value) => isText(value) && value !== '', name: 'a text, such as a commit' },
  retention: {
    fits: (value) => retentionFaults(value).length === 0,
    name: '{ completed, failed, cancelled, runs, perLabel, remember }',
    faultOf: (value) => retentionFaults(value).join('; '),
  },
  traceparent: text,
  bounds: object,
  limits: object,
  tenant: text,
  leaseMs: { fits: (value) => isNumber(value) && (value as number) > 0, name: 'a number over 0' },
  findGraph: callback,
  runId: text,
  meta: object,
  budget: { fits: (value) => amountsFault(value) === undefined, name: 'numbers by unit, such as { usd: 5 }' },
  detach: flag,
  host: { fits: has('wake'), name: 'a host' },
  wakes: { fits: (value) => [true, false, 'due'].includes(value as boolean), name: "true, false or 'due'" },
  schedule: {
    fits: isStartSchedule,
    name: '{ queue, priority, dueAt }: a text, a whole number and epoch ms, each of which may be left out',
  },
  signal: { fits: has('addEventListener'), name: 'an AbortSignal' },
  after: number,
  live: flag,
  answers: { fits: isObject, name: 'an object: answers by the name of their wait' },
  retryFailed: flag,
  retry: flag,
  migrate: callback,
  leaveOutAdded: flag,
  anyVersion: flag,
  by: text,
  door: text,
  as: { fits: (value) => value === 'owner' || value === 'program', name: "'owner' or 'program'" },
  link: text,
  roles: { fits: (value) => Array.isArray(value) && value.every(isText), name: 'a list of texts' },
  readsTexts: flag,
  set: {
    fits: (value) =>
      Array.isArray(value)
        ? value.every((patch: unknown) => isObject(patch) && Array.isArray((patch as { path?: unknown }).path))
        : isObject(value),
    name: 'values by path, or a list of { path, value }',
  },
  graph,
  rerunPure: flag,
  effects: { fits: (value) => value === 'refuse', name: "'refuse'" },
  reads: { fits: (value) => value === 'live', name: "'live'" },
  undeclared: { fits: (value) => value === 'run', name: "'run'" },
  resample: flag,
  nodeModels: {
    fits: (value) => isObject(value) && Object.values(value).every(isText),
    name: 'names of models by node',
  },
  upTo: { fits: (value) => Array.isArray(value) && value.every(isNumber), name: 'a seq and an index' },
  rerun: { fits: (value) => Array.isArray(value) && value.every(isText), name: 'a list of texts' },
  standIns: {
    fits: (value) => isObject(value) && Object.values(value).every(isFunction),
    name: 'functions by the name of a node, a step or a tool',
  },
  asFork: flag,
  id: text,
  reason: text,
  force: flag,
};

const engineSettingNames = [
  'store',
  'checkpointStore',
  'catchUncaught',
  'blobs',
  'clock',
  'ids',
  'secrets',
  'models',
  'telemetry',
  'log',
  'metrics',
  'bounds',
  'limits',
  'tenant',
  'leaseMs',
  'busyMaxMs',
  'wakes',
  'host',
  'findGraph',
  'webhooks',
] as const satisfies readonly (keyof EngineSettings)[];
const invokeOptionNames = [
  'runId',
  'meta',
  'traceparent',
  'budget',
  'by',
  'door',
  'as',
  'signal',
] as const satisfies readonly (keyof InvokeOptions)[];
const forkOptionNames = [
  'runId',
  'set',
  'answers',
  'graph',
  'rerunPure',
  'effects',
  'reads',
  'undeclared',
  'resample',
  'nodeModels',
  'rerun',
  'upTo',
  'leaveOutAdded',
  'by',
  'roles',
  'door',
  'as',
  'readsTexts',
] as const satisfies readonly (keyof BranchOptions)[];

/** The calls that take options. */
type Call =
  | 'compile'
  | 'invoke'
  | 'start'
  | 'stream'
  | 'resume'
  | 'fork'
  | 'preview'
  | 'answer'
  | 'signal'
  | 'signalWithStart'
  | 'cancel'
  | 'events';

/** The options that each call accepts. */
const optionNames: Readonly<Record<Call, readonly OptionName[]>> = {
  compile: ['tools', 'renamed', 'migrations', 'version', 'retention', 'engine', ...engineSettingNames],
  invoke: invokeOptionNames,
  start: ['runId', 'meta', 'traceparent', 'budget', 'by', 'door', 'as', 'detach', 'schedule'],
  stream: [...invokeOptionNames, 'after', 'live'],
  resume: [
    'answers',
    'retryFailed',
    'standIns',
    'retry',
    'migrate',
    'leaveOutAdded',
    'anyVersion',
    'by',
    'roles',
    'door',
    'as',
    'traceparent',
    'budget',
  ] satisfies readonly (keyof ContinueOptions)[],
  fork: forkOptionNames,
  preview: [
    ...forkOptionNames,
    'retryFailed',
    'retry',
    'migrate',
    'budget',
    'asFork',
  ] satisfies readonly (keyof PreviewedOptions)[],
  answer: ['by', 'roles', 'door', 'as', 'link'],
  signal: ['id', 'by', 'door', 'as'],
  signalWithStart: [
    'id',
    'by',
    'door',
    'as',
    'meta',
    'traceparent',
    'budget',
    'detach',
    'schedule',
  ] satisfies readonly (keyof SignalledOptions)[],
  cancel: ['reason', 'by', 'door', 'as', 'force'] satisfies readonly (keyof CancelOptions)[],
  events: ['after'],
};

/**
 * Checks the options passed to a call.
 * @throws CONFIG_INVALID the call does not have the option, or the option's value has the wrong type
 */
export function checkOptions(call: Call, options: unknown): void {
  const known = optionNames[call];
  if (!isObject(options)) throw new CairnError('CONFIG_INVALID', { reason: `${call} takes its options as an object` });
  for (const [path, value] of Object.entries(options)) {
    const name = known.find((option) => option === path);
    if (name === undefined) {
      const reason = `${call} has no such option; it has ${known.join(', ')}`;
      const guess = nearest(path, known);
      throw new CairnError('CONFIG_INVALID', { path, reason, ...(guess && { hint: `Did you mean ${guess}?` }) });
    }
    const kind: Kind = kinds[name];
    if (value !== undefined && !kind.fits(value))
      throw new CairnError('CONFIG_INVALID', { path, reason: kind.faultOf?.(value) ?? `it must be ${kind.name}` });
  }
}
