/** Resolves names of runs and checkpoints, which work like those of commits: an id, a prefix, `RUN@12`, `RUN@tag`, `RUN@head~2` (H1). */
import { CairnError } from '../../errors.ts';
import { expiredError, missingRun } from '../../ports/removed-runs.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { decodeOrNothing } from '../stored/chain.ts';
import { checkpointId } from '../stored/checkpoint.ts';
import { readLineage, readOwner } from '../load/lineage.ts';
import { isDeletedMark } from './deleted-marks.ts';

export interface ResolvedReference {
  /** The run's row when the name was resolved. `run.head` shows whether `seq` is its newest checkpoint. */
  readonly run: RunRow;
  readonly seq: number;
}

/** A checkpoint, by run and seq. The seq may belong to an ancestor of the run. */
export interface CheckpointPosition {
  readonly runId: string;
  readonly seq: number;
}

/**
 * Names a checkpoint or a run. Either `{ runId, seq }`, as in entries of lists and logs (without a seq it means the newest checkpoint), or
 * a text: a run's id or key (its newest checkpoint), `RUN@12`, `RUN@tag`, `RUN@head~2`, or a checkpoint's id.
 */
export type CheckpointName = string | { readonly runId: string; readonly seq?: number };

/** Names a run: its id or key, or an entry of a list. */
export type RunName = string | { readonly runId: string };

/** How a run may be named. In quotation marks, `"odd@2"` or `"odd@2"@7`, the id within is meant and nothing else. */
export interface NamingOptions {
  /** Whether the beginning of an id or key is enough. Default true. Programs use false, because their ids may begin alike. */
  readonly byPrefix?: boolean;
}

/** The most matches that an error lists. */
const listedMatches = 8;

/**
 * Finds the run with this id, this key, or this prefix of either if it is unique. Ids and keys win over prefixes.
 * @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS several runs begin with the prefix, or the id of one is the key of another
 */
export async function findRun(
  store: Store,
  tenant: string,
  name: string,
  options: NamingOptions = {},
): Promise<RunRow> {
  const quoted = readQuoted(name);
  const isRun = name !== '' && (quoted === undefined || quoted.position === undefined);
  const found = isRun
    ? await findByName(store, tenant, [quoted ?? { name, position: undefined }], name, options)
    : undefined;
  if (found === undefined) throw await notFound(store, tenant, name);
  return found.run;
}

/** How a run is addressed whatever its id: see {@link NamingOptions}. */
export const quotedRun = (runId: string): string => JSON.stringify(runId);

/** The name of a run as people write it: ids of new runs as they are, one that would be read as a checkpoint in quotation marks. */
export const runName = (runId: string): string => (/[@~]|^"/u.test(runId) ? quotedRun(runId) : runId);

/** Names what begins alike, since a part of an id does not stand for the whole where that could be another run. */
async function notFound(store: Store, tenant: string, name: string): Promise<CairnError> {
  const [part = ''] = name.split(/[@~]/u);
  const alike = part === '' || part.startsWith('"') ? [] : await store.findRuns(tenant, part, listedMatches);
  const line = await store.removals?.read({ tenant, runId: readQuoted(name)?.name ?? part });
  if (line !== undefined) return expiredError(line);
  const ids = alike.map(({ runId }) => runName(runId)).join(', ');
  return new CairnError('RUN_NOT_FOUND', {
    runId: readQuoted(name)?.name ?? name,
    ...(ids !== '' && { hint: `Name it whole. Runs that begin so: ${ids}.` }),
  });
}

/**
 * Resolves `RUN`, `RUN@SEQ`, `RUN@TAG`, `RUN@head`, each optionally followed by `~N`, and `KEY.SEQ`. RUN is the name of a run. Ids of
 * older runs may contain `@` and `~`: where two runs are meant as well, neither is taken. An exact id wins over a prefix. The result has the
 * run that the reference names, even if the checkpoint belongs to an ancestor.
 * @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS, CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED
 */
export async function resolveReference(
  store: Store,
  tenant: string,
  text: string,
  options: NamingOptions = {},
): Promise<ResolvedReference> {
  const found = await findByName(store, tenant, text === '' ? [] : readingsOf(text), text, options);
  if (found === undefined) throw await notFound(store, tenant, text);
  return locate(store, found.run, found.position, text);
}

/** Resolves any form of a checkpoint's name. @throws CONFIG_INVALID it is not a name; and the errors of {@link resolveReference} */
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
  if (run === undefined) throw await missingRun(store, { tenant, runId });
  return locate(store, run, seq?.toString(), nameOf(name));
}

/** Resolves the name of a run; names of checkpoints are refused. @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS */
export async function resolveRun(
  store: Store,
  tenant: string,
  name: RunName,
  options?: NamingOptions,
): Promise<RunRow> {
  if (typeof name === 'string') return findRun(store, tenant, name, options);
  return (await resolveName(store, tenant, { runId: name.runId }, options)).run;
}

/** The name as people write it. */
export function nameOf(name: CheckpointName): string {
  if (typeof name === 'string') return name;
  return name.seq === undefined ? runName(name.runId) : `${runName(name.runId)}@${name.seq}`;
}

interface Found {
  readonly run: RunRow;
  readonly position: string | undefined;
}

/**
 * Tries every reading as an id or a key, then every reading as a prefix.
 * @throws CHECKPOINT_AMBIGUOUS several runs are meant: nobody can know which, since whoever names a run chooses its id
 */
