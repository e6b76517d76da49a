/**
 * A run as a folder of files, for people and their tools: a manifest, a checkpoint for each stage that ended, a folder for each visit with
 * prompt, answer and status, artifacts, and all that happened as lines. It is written and never read: nothing that stands there changes a
 * run.
 */
import { existsSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { CairnError } from '../../errors.ts';
import { pipelineOf } from '../../dialects/dot/view/pipeline-view.ts';
import type { StatePlace } from '../../history/access/place.ts';
import type { ResolvedReference } from '../../history/read/references.ts';
import { viewValues } from '../../history/read/checkpoint-view.ts';
import { postMortem } from '../../history/explain/post-mortem.ts';
import type { StoryEntry, StoryVisit } from '../../history/explain/story.ts';
import { walkStates } from '../../history/explain/walk-states.ts';
import { toJson } from '../../operations/contract/to-json.ts';
import { maskedStory } from '../../operations/runs/post-mortem.ts';
import { shown } from '../../state/secrecy/shown-text.ts';

/** What was written. */
export interface RunFolder {
  readonly folder: string;
  readonly checkpoints: number;
  readonly visits: number;
  readonly artifacts: number;
}

export interface RunFolderOptions {
  /** Folders that stages can write: what stands there may be theirs, so none may hold the run's. Default: the working folder. */
  readonly workspaces?: readonly string[];
}

/**
 * @param folder - it must not be there yet, or be empty
 * @throws USAGE_INVALID it is inside a workspace, is not empty, or cannot be written; what reading the history throws
 */
export async function writeRunFolder(
  place: StatePlace,
  found: ResolvedReference,
  folder: string,
  { workspaces = [process.cwd()] }: RunFolderOptions = {},
): Promise<RunFolder> {
  const top = openFolder(folder, workspaces);
  const files = new Files(top);
  const story = maskedStory(await postMortem(place, found));
  const visits = story.entries.filter((entry): entry is StoryVisit => entry.kind === 'visit' && !isInner(entry));
  let checkpoints = 0;
  const events: string[] = [];
  const artifacts = new Set<string>();
  let structure: unknown;
  for await (const { runId, seq, at, change, records } of walkStates(place, found)) {
    events.push(JSON.stringify(toJson(shown({ runId, seq, at, change }))));
    if (records === undefined) continue;
    checkpoints += 1;
    structure = records.structure ?? structure;
    const part = change.findLast(({ kind }) => kind === 'settle' || kind === 'replay');
    const name = `${number(seq)}-${safeName(part?.node?.join('.') ?? 'checkpoint')}.json`;
    const view = pipelineOf(records) ?? {
      runId,
      seq,
      timestamp: at,
      status: records.status,
      ...viewValues(records.frame),
    };
    files.json(['checkpoints', name], view);
    for (const { path, hash } of records.references) if (!isSecret(path)) artifacts.add(hash);
  }
  const folders = new Names();
  for (const visit of visits) writeVisit(files, folders, visit, structure);
  for (const hash of artifacts) await writeArtifact(files, place, found, hash);
  files.write(['events.ndjson'], events.map((line) => `${line}\n`).join(''));
  if (structure !== undefined) files.json(['graph.json'], structure, true);
  const { entries: _entries, ...rest } = story;
  // It comes last: a folder that has one is whole.
  const manifest = { ...rest, goal: goalOf(story.entries), v: 1, checkpoints, visits: visits.length };
  files.json(['manifest.json'], manifest, true);
  return { folder: top, checkpoints, visits: visits.length, artifacts: artifacts.size };
}

function goalOf(entries: readonly StoryEntry[]): string | undefined {
  for (const entry of entries)
    for (const { path, after } of entry.kind === 'visit' ? entry.changes : [])
      if (path[0] === 'scratch' && path[1] === 'graph.goal' && typeof after === 'string') return after;
  return undefined;
}

function isInner({ path }: StoryVisit): boolean {
  return path.at(-1)?.startsWith('__') === true;
}

/** @throws USAGE_INVALID */
function openFolder(folder: string, workspaces: readonly string[]): string {
  const path = resolve(folder);
  const parent = dirname(path);
  if (!existsSync(parent)) throw refused(`there is no folder ${parent}`);
  // What leads elsewhere by links is looked at where it leads.
  const real = existsSync(path) ? realpathSync(path) : join(realpathSync(parent), basename(path));
  for (const workspace of workspaces) {
    const away = relative(realpathSync(workspace), real);
    if (away === '' || !(away === '..' || away.startsWith(`..${sep}`)))
      throw refused(`${folder} is inside ${workspace}, where the stages of a run can write`);
  }
  try {
    mkdirSync(real, { mode: 0o700, recursive: true });
    if (readdirSync(real).length > 0) throw refused(`${folder} is not empty`);
  } catch (error) {
    throw CairnError.is(error) ? error : refused((error as Error).message);
  }
  return real;
}

function refused(reason: string): CairnError {
  return new CairnError('USAGE_INVALID', { reason, hint: 'Name a new folder outside of it, such as ../runs/NAME.' });
}

/** Files for the owner alone; none is written over. */
class Files {
  readonly #top: string;

  constructor(top: string) {
    this.#top = top;
  }

  write(path: readonly string[], content: string | Uint8Array): void {
    const file = join(this.#top, ...path);
    try {
      mkdirSync(dirname(file), { mode: 0o700, recursive: true });
      writeFileSync(file, content, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      throw refused((error as Error).message);
    }
  }

  /** Values under names of secrets are masked. @param isMasked - what an author wrote, or what is masked */
  json(path: readonly string[], value: unknown, isMasked = false): void {
    this.write(path, `${JSON.stringify(toJson(isMasked ? value : shown(value)), null, 2)}\n`);
  }
}

/** Names of which each is used once, also where small and capital letters are the same. */
class Names {
  readonly #counts = new Map<string, number>();

  take(name: string): string {
    const key = name.toLowerCase();
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count === 1 ? name : this.take(`${name}-${count}`);
  }
}

function writeVisit(files: Files, folders: Names, visit: StoryVisit, structure: unknown): void {
  const { seq, path, visit: count, value, retries, status, error, changes, edges, questions, attempts } = visit;
  // Nodes whose visits share a checkpoint may have one name as files: `a b` and `a_b`.
  const folder = ['stages', folders.take(`${number(seq)}-${safeName(path.join('.'))}@${count}`)];
  const { response, ...ending } = (typeof value === 'object' && value !== null ? value : { value }) as {
    readonly response?: unknown;
  };
  files.json([...folder, 'status.json'], { status, attempts, ...ending, error, changes, edges, questions });
  const prompt = promptOf(structure, path);
  if (prompt !== undefined) files.write([...folder, 'prompt.md'], `${prompt}\n`);
  if (typeof response === 'string') files.write([...folder, 'response.md'], `${String(shown(response))}\n`);
  for (const { attempt, step, error: failure, at } of retries)
    files.json([...folder, `attempt-${attempt}${step === undefined ? '' : `-${safeName(step)}`}`, 'status.json'], {
      status: 'failed',
      at,
      error: failure,
    });
}

/** A node of a stored graph, as far as it is read here. */
interface StoredNode {
  readonly id?: unknown;
  readonly subgraph?: { readonly nodes: readonly StoredNode[] };
  readonly config?: { readonly attributes?: { readonly prompt?: unknown } };
}

/** What the file says of the stage. What the model got beside it about the run is not on record. */
function promptOf(structure: unknown, path: readonly string[]): string | undefined {
  let nodes = (structure as { readonly nodes: readonly StoredNode[] } | undefined)?.nodes;
  let found: StoredNode | undefined;
  for (const id of path.filter((_, index) => index % 2 === 0)) {
    found = nodes?.find((node) => node.id === id);
    nodes = found?.subgraph?.nodes;
  }
  const prompt = found?.config?.attributes?.prompt;
  return typeof prompt === 'string' ? prompt : undefined;
}

/** What stands under the name of a secret is not written. */
function isSecret(path: readonly string[]): boolean {
  return (shown({ path, value: true }) as { readonly value: unknown }).value !== true;
}

/** One that is gone is omitted: the folder is of use without it. */
async function writeArtifact(
  files: Files,
  { blobs }: StatePlace,
  { run }: ResolvedReference,
  hash: string,
): Promise<void> {
  try {
    files.write(['artifacts', safeName(hash)], masked(await blobs.get(run.tenant, hash)));
  } catch (error) {
    if (!CairnError.is(error, 'BLOB_NOT_FOUND')) throw error;
  }
}

/** A large value is stored as JSON; what is no JSON is a file, and stays as it is. */
function masked(bytes: Uint8Array): Uint8Array | string {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    const masked = shown(value);
    return masked === value ? bytes : JSON.stringify(masked);
  } catch {
    return bytes;
  }
}

const number = (seq: number): string => String(seq).padStart(6, '0');
const nameMax = 80;

/** A name that is a file's on every system: nothing in it leads elsewhere. */
function safeName(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9_.-]+/g, '_').slice(0, nameMax);
  return /^\.*$/.test(safe) ? '_' : safe;
}
