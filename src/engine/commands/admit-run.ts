/** Admits a run: the run and its first checkpoint are durable before its id is returned (E2). */
import { CairnError } from '../../errors.ts';
import { decodeOrNothing } from '../../history/stored/chain.ts';
import { isStartSchedule, type Schedule } from '../../ports/schedule.ts';
import type { LimitSubject } from '../../graph/limit.ts';
import { titleOf } from '../../graph/run-title.ts';
import { shown } from '../../state/secrecy/shown-text.ts';
import { codeOf } from '../../ports/graph-code.ts';
import type { Admission, RunRow, AdmissionReply, RunKey } from '../../ports/store.ts';
import { stateVersionOf } from '../../graph/compile/migrations.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import type { Graph } from '../../graph/graph.ts';
import { encodeCheckpoint, rootChecksum, runKeyOf } from '../../history/stored/checkpoint.ts';
import { loadState, type LoadedState } from '../../history/load/load.ts';
import { checkNewRunId, isOfOrigin } from '../../history/stored/run-ids.ts';
import { costOf } from '../../history/load/snapshot-policy.ts';
import { birthOf, makeKeySeed } from '../../history/stored/key-seed.ts';
import { namedByMeta } from '../../history/stored/named-blobs.ts';
import type { StoredMeta } from '../../history/stored/stored-meta.ts';
import { refuseMasked } from '../../state/secrecy/refuse-masked.ts';
import { copyValue } from '../../state/values/admit.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { TreeWriter } from '../../state/tree-writer.ts';
import type { FrameTree, RunTree } from '../../state/tree.ts';
import type { StartOptions } from '../api.ts';
import { checkId } from '../validate/check-id.ts';
import { ageMs } from '../../graph/retention.ts';
import { checkLabels } from '../validate/check-labels.ts';
import { storedForm } from '../validate/offload.ts';
import { checkAdmission } from '../validate/checkpoint-size.ts';
import { rootFrameRun } from '../live-run/loop.ts';
import { checkBudget } from '../validate/check-budget.ts';
import { newFrame } from '../validate/new-frame.ts';
import { takeFiles } from '../validate/admit-input.ts';
import { actorIn } from '../validate/whose-answer.ts';
import { settleStart } from '../settle/settle-start.ts';

// What `start` and `resume` record about their origin: the version of the graph or else of the library, and the trace they belong to.

export interface Origin {
  readonly version?: string;
  readonly traceparent?: string;
}

const form = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/u;

/** @param requested - W3C trace context; default: the caller's according to the telemetry. @throws CONFIG_INVALID it is malformed */
export function originOf(
  { version: ofLibrary, telemetry }: EngineEnvironment,
  { version = ofLibrary }: Pick<Graph, 'version'>,
  requested: string | undefined,
): Origin {
  if (requested !== undefined && !form.test(requested))
    throw new CairnError('CONFIG_INVALID', {
      path: 'traceparent',
      reason: 'it must be a W3C traceparent of version 00',
    });
  const traceparent = requested ?? callersTrace(telemetry);
  return { ...(version !== undefined && { version }), ...(traceparent !== undefined && { traceparent }) };
}