async function findByName(
  store: Store,
  tenant: string,
  readings: readonly Reading[],
  reference: string,
  options: NamingOptions,
): Promise<Found | undefined> {
  const exact = new Map<string, Found>();
  for (const { name, position, isKey = false, isQuoted = false } of readings) {
    const byId = isKey ? undefined : await store.readRun({ tenant, runId: name });
    if (byId !== undefined) exact.set(JSON.stringify([byId.runId, position]), { run: byId, position });
    const byKey = isQuoted ? undefined : await findByKey(store, tenant, name);
    if (byKey !== undefined) exact.set(JSON.stringify([byKey.runId, position]), { run: byKey, position });
  }
  const [found, other] = exact.values();
  if (found !== undefined && other === undefined) return found;
  if (found !== undefined)
    throw new CairnError('CHECKPOINT_AMBIGUOUS', {
      reference,
      matches: [...exact.values()].map(
        ({ run, position }) => quotedRun(run.runId) + (position === undefined ? '' : `@${position}`),
      ),
      hint: 'Name the run in quotation marks, within those of the shell.',
    });
  if (options.byPrefix === false) return undefined;
  for (const { name, position, isQuoted = false } of readings) {
    const run = isQuoted ? undefined : await findByPrefix(store, tenant, name, reference);
    if (run !== undefined) return { run, position };
  }
  return undefined;
}

async function findByKey(store: Store, tenant: string, key: string): Promise<RunRow | undefined> {
  if (!/^[\da-f]{16}$/.test(key)) return undefined;
  return (await store.findRuns(tenant, key, listedMatches)).find((run) => run.key === key);
}

interface Reading {
  readonly name: string;
  /** The part after the `@` or `.`; undefined means the head. */
  readonly position: string | undefined;
  /** Whether the name is a key, as in a checkpoint's id, or the beginning of one. */
  readonly isKey?: boolean;
  /** Whether it stood in quotation marks: it is an id. */
  readonly isQuoted?: boolean;
}

/** A name in quotation marks, and what follows it; undefined if it is none. */
function readQuoted(text: string): Reading | undefined {
  const [, quoted, rest = ''] = /^("(?:[^"\\]|\\.)*")((?:[@~].*)?)$/su.exec(text) ?? [];
  if (quoted === undefined) return undefined;
  try {
    const position = rest === '' ? undefined : rest.startsWith('@') ? rest.slice(1) : `head${rest}`;
    return { name: JSON.parse(quoted) as string, position, isQuoted: true };
  } catch {
    return undefined;
  }
}

/** All ways to split a reference into a run and a position, the longest run first. */
function readingsOf(text: string): readonly Reading[] {
  const quoted = readQuoted(text);
  if (quoted !== undefined) return [quoted];
  const readings: Reading[] = [{ name: text, position: undefined }];
  for (let end = text.length - 1; end > 0; end--) {
    const rest = text.slice(end + 1);
    if (text[end] === '@' && rest !== '' && !rest.includes('@'))
      readings.push({ name: text.slice(0, end), position: rest });
    if (text[end] === '.' && /^[\da-f]{1,16}$/.test(text.slice(0, end)) && /^\d+(~\d*)*$/.test(rest))
      readings.push({ name: text.slice(0, end), position: rest, isKey: true });
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
): Promise<RunRow | undefined> {
  const found = await store.findRuns(tenant, prefix, listedMatches);
  if (found.length < 2) return found[0];
  throw new CairnError('CHECKPOINT_AMBIGUOUS', { reference, matches: found.map(({ runId }) => runId) });
}

async function locate(
  store: Store,
  run: RunRow,
  position: string | undefined,
  reference: string,
): Promise<ResolvedReference> {
  // The newest checkpoint is never pruned.
  if (position === undefined) return { run, seq: run.head };
  const [start = 'head', ...steps] = position.split('~');
  const back = steps.reduce((sum, step) => sum + (step === '' ? 1 : Number(step)), 0);
  const from = await findStart(store, run, start);
  const seq = from === undefined ? -1 : from - back;
  if (from === undefined || !Number.isSafeInteger(seq) || seq < 0 || seq > run.head) {
    throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: reference });
  }
  await requireStored(store, run, seq);
  return { run, seq };
}

/** The seq of the word `head`, of a tag of the run or of an ancestor, or of a number. A tag wins over a number. */
async function findStart(store: Store, run: RunRow, name: string): Promise<number | undefined> {
  if (name === 'head') return run.head;
  for (const part of [...(await readLineage(store, run))].reverse()) {
    const tag = (await store.readTags(part.run)).find((tag) => tag.name === name && tag.seq <= part.upTo);
    if (tag !== undefined) return tag.seq;
  }
  return /^\d{1,15}$/.test(name) ? Number(name) : undefined;
}

/**
 * Checks that a checkpoint was neither pruned nor deleted. @throws CHECKPOINT_PRUNED names the checkpoints that stay, CHECKPOINT_NOT_FOUND
 */
async function requireStored(store: Store, run: RunRow, seq: number): Promise<void> {
  const owner = await readOwner(store, run, seq);
  const [row] = await store.readCheckpoints(owner, { from: seq, to: owner.head, limit: 1 });
  const checkpoint = checkpointId(owner.key, seq);
  if (row?.seq === seq) {
    const isDeleted = (await store.readTags(owner)).some((tag) => tag.seq === seq && isDeletedMark(tag.name));
    if (isDeleted) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint });
    return;
  }
  const isPruned = row !== undefined && (seq < owner.prunedBelow || decodeOrNothing(owner, row)?.fold !== undefined);
  if (!isPruned) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint });
  throw new CairnError('CHECKPOINT_PRUNED', { checkpoint, remains: checkpointId(owner.key, row.seq) });
}
