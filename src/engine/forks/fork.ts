/**
 * Forks a run: makes a new run that continues from a checkpoint of another. The cost depends on the patch only, and the original is not
 * touched (H2).
 */
import { CairnError } from '../../errors.ts';
import { decodeCheckpoint, encodeCheckpoint, runKeyOf } from '../../history/stored/checkpoint.ts';
import { loadState, readOwner, type LoadedState } from '../../history/load/load.ts';
import { birthOf, makeKeySeed } from '../../history/stored/key-seed.ts';
import { namedByMeta } from '../../history/stored/named-blobs.ts';
import { metaOf, type StoredMeta } from '../../history/stored/stored-meta.ts';
import { checkNewRunId, neverDue } from '../../history/stored/run-ids.ts';
import { openWaitRows } from '../../history/stored/wait-row.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import type { Graph } from '../../graph/graph.ts';
import { partitions, type StateView } from '../../graph/contracts/node-contract.ts';
import { formatPath } from '../../history/read/state-path.ts';
import { viewValues } from '../../history/read/checkpoint-view.ts';
import { suppliedFault } from '../validate/supplied-fault.ts';
import { openFailedNodes } from '../visit-records/failed-nodes.ts';
import { noteContinued } from '../visit-records/continued-visits.ts';
import { pathKeyOf } from '../visit-records/node-path.ts';
import { codeOf } from '../../ports/graph-code.ts';
import type { Schedule } from '../../ports/schedule.ts';
import type { Admission, RunKey, RunRow, WaitRow } from '../../ports/store.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { followUpOf, type NoEffects, type RunTree } from '../../state/tree.ts';
import { forgetFollowUp } from '../live-run/run-ending.ts';
import { TreeWriter } from '../../state/tree-writer.ts';
import { checkId } from '../validate/check-id.ts';
import { storedForm } from '../validate/offload.ts';
import type { CheckpointRef, ForkOptions, Patch } from '../api.ts';
import { findForkPoint, isOfOutput, isSeqOf } from './fork-point.ts';
import { admitPatch, ForkPatches, isWholeChannel } from './fork-patches.ts';
import { applyGraphChange, recodedNodes, rerunsOf, savedStructure } from '../commands/graph-change.ts';
import { checkPatchedInput } from '../validate/new-frame.ts';
import { actorIn } from '../validate/whose-answer.ts';
import { refuseBoundOutputs } from './bound-outputs.ts';
import { pendingOf } from '../live-run/committer.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';

/** A fork before it is admitted. */
export interface DraftFork<State extends TreeWriter> {
  /** The checkpoint that it continues from: the requested one, or the one just before a patched outcome or answer. */
  readonly from: number;
  readonly loaded: LoadedState;
  /** Its state, and the ops that make it. */
  readonly state: State;
  /** The differences between its graph and the original's. */
  readonly differences: readonly unknown[];
  /** The answers that are given with it. */
  readonly answered: readonly ChangePart[];
}

const encoder = new TextEncoder();

/** Finds the graph of the run to fork; undefined if it is not known here. */
export type FindGraph = () => Promise<Graph | undefined>;

/**
 * Makes a fork. @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, WAIT_NOT_FOUND, ANSWER_INVALID, ANSWER_RESERVED, INPUT_INVALID, STATE_UNKNOWN_CHANNEL,
 * RUN_EXISTS, RUN_GRAPH_CHANGED it cannot go on under that graph
 */