function callersTrace(telemetry: EngineEnvironment['telemetry']): string | undefined {
  try {
    const traceparent = telemetry?.traceparent?.();
    return traceparent !== undefined && form.test(traceparent) ? traceparent : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The trace that a span of a run belongs to: the caller's, else the one under which the run was started. Undefined if there is none, or the
 * start was pruned.
 */
export async function parentTrace(
  env: EngineEnvironment,
  run: RunRow,
  requested: string | undefined,
): Promise<string | undefined> {
  const { traceparent } = originOf(env, {}, requested);
  if (traceparent !== undefined) return traceparent;
  const [row] = await env.store.readCheckpoints(run, { from: 0, to: 0, limit: 1 }).catch(() => []);
  const change = row && decodeOrNothing(run, row)?.change;
  return change?.find(({ kind }) => kind === 'start')?.traceparent;
}

const encoder = new TextEncoder();
interface StoredGraph {
  readonly meta: Promise<StoredMeta>;
  /** When it was stored, in monotonic ms. */
  readonly putAtMs: number;
}

/** The graphs that each engine has stored, since engines may have different blob stores. */
const storedGraphs = new WeakMap<EngineEnvironment, WeakMap<Graph, StoredGraph>>();

/** How long a graph counts as stored. Well below the one day for which clean-ups spare new blobs. */
const storedForMs = 3_600_000;

/** Stores a graph's structure and text as blobs, at most once an hour for each engine and graph. */
function storeGraph(env: EngineEnvironment, run: RunKey, graph: Graph): Promise<StoredMeta> {
  const byGraph = storedGraphs.get(env) ?? new WeakMap<Graph, StoredGraph>();
  storedGraphs.set(env, byGraph);
  const now = env.clock.monotonic();
  const stored = byGraph.get(graph);
  if (stored !== undefined && now - stored.putAtMs < storedForMs) return stored.meta;
  const meta = putGraph(env, run, graph);
  byGraph.set(graph, { meta, putAtMs: now });
  meta.catch(() => byGraph.delete(graph));
  return meta;
}

/** A graph's structure as it is stored, with what tells of each node whether its code has changed since. */
export function storedStructure({ structure, nodeCode }: Graph): string {
  return JSON.stringify({ ...structure, nodeCode });
}

async function putGraph({ blobs }: EngineEnvironment, run: RunKey, graph: Graph): Promise<StoredMeta> {
  const structure = await blobs.put(run, encoder.encode(storedStructure(graph)));
  if (graph.text === undefined) return { graphHash: graph.hash, structure };
  const text = await blobs.put(run, encoder.encode(encodeValue(graph.text)));
  return { graphHash: graph.hash, structure, text };
}

/** The admitted run and its state, so that a run advanced at once need not be loaded. */
export interface AdmittedRun extends AdmissionReply {
  /** The state of the run as requested. Valid only if `created` is true. */
  readonly loaded: LoadedState;
}

/**
 * @throws INPUT_INVALID, ID_INVALID, RUN_EXISTS (the run with this id has another graph or input), VALUE_UNSTORABLE, CHECKPOINT_TOO_LARGE
 */
export async function admitRun(
  env: EngineEnvironment,
  graph: Graph,
  input: unknown,
  options: StartOptions,
): Promise<AdmittedRun> {
  const { admission, tree, loaded } = await prepareAdmission(env, graph, input, options);
  const { ids, leaseMs } = env;
  const isLeft = options.detach === true || isPutOff(admission);
  const claim = isLeft ? {} : { claim: { workerId: ids.workerId, leaseMs } };
  const reply = await env.store.admitRun({ ...admission, ...claim });
  if (!reply.created) await checkSame(env, reply, graph, tree, options.origin);
  return { ...reply, loaded };
}

/** What is written to admit a run, without a claim, and the state that the run begins with. */
interface PreparedRun {
  readonly admission: Admission;
  readonly tree: FrameTree;
  readonly loaded: LoadedState;
}

/** Checks what a run is to be started with, and stores what it refers to. @throws as {@link admitRun}, but for RUN_EXISTS */
export async function prepareAdmission(
  env: EngineEnvironment,
  graph: Graph,
  input: unknown,
  options: StartOptions,
): Promise<PreparedRun> {
  const { bounds, clock, ids, tenant } = env;
  const { origin } = options;
  const runId = options.runId ?? ids.createRunId(clock.now());
  checkId('run id', runId, bounds.idBytes);
  if (options.runId !== undefined) checkNewRunId(runId, origin);
  if (options.schedule !== undefined && !isStartSchedule(options.schedule))
    throw new CairnError('CONFIG_INVALID', { path: 'schedule', reason: 'it is { queue, priority, dueAt }' });
  const tree = await newFrame(graph, input, bounds, env.intake);
  // Redaction rules have put masks into the tree already, so the original input is searched for masks.
  // What a webhook is told is masked as all that is shown.
  if (origin !== 'webhook')
    refuseMasked(env.intake === undefined ? tree.input : copyValue(input, ['input'], bounds), 'the input');
  await takeFiles(env, tree.input, 'the input');
  checkLabels(options.meta?.labels);
  if (options.meta?.keepFor !== undefined && ageMs(options.meta.keepFor) === undefined)
    throw new CairnError('CONFIG_INVALID', { path: 'meta.keepFor', reason: 'it is a time such as 12h, 7d or 4w' });
  if (options.budget !== undefined) tree.budget = checkBudget(options.budget);
  checkAdmission(graph, tree);
  settleStart(rootFrameRun(graph, { frame: tree }));
  const root: RunTree = { status: 'running', graphHash: graph.hash, codeHash: graph.codeHash, waits: {}, frame: tree };
  if (graph.migrations.length > 0) root.stateVersion = stateVersionOf(graph.migrations);
  const key = runKeyOf(tenant, runId);
  const at = clock.now();
  const who = actorIn(options);
  const change = JSON.stringify([
    { kind: 'start', graphHash: graph.hash, ...originOf(env, graph, options.traceparent), ...who },
  ]);
  const first = encodeCheckpoint(
    { runKey: key, seq: 0 },
    rootChecksum,
    at,
    change,
    await rootDelta(env, { tenant, runId }, root),
  );
  // A URL in this process's memory would be useless to a later process, but the path of a file is not.
  const keySeed = await makeKeySeed(env.store, tenant, runId, birthOf(ids, at));
  const stored = await storeGraph(env, { tenant, runId }, graph);
  const startedBy = options.by === undefined ? {} : { startedBy: [options.by] };
  const title = titleOf(graph.policies.title, shown(tree.input));
  const meta: StoredMeta = {
    ...options.meta,
    ...(title !== undefined && { title }),
    ...(origin !== undefined && { origin }),
    ...startedBy,
    ...stored,
    keySeed,
  };
  const schedule = await scheduleIn(env, graph, tree, { ...options, runId });
  const admission: Admission = {
    tenant,
    runId,
    key,
    graphId: graph.id,
    graphHash: graph.hash,
    ...(graph.version !== undefined && { code: codeOf(graph) }),
    status: 'running',
    ...encodeMeta(meta),
    checkpoint: { seq: 0, at, ...first },
    waits: [],
    ...(options.meta?.labels && { labels: options.meta.labels }),
    ...(schedule && { schedule }),
    durability: 'power',
  };
  const ownCost = costOf(first.body.byteLength, 1);
  const cost = { deltaBytes: first.body.byteLength, rows: 1, ownCost, stateBytes: 0, snapshotSeq: undefined };
  return { admission, tree, loaded: { root, seq: 0, checksum: first.checksum, cost } };
}

/** The meta as it is stored, and what it names. */
function encodeMeta(stored: StoredMeta): Pick<Admission, 'meta' | 'blobs' | 'defines'> {
  const meta = encoder.encode(JSON.stringify(stored));
  return { meta, ...namedByMeta(meta) };
}

/** Whether a limit puts a run off. One that its program puts off is taken up at once all the same, as the program waits for it. */
const isPutOff = ({ schedule, checkpoint }: Admission): boolean =>
  schedule?.key !== undefined && (schedule.dueAt ?? 0) > checkpoint.at;

/** The schedule of a run, with the keys of the limits that it is under. */
async function scheduleIn(
  { places, store, tenant, clock }: EngineEnvironment,
  { policies }: Graph,
  { input }: FrameTree,
  { schedule, limit = [], runId }: StartOptions & { readonly runId: string },
): Promise<Schedule | undefined> {
  const limits = [policies.limit ?? [], limit].flat();
  if (limits.length === 0) return schedule;
  const isThere = (await store.readRun({ tenant, runId })) !== undefined;
  const subject = { input: input as LimitSubject['input'] };
  const { key, delayMs } = await places.admit(limits, subject, isThere ? undefined : runId);
  const dueAt = Math.ceil(Math.max(schedule?.dueAt ?? 0, delayMs === 0 ? 0 : clock.now() + delayMs));
  return { ...schedule, key, ...(dueAt > 0 && { dueAt }) };
}

/** The delta of the first checkpoint: the whole tree, with a large input as a reference to a blob (C5). */
async function rootDelta(env: EngineEnvironment, run: RunKey, root: RunTree): Promise<string> {
  const { frame, ...rest } = root;
  const state = new TreeWriter({} as RunTree);
  for (const [name, value] of Object.entries(rest)) state.set([name], value);
  state.set(['frame'], frame, encodeValue({ ...frame, input: await storedForm(env, run, frame.input) }));
  return state.delta.take();
}

// Starting a run again tells whether its input is the same one, and an input may hold what is shown to nobody. So a run is compared with only
// so many different inputs within an hour, and then with none.

const differentMax = 10;
const differentMs = 3_600_000;
const runsRemembered = 10_000;

/** By engine and run: how many different inputs came, and since when (monotonic ms). */
const different = new WeakMap<EngineEnvironment, Map<string, { readonly count: number; readonly sinceMs: number }>>();

function mayCompare(env: EngineEnvironment, { key }: RunRow): boolean {
  const known = different.get(env)?.get(key);
  return known === undefined || known.count < differentMax || env.clock.monotonic() - known.sinceMs > differentMs;
}

function countDifferent(env: EngineEnvironment, { key }: RunRow): void {
  const byRun = different.get(env) ?? new Map<string, { readonly count: number; readonly sinceMs: number }>();
  different.set(env, byRun);
  const now = env.clock.monotonic();
  const known = byRun.get(key);
  const isOver = known === undefined || now - known.sinceMs > differentMs;
  byRun.delete(key);
  byRun.set(key, isOver ? { count: 1, sinceMs: now } : { ...known, count: known.count + 1 });
  const [oldest] = byRun.keys();
  if (byRun.size > runsRemembered && oldest !== undefined) byRun.delete(oldest);
}

/** Checks that an existing run with this id was begun by the same part of the system with the same graph and input: it is the same run. */
async function checkSame(
  env: EngineEnvironment,
  { run }: AdmissionReply,
  graph: Graph,
  tree: FrameTree,
  origin: StartOptions['origin'],
): Promise<void> {
  if (origin !== undefined && !isOfOrigin(run, origin))
    throw new CairnError('RUN_EXISTS', { runId: run.runId, difference: 'origin' });
  if (run.graphHash !== graph.hash || run.graphId !== graph.id) {
    throw new CairnError('RUN_EXISTS', {
      runId: run.runId,
      difference: 'graph',
      stored: run.graphId,
      requested: graph.id,
    });
  }
  const { root } = await loadState(env.store, env.blobs, run);
  if (mayCompare(env, run) && encodeValue(root.frame.input) === encodeValue(tree.input)) return;
  countDifferent(env, run);
  throw new CairnError('RUN_EXISTS', {
    runId: run.runId,
    difference: 'input',
    stored: root.frame.input,
    given: tree.input,
  });
}
