/** Forks: a new run that continues from a checkpoint of another; O(patch), the original is untouched (H2). */
import { CairnError } from '../errors.ts';
import { partitions } from '../graph/node-contract.ts';
import { checkpointId, decodeCheckpoint, encodeCheckpoint, runKeyOf } from '../history/checkpoint.ts';
import { loadState, readHistory, readOwner, type LoadedState } from '../history/load.ts';
import type { RunRow, WaitRow } from '../ports/store.ts';
import { type Admitted, admitValue, encodeValue, maskedText } from '../state/codec.ts';
import { DeltaBuilder, pathJson } from '../state/delta.ts';
import { readPath, setPath } from '../state/diff.ts';
import type { RunTree, StepRecord } from '../state/tree.ts';
import { checkId } from './admit-run.ts';
import type { CheckpointRef, ForkOptions, Patch } from './api.ts';
import { checkAnswer } from './check-answer.ts';
import { pendingOf } from './pending.ts';
import { pathKeyOf } from './recorded-outcomes.ts';
import { redactorOf } from './redact.ts';
import type { EngineEnvironment } from './run-core.ts';
import { treePathOf } from './tree-path.ts';
import { waitRowOf } from './wait.ts';

/** A fork before it is admitted. */
export interface DraftFork {
  /** The checkpoint it continues from: the one asked for, or the one just before a patched outcome or answer. */
  readonly from: number;
  readonly loaded: LoadedState;
  readonly delta: DeltaBuilder;
}

/** @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, WAIT_NOT_FOUND, ANSWER_INVALID, STATE_UNKNOWN_CHANNEL, RUN_EXISTS */
export async function forkRun(
  env: EngineEnvironment,
  run: RunRow,
  seq: number,
  options: ForkOptions,
): Promise<CheckpointRef> {
  const { store, clock, ids, tenant, limits } = env;
  const runId = options.runId ?? ids.createRunId(clock.now());
  checkId('run id', runId, limits.idBytes);
  const { from, checksum, delta, waits, pending } =
    (await quickFork(env, run, seq, options)) ?? (await fullFork(env, run, seq, options));
  const owner = await readOwner(store, run, from);
  const key = runKeyOf(tenant, runId);
  const at = clock.now();
  const detail = {
    ...(options.set === undefined ? {} : { set: options.set.map((patch) => patch.path.join('.')) }),
    ...(options.answers === undefined ? {} : { answers: Object.keys(options.answers) }),
  };
  const change = JSON.stringify([
    { kind: 'fork', from: { runId: owner.runId, seq: from }, ...(Object.keys(detail).length === 0 ? {} : { detail }) },
  ]);
  const first = encodeCheckpoint(
    { runKey: key, seq: from + 1 },
    checksum,
    at,
    change,
    delta.take(),
    undefined,
    pending,
  );
  const reply = await store.admitRun({
    tenant,
    runId,
    key,
    graphId: run.graphId,
    graphHash: run.graphHash,
    status: 'paused',
    meta: run.meta,
    parent: { runId: owner.runId, seq: from },
    checkpoint: { seq: from + 1, at, ...first },
    waits,
    durability: 'power',
  });
  if (!reply.created) throw new CairnError('RUN_EXISTS', { runId, difference: 'history' });
  return { runId, seq: from + 1 };
}

/** What is written of a new fork. */
interface NewFork {
  readonly from: number;
  readonly checksum: Uint8Array;
  readonly delta: DeltaBuilder;
  readonly waits: readonly WaitRow[];
  readonly pending: number;
}

async function fullFork(env: EngineEnvironment, run: RunRow, seq: number, options: ForkOptions): Promise<NewFork> {
  const { from, loaded, delta } = await draftFork(env, run, seq, options);
  const waits = Object.entries(loaded.root.waits).map(([waitId, wait]) => waitRowOf(waitId, wait));
  return { from, checksum: loaded.checksum, delta, waits, pending: pendingOf(loaded.root) };
}

/** Where the checkpoint says that nothing is pending, and whole channels are patched, nothing of the state needs to be read. */
async function quickFork(
  env: EngineEnvironment,
  run: RunRow,
  seq: number,
  options: ForkOptions,
): Promise<NewFork | undefined> {
  const patches = options.set ?? [];
  const isPlain = patches.every(({ path }) => path.length === 2 && partitions.some((name) => name === path[0]));
  if (!isPlain || options.answers !== undefined || !isSeqOf(run, seq)) return undefined;
  const owner = await readOwner(env.store, run, seq);
  const [row] = await env.store.readCheckpoints(owner, { from: seq, to: seq });
  if (row === undefined) return undefined;
  const { pending, link } = decodeCheckpoint({ runKey: owner.key, seq }, undefined, row);
  if (pending !== 0) return undefined;
  const delta = new DeltaBuilder();
  delta.set('["status"]', '"paused"');
  for (const patch of patches) delta.set(pathJson(['frame', 'channels', ...patch.path]), admitPatch(env, patch).json);
  if (patches.length > 0) delta.set('["patched"]', JSON.stringify(patches.map(({ path }) => path.join('.'))));
  if (options.rerunPure === true) delta.set('["rerunPure"]', 'true');
  return { from: seq, checksum: link, delta, waits: [], pending: patches.length > 0 ? 1 : 0 };
}