export async function forkRun(
  env: EngineEnvironment,
  run: RunRow,
  seq: number,
  options: ForkOptions,
  findGraph: FindGraph,
): Promise<CheckpointRef> {
  const { store, clock, ids, tenant, bounds } = env;
  const runId = options.runId ?? ids.createRunId(clock.now());
  checkId('run id', runId, bounds.idBytes);
  if (options.runId !== undefined) checkNewRunId(runId, options.origin);
  const { from, checksum, ops, waits, pending, graphHash, differences, answered } =
    (await quickFork(env, run, seq, options, { tenant, runId })) ??
    (await fullFork(env, run, seq, options, findGraph, { tenant, runId }));
  const owner = await readOwner(store, run, from);
  const key = runKeyOf(tenant, runId);
  const at = clock.now();
  const detail = {
    ...(options.set === undefined ? {} : { set: options.set.map(({ path }) => formatPath(path)) }),
    ...(options.answers === undefined ? {} : { answers: Object.keys(options.answers) }),
    ...(differences.length === 0 ? {} : { graph: differences }),
  };
  const change = JSON.stringify([
    {
      kind: 'fork',
      from: { runId: owner.runId, seq: from },
      ...actorIn(options),
      ...(Object.keys(detail).length === 0 ? {} : { detail }),
    },
    ...answered,
  ]);
  const first = encodeCheckpoint({ runKey: key, seq: from + 1 }, checksum, at, change, ops, undefined, pending);
  const keySeed = await makeKeySeed(store, tenant, runId, birthOf(ids, at));
  const graphId = options.graph?.id ?? run.graphId;
  const meta = encoder.encode(JSON.stringify({ ...metaOfFork(run, options), keySeed }));
  const reply = await store.admitRun({
    tenant,
    runId,
    ...namedByMeta(meta),
    key,
    graphId,
    graphHash,
    ...codeOfFork(run, graphHash, options.graph),
    status: 'paused',
    meta,
    parent: { runId: owner.runId, seq: from },
    checkpoint: { seq: from + 1, at, ...first },
    waits,
    // What is found by a label is what happened.
    ...(options.origin !== 'experiment' && labelsOf(run)),
    ...limitsOf(run),
    ...(cannotAct(run, options) && { schedule: never }),
    durability: 'power',
  });
  if (!reply.created) throw new CairnError('RUN_EXISTS', { runId, difference: 'history' });
  return { runId, seq: from + 1 };
}

/** A fork is under the limits of its original. */
function limitsOf({ schedule: { queue, key, priority } }: RunRow): Pick<Admission, 'schedule'> {
  return key === undefined ? {} : { schedule: { queue, key, priority } };
}

/**
 * What a fork's row keeps beside it: the original's, but for its origin, which is the fork's own. Who made it counts as one who started it.
 */
function metaOfFork(run: RunRow, { origin, by }: ForkOptions): StoredMeta {
  const { origin: _, relabelled: __, startedBy = [], ...meta } = metaOf(run);
  const starters = by === undefined ? startedBy : [...new Set([...startedBy, by])];
  return {
    ...meta,
    ...(origin !== undefined && { origin }),
    ...(starters.length > 0 && { startedBy: starters }),
  };
}

/** A fork under no other graph is for the same code as its original. */
function codeOfFork(run: RunRow, graphHash: string, graph: Graph | undefined): Pick<Admission, 'code'> {
  if (graph !== undefined) return graph.version === undefined ? {} : { code: codeOf(graph) };
  return run.code === undefined || graphHash !== run.graphHash ? {} : { code: run.code };
}

/** No worker takes up what is due at the end of time; who resumes it does not ask when it is due (X7). */
const never: Schedule = { dueAt: neverDue };

/** Whether a fork cannot act: it was asked for, or what it is forked from cannot. */
function cannotAct(run: RunRow, { effects }: ForkOptions): boolean {
  return effects === 'refuse' || run.schedule.dueAt === never.dueAt;
}

/** How the fork goes on. */
function setRules(state: TreeWriter, options: ForkOptions): void {
  if (options.rerunPure === true) state.set(['rerunPure'], true);
  const before = state.root.noEffects;
  if (options.effects !== 'refuse' && before === undefined) return;
  const { reads, undeclared, resample, nodeModels, rerun, upTo, answers } = options;
  const rules: NoEffects = {
    ...before,
    ...(reads !== undefined && { reads }),
    ...(undeclared !== undefined && { undeclared }),
    ...(resample === true && { resample }),
    ...(nodeModels !== undefined && { nodeModels }),
    ...(rerun !== undefined && { rerun }),
    ...(upTo !== undefined && { upTo }),
    ...(options.effects === 'refuse' && answers !== undefined && { answers }),
  };
  state.set(['noEffects'], rules, encodeValue(rules));
}

/** A fork is found by the labels of the run that it was forked from. */
function labelsOf(run: RunRow): Pick<Admission, 'labels'> {
  const { labels } = metaOf(run);
  return labels === undefined ? {} : { labels };
}

/** What is written for a new fork. */
interface NewFork {
  readonly from: number;
  readonly checksum: Uint8Array;
  readonly ops: string;
  readonly waits: readonly WaitRow[];
  readonly pending: number;
  readonly graphHash: string;
  readonly differences: readonly unknown[];
  /** The answers that were given with it. */
  readonly answered: readonly ChangePart[];
}

