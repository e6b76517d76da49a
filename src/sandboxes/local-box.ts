/** Sandboxes whose folder is on this machine: the folder, the process that runs a command in it, and its quota. */
import { randomBytes } from 'node:crypto';
import { chown, mkdir, mkdtemp, open, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, sep } from 'node:path';
import { CairnError } from '../errors.ts';
import type { Need } from '../graph/contracts/node-type.ts';
import { holdFolder, readRegularFile } from '../nodes/file/files.ts';
import { runProcess } from '../nodes/shell/run-process.ts';
import type { Sandbox, SandboxCommand, SandboxEnd } from '../ports/sandboxes.ts';
import { removeTree, withAccess, type FolderOwner } from './folder.ts';
import { sizeOfFolder, sizeOfRemoved } from './folder-size.ts';

/** How one kind of sandbox runs a command in a folder. */
export interface LocalBox {
  readonly name: string;
  readonly owner?: FolderOwner;
  /** The program, with all that encloses it. */
  readonly argv: (argv: readonly string[], env: Readonly<Record<string, string>>, command: string) => readonly string[];
  /**
   * Whether the enclosure did not come about, so that the command never began. What was printed cannot tell: a command prints what it
   * likes. It is asked when the program ended with a code other than 0.
   * @param status - what the program wrote to descriptor 3, which the command does not have
   */
  readonly isRefused?: (end: {
    readonly exitCode: number;
    readonly status: string;
    readonly command: string;
  }) => boolean;
  /** The number of the process namespace that the command has for itself, once it is known. */
  readonly namespaceOf?: (status: string) => number | undefined;
  /** Called when a command was killed, for kinds whose processes do not end with the one that was started. */
  readonly onKilled?: (command: string) => Promise<void>;
  readonly onClose?: () => Promise<void>;
}

/** Why there is no sandbox, so that nothing was run. */
export function unavailable(name: string, reason: string, cause?: unknown): CairnError {
  return new CairnError('SANDBOX_UNAVAILABLE', { sandboxes: name, reason }, { cause });
}

/** Says of an error that it came before the command began, so that nobody is asked whether it did. */
export function throwNotBegun(error: unknown): never {
  throw Object.assign(error as Error, { applied: 'no' as const });
}

const prefix = 'cairn-box-';
/** How often the size of a folder is looked at, in milliseconds. */
const watchMs = 100;
/** Folders that this process has tidied. */
const tidied = new Set<string>();

/** Makes a new folder in a place, and a sandbox of it. */
export async function openLocalBox(
  place: string | undefined,
  diskBytes: number,
  make: (folder: string) => Promise<LocalBox> | LocalBox,
): Promise<Sandbox> {
  const parent = place ?? tmpdir();
  await tidy(parent, removeTree);
  const home = await mkdtemp(join(parent, `${prefix}${process.pid}-`));
  const folder = join(home, 'box');
  await mkdir(folder, { mode: 0o755 });
  const box = await make(folder);
  if (box.owner !== undefined) {
    const { uid, gid } = box.owner;
    await chown(home, uid, gid);
    await chown(folder, uid, gid);
  }
  return {
    id: home.slice(home.lastIndexOf(prefix)),
    folder,
    ...(box.owner !== undefined && { owner: box.owner }),
    write: (path, bytes, mode = 0o644) => writeInside(folder, path, bytes, mode, box.owner),
    read: async (path) =>
      readRegularFile(join(folder, path), {
        limitBytes: diskBytes,
        refusesLink: true,
        isGranted: await insideOf(folder),
      }),
    exec: (argv, command) => run(folder, diskBytes, box, argv, command),
    close: async () => {
      await box.onClose?.();
      await removeTree(home);
    },
  };
}

// Commands make links in the folder, so this process opens nothing in it by its path alone.

/** Whether a place is in the folder, by its real path. */
async function insideOf(folder: string): Promise<(need: Need) => boolean> {
  const root = await realpath(folder);
  return (need) => need.kind === 'fs' && (need.path === root || need.path?.startsWith(root + sep) === true);
}

