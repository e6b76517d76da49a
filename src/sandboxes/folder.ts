/** The folder of a sandbox: what is in it as a manifest, what a command changed, and the folder made equal to a manifest (SB2). */
import { execFile } from 'node:child_process';
import { chmod, lchown, lstat, mkdir, open, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { constants } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FileAccess } from '../graph/contracts/access.ts';
import { NodeFailure } from '../graph/contracts/node-contract.ts';
import type { FileRef } from '../graph/file-ref.ts';
import { setOwn } from '../state/values/plain-object.ts';

/** What stands at a path: a file, a folder, or a link. Modes are permissions only; owners and times are not recorded. */
export type FolderEntry =
  | { readonly file: FileRef; readonly mode: number }
  | { readonly folder: number }
  | { readonly link: string };

/** The content of a folder, by path. Parents stand before what is in them. */
export type Manifest = ReadonlyMap<string, FolderEntry>;

/** What a command changed: an entry by path, or null for what it removed. */
export type FolderChanges = Readonly<Record<string, FolderEntry | null>>;

/** The manifest after some changes. */
export function withChanges(before: Manifest, changes: FolderChanges): Manifest {
  const after = new Map(before);
  for (const [path, entry] of Object.entries(changes))
    if (entry === null) after.delete(path);
    else after.set(path, entry);
  return sorted(after);
}

const sorted = (entries: ReadonlyMap<string, FolderEntry>): Manifest =>
  new Map([...entries].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));

/** @throws NodeFailure ARGUMENT_INVALID a path that leads out of the folder, or through a link or a file of it */
export function checkPath(path: unknown, manifest: Manifest): string {
  const parts = typeof path === 'string' ? path.split('/') : [];
  const isPlain =
    parts.length > 0 && parts.every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'));
  if (!isPlain) refuse(`${JSON.stringify(path)} is no path inside the sandbox: write it as a/b.txt`);
  for (let depth = 1; depth < parts.length; depth += 1) {
    const parent = parts.slice(0, depth).join('/');
    const entry = manifest.get(parent);
    if (entry !== undefined && !('folder' in entry)) refuse(`${parent} is no folder`);
  }
  const at = manifest.get(path as string);
  if (at !== undefined && 'folder' in at) refuse(`${String(path)} is a folder`);
  return path as string;
}

function refuse(reason: string): never {
  throw new NodeFailure(reason, { code: 'ARGUMENT_INVALID', applied: 'no' });
}

/** The manifest with one more file, and the folders that it is in. */
export function withFile(manifest: Manifest, path: string, file: FileRef, mode: number): FolderChanges {
  const parts = checkPath(path, manifest).split('/');
  const parents = parts.slice(0, -1).map((_, depth) => parts.slice(0, depth + 1).join('/'));
  const missing = parents.filter((parent) => !manifest.has(parent));
  return { ...Object.fromEntries(missing.map((parent) => [parent, { folder: 0o755 }])), [path]: { file, mode } };
}

/** Whom the folder belongs to, if that is not this process's user. */
export interface FolderOwner {
  readonly uid: number;
  readonly gid: number;
}

/** Empties a folder, and fills it with what the manifest says. Links are never followed. No command may run in it meanwhile. */
export async function makeEqual(
  folder: string,
  manifest: Manifest,
  files: FileAccess,
  owner?: FolderOwner,
): Promise<void> {
  // A command may have closed it to itself, and so to this process if both are one user.
  await chmod(folder, 0o755);
  for (const name of await readdir(folder)) await removeTree(join(folder, name));
  const own = async (path: string): Promise<void> => owner && (await lchown(path, owner.uid, owner.gid));
  const folders: (readonly [string, number])[] = [];
  for (const [name, entry] of manifest) {
    const path = join(folder, name);
    if ('folder' in entry) {
      await mkdir(path);
      folders.push([path, entry.folder]);
    } else if ('link' in entry) await symlink(entry.link, path);
    else {
      const bytes = await files.get(entry.file);
      const handle = await open(
        path,
        constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
        0o600,
      );
      try {
        await handle.writeFile(bytes);
        await handle.chmod(entry.mode);
      } finally {
        await handle.close();
      }
    }
    await own(path);
  }
  for (const [path, mode] of folders.toReversed()) await chmod(path, mode);
}

const execute = promisify(execFile);

/**
 * Removes what a command left, however deep it is and whatever permissions it has: the system's own tools go down folder by folder, where a
 * path would be too long.
 */
