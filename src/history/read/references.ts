/** Finds runs and checkpoints by the names people give them, like commits: an id, a prefix, `RUN@12`, `RUN@tag`, `RUN@head~2` (H1). */
import { CairnError } from '../../errors.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { decodeOrNothing } from '../stored/chain.ts';
import { checkpointId } from '../stored/checkpoint.ts';
import { readLineage, readOwner } from '../load/lineage.ts';

export interface ResolvedReference {
  /** As it is while its position is looked up: `run.head` tells whether `seq` is its newest checkpoint. */
  readonly run: RunRow;
  readonly seq: number;
}

/** A checkpoint by run and seq; the seq may be an ancestor's. */
export interface CheckpointPosition {
  readonly runId: string;
  readonly seq: number;
}

/**
 * A checkpoint, or its run: `{ runId, seq }`, which every entry of a list or a log is (without a seq: the newest), or a name: a run's id
 * or its key (the newest checkpoint), `RUN@12`, `RUN@tag`, `RUN@head~2`, or a checkpoint's id.
 */
export type CheckpointName = string | { readonly runId: string; readonly seq?: number };

/** A run by its own name: its id or its key, or as it stands in a list. */
export type RunName = string | { readonly runId: string };

/** How freely a run may be named. */
export interface NamingOptions {
  /** Whether the beginning of an id or a key will do. Default true; programs, whose ids may begin alike, say no. */
  readonly byPrefix?: boolean;
}

/** As many matches as an error lists. */
const listedMatches = 8;

/**
 * Finds the one run that goes by a name: its id, its key, or a unique prefix of either. An id wins over a key, both over a prefix.
 * @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS several runs begin like this
 */
export async function findRun(
  store: Store,
  tenant: string,
  name: string,
  options: NamingOptions = {},
): Promise<RunRow> {
  const run = name === '' ? undefined : await findByName(store, tenant, [{ name, position: undefined }], name, options);
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: name });
  return run.run;
}

/**
 * Resolves `RUN`, `RUN@SEQ`, `RUN@TAG`, `RUN@head`, any of these with `~N`, and `RUN.SEQ`, where RUN is a name of a run.
 * Ids may hold `@`, `.` and `~` themselves: the longest reading as a run wins, and an exact id before a prefix.
 * The run is the one asked for even where the checkpoint belongs to an ancestor.
 * @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS, CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED
 */
export async function resolveReference(
  store: Store,
  tenant: string,
  text: string,
  options: NamingOptions = {},
): Promise<ResolvedReference> {
  const found = await findByName(store, tenant, text === '' ? [] : readingsOf(text), text, options);
  if (found === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: text });
  return locate(store, found.run, found.position, text);
}

/** The same for whatever a program names a checkpoint by. @throws CONFIG_INVALID it is no name; as {@link resolveReference} */
export async function resolveName(
  store: Store,
  tenant: string,
  name: CheckpointName,
  options?: NamingOptions,
): Promise<ResolvedReference> {
  if (typeof name === 'string') return resolveReference(store, tenant, name, options);
  const { runId, seq } = (name ?? {}) as { readonly runId?: unknown; readonly seq?: unknown };
  if (typeof runId !== 'string' || (seq !== undefined && typeof seq !== 'number'))
    throw new CairnError('CONFIG_INVALID', { reason: 'a run is named by its id, a checkpoint by { runId, seq }' });
  const run = await store.readRun({ tenant, runId });
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
  return locate(store, run, seq?.toString(), nameOf(name));
}

/** The same for a run that is named by itself, not by one of its checkpoints. @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS */
export async function resolveRun(
  store: Store,
  tenant: string,
  name: RunName,
  options?: NamingOptions,
): Promise<RunRow> {
  if (typeof name === 'string') return findRun(store, tenant, name, options);
  return (await resolveName(store, tenant, { runId: name.runId }, options)).run;
}

/** As people write it. */
export function nameOf(name: CheckpointName): string {
  if (typeof name === 'string') return name;
  return name.seq === undefined ? name.runId : `${name.runId}@${name.seq}`;
}