/** Writes a file in the folder. A link of its name is replaced. @throws NodeFailure PERMISSION_DENIED a link leads out of the folder */
async function writeInside(
  folder: string,
  path: string,
  bytes: Uint8Array,
  mode: number,
  owner: FolderOwner | undefined,
): Promise<void> {
  const place = join(folder, path);
  const parent = await holdFolder(dirname(place), await insideOf(folder), 0o755);
  try {
    const at = parent.at(basename(place));
    await rm(at, { force: true });
    const file = await open(at, 'wx', mode);
    try {
      await file.writeFile(bytes);
      if (owner !== undefined) await file.chown(owner.uid, owner.gid);
    } finally {
      await file.close();
    }
  } finally {
    await parent.handle.close();
  }
}

/** The size of a folder in which nothing runs any more: what a command closed to others is opened for the measurement. */
async function sizeAtRest(folder: string): Promise<number> {
  const sizeBytes = await sizeOfFolder(folder);
  return sizeBytes === Number.POSITIVE_INFINITY ? withAccess(folder, () => sizeOfFolder(folder)) : sizeBytes;
}

/** Runs a command until it ends, is aborted, or its folder is larger than it may be. The quota is watched, not enforced: best effort. */
async function run(
  folder: string,
  diskBytes: number,
  box: LocalBox,
  argv: readonly string[],
  { signal, key, env = {}, input, onOutput }: SandboxCommand,
): Promise<SandboxEnd> {
  const command = `cairn-${randomBytes(6).toString('hex')}`;
  const [file = '', ...args] = box.argv(argv, { ...env, CAIRN_IDEMPOTENCY_KEY: key }, command);
  let [stderr, status] = ['', ''];
  const emit: SandboxCommand['onOutput'] = (stream, bytes) => {
    if (stream === 'stderr' && stderr.length < 300) stderr += Buffer.from(bytes).toString();
    onOutput(stream, bytes);
  };
  const quota = new AbortController();
  let isOver = false;
  const isTooLarge = async (): Promise<boolean> => {
    const namespace = box.namespaceOf?.(status);
    const removedBytes = namespace === undefined ? 0 : await sizeOfRemoved(namespace, folder);
    return removedBytes + (await sizeOfFolder(folder)) > diskBytes;
  };
  const watch = async (): Promise<void> => {
    if (isOver) return;
    if (await isTooLarge()) quota.abort();
    else timer = setTimeout(() => void watch(), watchMs);
  };
  let timer = setTimeout(() => void watch(), watchMs);
  try {
    const both = AbortSignal.any([signal, quota.signal]);
    const end = await runProcess({
      file,
      args,
      env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
      ...(input !== undefined && { input }),
      signal: both,
      killGraceMs: 200,
      onOutput: emit,
      onStatus: (bytes) => (status += bytes.toString()),
    });
    isOver = true;
    if (both.aborted) await box.onKilled?.(command);
    const { exitCode } = end;
    if (exitCode !== null && exitCode !== 0 && box.isRefused?.({ exitCode, status, command }) === true)
      throw unavailable(box.name, stderr.trim().split('\n')[0] || `it ended with code ${exitCode}`);
    const isLarge = quota.signal.aborted || (await sizeAtRest(folder)) > diskBytes;
    return { ...end, ...(isLarge && { exceeded: 'disk' }) };
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

/** Removes the folders of sandboxes whose processes are gone, once. */
export async function tidy(parent: string, remove: (path: string) => Promise<void>): Promise<void> {
  if (tidied.has(parent)) return;
  tidied.add(parent);
  for (const name of await readdir(parent).catch(() => [])) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length).split('-')[0]) : Number.NaN;
    if (Number.isSafeInteger(pid) && pid > 0 && !isAlive(pid)) await remove(join(parent, name)).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