export async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() =>
    execute('/bin/sh', ['-c', 'chmod -R u+rwX -- "$1" 2>/dev/null; exec rm -rf -- "$1"', 'sh', path]),
  );
}

/** Does work with a folder in which no process runs any more, all of it readable meanwhile, and then as it was. */
export async function withAccess<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const closed: (readonly [path: string, mode: number])[] = [];
  const openUp = async (path: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true }).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EACCES') return [];
      const { mode } = await lstat(path);
      closed.push([path, mode & 0o7777]);
      await chmod(path, 0o700);
      return readdir(path, { withFileTypes: true });
    });
    for (const entry of entries) if (entry.isDirectory()) await openUp(join(path, entry.name));
  };
  await openUp(folder);
  try {
    return await work();
  } finally {
    for (const [path, mode] of closed.toReversed()) await chmod(path, mode);
  }
}

const nameInvalid = (message: string): NodeFailure => new NodeFailure(message, { code: 'SANDBOX_NAME_INVALID' });

interface Found {
  readonly name: string;
  readonly path: string;
  readonly stat: Awaited<ReturnType<typeof lstat>>;
}

/** Everything in a folder, parents first. Folders that may not be read are made readable. */
async function* walk(folder: string, prefix = ''): AsyncGenerator<Found, void, undefined> {
  const names = await readdir(folder, { encoding: 'buffer' }).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENAMETOOLONG')
      throw nameInvalid(`the path ${prefix.slice(0, 100)}… in the sandbox is too long`);
    if (error.code !== 'EACCES') throw error;
    await chmod(folder, 0o700);
    return readdir(folder, { encoding: 'buffer' });
  });
  for (const bytes of names.toSorted((a, b) => Buffer.compare(a, b))) {
    const own = bytes.toString('utf8');
    if (!Buffer.from(own).equals(bytes))
      throw nameInvalid(`a file in ${prefix || 'the sandbox'} has a name that is no UTF-8`);
    const path = join(folder, own);
    const name = prefix === '' ? own : `${prefix}/${own}`;
    const stat = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENAMETOOLONG')
        throw nameInvalid(`the path ${name.slice(0, 100)}… in the sandbox is too long`);
      throw error;
    });
    yield { name, path, stat };
    if (stat.isDirectory()) yield* walk(path, name);
  }
}

/**
 * What a command changed since the manifest. Contents are stored as files of the run.
 * @param maxBytes - of all contents that changed, together
 * @returns undefined: more changed
 * @throws NodeFailure SANDBOX_NAME_INVALID
 */
export async function changesIn(
  folder: string,
  before: Manifest,
  files: FileAccess,
  maxBytes: number,
): Promise<FolderChanges | undefined> {
  const changes: Record<string, FolderEntry | null> = {};
  const seen = new Set<string>();
  let changedBytes = 0;
  for await (const { name, path, stat } of walk(folder)) {
    const mode = Number(stat.mode) & 0o777;
    const known = before.get(name);
    let entry: FolderEntry;
    if (stat.isDirectory()) entry = { folder: mode };
    else if (stat.isSymbolicLink()) entry = { link: await readlink(path) };
    else if (stat.isFile()) {
      const size = Number(stat.size);
      if (changedBytes + size > maxBytes && !(known !== undefined && 'file' in known && known.file.sizeBytes === size))
        return undefined;
      const bytes = await readBytes(path, mode);
      const file = await files.put(bytes, { name });
      entry = { file, mode };
      if (!isSame(known, entry)) changedBytes += size;
      if (changedBytes > maxBytes) return undefined;
      // Pipes, sockets and devices have no content to keep.
    } else continue;
    seen.add(name);
    if (!isSame(known, entry)) setOwn(changes, name, entry);
  }
  for (const name of before.keys()) if (!seen.has(name)) setOwn(changes, name, null);
  return changes;
}

async function readBytes(path: string, mode: number): Promise<Uint8Array> {
  const read = async (): Promise<Uint8Array> => {
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return await handle.readFile();
    } finally {
      await handle.close();
    }
  };
  return read().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EACCES') throw error;
    await chmod(path, mode | 0o400);
    return read();
  });
}

function isSame(one: FolderEntry | undefined, other: FolderEntry): boolean {
  if (one === undefined) return false;
  if ('file' in one) return 'file' in other && one.mode === other.mode && one.file.hash === other.file.hash;
  if ('folder' in one) return 'folder' in other && one.folder === other.folder;
  return 'link' in other && one.link === other.link;
}