async function fullFork(
  env: EngineEnvironment,
  run: RunRow,
  seq: number,
  options: ForkOptions,
  findGraph: FindGraph,
  fork: RunKey,
): Promise<NewFork> {
  const { from, loaded, state, differences, answered } = await draftFork(
    env,
    run,
    seq,
    options,
    findGraph,
    (root) => new TreeWriter(root),
    fork,
  );
  const { root, checksum } = loaded;
  const waits = openWaitRows(fork, root);
  return {
    from,
    checksum,
    ops: state.delta.take(),
    waits,
    pending: pendingOf(root),
    graphHash: root.graphHash,
    differences,
    answered,
  };
}

/** Forks without loading the state. Possible if the checkpoint says that nothing is pending, and only whole channels are patched. */
async function quickFork(
  env: EngineEnvironment,
  run: RunRow,
  seq: number,
  options: ForkOptions,
  fork: RunKey,
): Promise<NewFork | undefined> {
  const patches = options.set ?? [];
  const isPlain =
    patches.every(isWholeChannel) &&
    options.answers === undefined &&
    options.graph === undefined &&
    !cannotAct(run, options);
  // A run that has changed its graph may be forked at a checkpoint under the earlier one.
  if (!isPlain || metaOf(run).graphHash !== run.graphHash || !isSeqOf(run, seq)) return undefined;
  const owner = await readOwner(env.store, run, seq);
  const [row] = await env.store.readCheckpoints(owner, { from: seq, to: seq });
  if (row === undefined) return undefined;
  const { pending, link } = decodeCheckpoint({ runKey: owner.key, seq }, undefined, row);
  if (pending !== 0) return undefined;
  // Whole channels are replaced, so an empty state can stand for the one that is not loaded.
  const channels = Object.fromEntries(partitions.map((name) => [name, {}]));
  const state = new TreeWriter({ frame: { channels } } as RunTree);
  state.set(['status'], 'paused');
  for (const patch of patches) {
    const value = await admitPatch(env, patch);
    state.set(['frame', 'channels', ...patch.path], value, encodeValue(await storedForm(env, fork, value)));
  }
  if (patches.length > 0)
    state.set(
      ['patched'],
      patches.map(({ path }) => path.join('.')),
    );
  setRules(state, options);
  return {
    from: seq,
    checksum: link,
    ops: state.delta.take(),
    waits: [],
    pending: patches.length > 0 ? 1 : 0,
    graphHash: run.graphHash,
    differences: [],
    answered: [],
  };
}

/** Makes the state that a fork begins with, and its delta. Writes nothing but blobs of large values. */
export async function draftFork<State extends TreeWriter>(
  env: EngineEnvironment,
  run: RunRow,
  seq: number,
  options: ForkOptions,
  findGraph: FindGraph,
  openWriter: (root: RunTree) => State,
  fork: RunKey = run,
): Promise<DraftFork<State>> {
  const { from, meant } = await findForkPoint(env, run, seq, options);
  const loaded = await loadState(env.store, env.blobs, run, from);
  const { root } = loaded;
  const state = openWriter(root);
  const patches = new ForkPatches(env, fork, state);
  if (root.status !== 'paused') state.set(['status'], 'paused');
  undoCancel(state);
  undoFollowUp(state);
  if (root.time !== undefined) state.delete(['time']);
  state.delete(['failures']);
  openFailedNodes(state);
  for (const [waitId, { kind }] of Object.entries(root.waits)) if (kind === 'refused') state.delete(['waits', waitId]);
  const differences = await changeGraph(env, run, state, options, fork);
  // A chat that was stopped goes on in a fork, as it was.
  if (options.origin !== 'chat') noteContinued(state, options.graph === undefined ? 'forked-for-any' : 'forked');
  const patched: string[] = [...(root.patched ?? [])];
  const set = options.set ?? [];
  if (set.some(isOfOutput)) {
    await checkNodes(env, run, root, set);
    await refuseBoundOutputs(env, run, options, options.graph ?? (await findGraph()));
  }
  const { input } = root.frame;
  for (const patch of set) {
    const channel = await patches.apply(patch);
    if (channel !== undefined) patched.push(channel);
  }
  if (root.frame.input !== input) {
    const graph = options.graph ?? (await findGraph());
    if (graph !== undefined) await checkPatchedInput(graph, input, root.frame.input);
  }
  if (patched.length > 0) state.set(['patched'], patched);
  for (const { waitId, original, openAt, takenNode } of meant.values()) {
    if (original === undefined || openAt !== from) continue;
    const before = await loadState(env.store, env.blobs, original.run, original.seq);
    await patches.openAgain(before.root, waitId, from, takenNode);
  }
  const answered: ChangePart[] = [];
  for (const [name, { waitId }] of meant)
    answered.push(await patches.answer(run.runId, waitId, options.answers?.[name], options));
  setRules(state, options);
  if (set.some(isOfOutput)) checkOutputs(state.root, set, options.graph ?? (await findGraph()));
  return { from, loaded, state, differences, answered };
}