/** The state a fork begins with, and the delta that makes it. Writes nothing. */
export async function draftFork(
  env: EngineEnvironment,
  run: RunRow,
  seq: number,
  options: ForkOptions,
): Promise<DraftFork> {
  const from = await forkPoint(env, run, seq, options);
  const loaded = await loadState(env.store, env.blobs, run, from);
  const { root } = loaded;
  const delta = new DeltaBuilder();
  const set = (name: keyof RunTree, value: unknown): void => {
    (root as unknown as Record<string, unknown>)[name] = value;
    delta.set(JSON.stringify([name]), encodeValue(value));
  };
  if (root.status !== 'paused') set('status', 'paused');
  if (root.failures !== undefined) {
    delete root.failures;
    delta.delete('["failures"]');
  }
  const patched: string[] = [...(root.patched ?? [])];
  for (const patch of options.set ?? []) applyPatch(env, root, delta, patch, patched, set);
  if (patched.length > 0) set('patched', patched);
  for (const [name, value] of Object.entries(options.answers ?? {})) supplyAnswer(env, run, loaded, delta, name, value);
  if (options.rerunPure === true) set('rerunPure', true);
  return { from, loaded, delta };
}

function isSeqOf(run: RunRow, seq: number): boolean {
  return Number.isInteger(seq) && seq >= 0 && seq <= run.head;
}

/** Patching an outcome or an answer forks just before it. */
async function forkPoint(env: EngineEnvironment, run: RunRow, seq: number, options: ForkOptions): Promise<number> {
  const nodes = (options.set ?? []).filter((patch) => patch.path[0] === 'outputs').map((patch) => patch.path[1]);
  const names = Object.keys(options.answers ?? {});
  if (!isSeqOf(run, seq)) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: checkpointId(run.key, seq) });
  if (nodes.length + names.length === 0) return seq;
  let from = seq;
  const last = new Map<string, number>();
  for await (const { checkpoint } of readHistory(env.store, run, { from: 0, to: seq })) {
    for (const part of checkpoint.change) {
      if (part.node === undefined) continue;
      if ((part.kind === 'settle' || part.kind === 'replay') && part.node.length === 1 && nodes.includes(part.node[0]))
        last.set(`node ${part.node[0]}`, checkpoint.seq);
      for (const name of names)
        if (part.kind === 'answer' && isNamed(part.wait, part.node, name)) last.set(`wait ${name}`, checkpoint.seq);
    }
  }
  for (const at of last.values()) from = Math.min(from, at - 1);
  return from;
}

/** A wait is named by its id, or by its node. */
function isNamed(waitId: string | undefined, node: readonly string[], name: string): boolean {
  return waitId === name || node.join('/') === name || node.at(-1) === name;
}

function admitPatch(env: EngineEnvironment, { path, value }: Patch): Admitted {
  const redact = redactorOf(env);
  return admitValue(path.some(redact) ? maskedText : value, path, env.limits, redact);
}

function applyPatch(
  env: EngineEnvironment,
  root: RunTree,
  delta: DeltaBuilder,
  patch: Patch,
  patched: string[],
  set: (name: keyof RunTree, value: unknown) => void,
): void {
  const [partition, key, ...rest] = patch.path;
  const { value } = admitPatch(env, patch);
  if (partition === 'outputs' && key !== undefined && rest.length === 0) {
    return set('supplied', { ...root.supplied, [pathKeyOf([key])]: { output: value } });
  }
  const { frame } = root;
  if (partition === 'input') {
    frame.input = key === undefined ? value : setPath(frame.input, [key, ...rest], value);
    delta.set('["frame","input"]', encodeValue(frame.input));
    patched.push(key === undefined ? 'input' : `input.${key}`);
    return;
  }
  const channels = partition === undefined ? undefined : frame.channels[partition];
  if (channels === undefined || key === undefined) {
    throw new CairnError('STATE_UNKNOWN_CHANNEL', { channel: patch.path.join('.') });
  }
  const next = rest.length === 0 ? value : setPath(readPath(channels, [key]), rest, value);
  Object.defineProperty(channels, key, { value: next, writable: true, enumerable: true, configurable: true });
  delta.set(pathJson(['frame', 'channels', partition as string, key]), encodeValue(next));
  patched.push(`${partition as string}.${key}`);
}

/** Closes an open wait of the forked state with the answer given. */
function supplyAnswer(
  env: EngineEnvironment,
  run: RunRow,
  { root }: LoadedState,
  delta: DeltaBuilder,
  name: string,
  given: unknown,
): void {
  const found = Object.entries(root.waits).find(([waitId, wait]) => isNamed(waitId, wait.node, name));
  if (found === undefined) throw new CairnError('WAIT_NOT_FOUND', { runId: run.runId, waitId: name });
  const [waitId, wait] = found;
  const { value } = admitValue(given, ['answer'], env.limits, redactorOf(env));
  checkAnswer(wait, value);
  delete root.waits[waitId];
  delta.delete(pathJson(['waits', waitId]));
  const nodeAt = [...treePathOf(wait.node), 'nodes', wait.node.at(-1) as string];
  if (wait.step === undefined || wait.kind === 'doubt') {
    const at = wait.step === undefined ? [...nodeAt, 'decision'] : [...nodeAt, 'steps', wait.step, 'decision'];
    delta.set(pathJson(at), encodeValue(value));
    return writeAt(root, at, value);
  }
  const at = [...nodeAt, 'steps', wait.step];
  const { wait: _, ...open } = readPath(root, at) as StepRecord;
  const step: StepRecord = { ...open, status: 'done', output: value, by: 'person', at: env.clock.now() };
  delta.set(pathJson(at), encodeValue(step));
  writeAt(root, at, step);
}

function writeAt(root: RunTree, path: readonly string[], value: unknown): void {
  const holder = readPath(root, path.slice(0, -1)) as Record<string, unknown>;
  Object.defineProperty(holder, path.at(-1) as string, { value, writable: true, enumerable: true, configurable: true });
}