interface Found {
  readonly run: RunRow;
  readonly position: string | undefined;
}

/** Tries all readings as ids before any as a key or a prefix. */
async function findByName(
  store: Store,
  tenant: string,
  readings: readonly Reading[],
  reference: string,
  options: NamingOptions,
): Promise<Found | undefined> {
  for (const { name, position } of readings) {
    const run = await store.readRun({ tenant, runId: name });
    if (run !== undefined) return { run, position };
  }
  for (const { name, position } of readings) {
    const run = await findByPrefix(store, tenant, name, reference, options);
    if (run !== undefined) return { run, position };
  }
  return undefined;
}

interface Reading {
  readonly name: string;
  /** What follows the `@` or `.`; undefined: the head. */
  readonly position: string | undefined;
}

/** All ways to read a reference as a run and a position, the longest run first. */
function readingsOf(text: string): readonly Reading[] {
  const readings: Reading[] = [{ name: text, position: undefined }];
  for (let end = text.length - 1; end > 0; end--) {
    const rest = text.slice(end + 1);
    if (text[end] === '@' && rest !== '') readings.push({ name: text.slice(0, end), position: rest });
    if (text[end] === '.' && /^\d+(~\d*)*$/.test(rest)) readings.push({ name: text.slice(0, end), position: rest });
    if (text[end] === '~' && /^\d*(~\d*)*$/.test(rest))
      readings.push({ name: text.slice(0, end), position: `head~${rest}` });
  }
  return readings;
}

async function findByPrefix(
  store: Store,
  tenant: string,
  prefix: string,
  reference: string,
  { byPrefix = true }: NamingOptions,
): Promise<RunRow | undefined> {
  const found = await store.findRuns(tenant, prefix, listedMatches);
  const exact = found.find(({ key }) => key === prefix);
  if (exact !== undefined || !byPrefix) return exact;
  if (found.length < 2) return found[0];
  throw new CairnError('CHECKPOINT_AMBIGUOUS', { reference, matches: found.map(({ runId }) => runId) });
}

async function locate(
  store: Store,
  run: RunRow,
  position: string | undefined,
  reference: string,
): Promise<ResolvedReference> {
  // The newest is always kept.
  if (position === undefined) return { run, seq: run.head };
  const [start = 'head', ...steps] = position.split('~');
  const back = steps.reduce((sum, step) => sum + (step === '' ? 1 : Number(step)), 0);
  const from = await findStart(store, run, start);
  const seq = from === undefined ? -1 : from - back;
  if (from === undefined || !Number.isSafeInteger(seq) || seq < 0 || seq > run.head) {
    throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: reference });
  }
  await requireKept(store, run, seq);
  return { run, seq };
}

/** A tag of the run or of an ancestor within its history; the name `head`; a number. A tag comes before a number of the same name. */
async function findStart(store: Store, run: RunRow, name: string): Promise<number | undefined> {
  if (name === 'head') return run.head;
  for (const part of [...(await readLineage(store, run))].reverse()) {
    const tag = (await store.readTags(part.run)).find((tag) => tag.name === name && tag.seq <= part.upTo);
    if (tag !== undefined) return tag.seq;
  }
  return /^\d{1,15}$/.test(name) ? Number(name) : undefined;
}

/** @throws CHECKPOINT_PRUNED naming what remains, CHECKPOINT_NOT_FOUND */
async function requireKept(store: Store, run: RunRow, seq: number): Promise<void> {
  const owner = await readOwner(store, run, seq);
  const [row] = await store.readCheckpoints(owner, { from: seq, to: owner.head, limit: 1 });
  if (row?.seq === seq) return;
  const checkpoint = checkpointId(owner.key, seq);
  const isPruned = row !== undefined && (seq < owner.prunedBelow || decodeOrNothing(owner, row)?.fold !== undefined);
  if (!isPruned) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint });
  throw new CairnError('CHECKPOINT_PRUNED', { checkpoint, remains: checkpointId(owner.key, row.seq) });
}