/** A fork of a cancelled run goes on where that was before the cancel: with its waits, and without what its `onCancel` node recorded. */
function undoCancel(state: TreeWriter): void {
  const { cancel } = state.root;
  if (cancel === undefined) return;
  for (const waitId of Object.keys(state.root.waits)) state.delete(['waits', waitId]);
  for (const [waitId, wait] of Object.entries(cancel.waits)) state.set(['waits', waitId], wait);
  state.delete(['frame', 'nodes', cancel.node]);
  state.delete(['cancel']);
}

/** A fork goes on as if what followed the failure of its original had not begun: with the waits that were open. */
function undoFollowUp(state: TreeWriter): void {
  const { failing } = state.root;
  if (failing === undefined) return;
  const isUnderWay = followUpOf(state.root) !== undefined;
  forgetFollowUp(state, (waitId) => state.delete(['waits', waitId]));
  if (isUnderWay) for (const [waitId, wait] of Object.entries(failing.waits)) state.set(['waits', waitId], wait);
  state.delete(['failing']);
}

/**
 * Checks that an outcome being set is one that its node could give. What this state does not tell is checked when the outcome is used.
 * @throws OUTCOME_INVALID
 */
function checkOutputs(root: RunTree, set: readonly Patch[], graph: Graph | undefined): void {
  const outputOf = (id: string): unknown =>
    (root.supplied?.[pathKeyOf([id])] as { output?: unknown } | undefined)?.output;
  const nodes = set.filter(isOfOutput).map(({ path }) => path[1] ?? '');
  const state = viewValues(root.frame);
  // An outcome may depend on another that is set with it.
  const outputs = { ...state.outputs, ...Object.fromEntries(nodes.map((id) => [id, outputOf(id)])) };
  const view = { ...state, outputs } as unknown as StateView;
  for (const id of nodes) {
    const node = graph?.nodes.find((one) => one.id === id);
    const fault = node && suppliedFault(node, outputOf(id), view);
    if (fault !== undefined && fault.cause === undefined) throw fault;
  }
}

/** Checks that outcomes are set for existing nodes; others would never be used. @throws STATE_UNKNOWN_CHANNEL */
async function checkNodes(env: EngineEnvironment, run: RunRow, root: RunTree, set: readonly Patch[]): Promise<void> {
  const structure = await savedStructure(env, run, root);
  if (structure === undefined) return;
  const known = structure.nodes.map(({ id }) => `outputs.${String(id)}`);
  for (const { path } of set.filter(isOfOutput)) {
    const channel = path.slice(0, 2).join('.');
    if (!known.includes(channel)) throw new CairnError('STATE_UNKNOWN_CHANNEL', { channel, known });
  }
}

/** Changes the fork's graph, and returns the differences. If the code differs, pure outcomes are not reused (X2). */
async function changeGraph(
  env: EngineEnvironment,
  run: RunRow,
  state: TreeWriter,
  { graph, leaveOutAdded }: ForkOptions,
  fork: RunKey,
): Promise<readonly unknown[]> {
  if (graph === undefined) return [];
  const recoded = await recodedNodes(env, run, state.root, graph);
  const consent = leaveOutAdded === undefined ? {} : { leaveOutAdded };
  const differences = await applyGraphChange(env, run, state, graph, consent, fork);
  if (recoded !== undefined) state.set(['rerunPure'], rerunsOf(state.root.rerunPure, recoded));
  return differences ?? [];
}
