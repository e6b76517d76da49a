/**
 * A file store over a folder of this machine. Files outside of the folder and git's own files are never read or written, whatever links the
 * folder contains.
 */
import { createHash } from 'node:crypto';
import { relative, sep } from 'node:path';
import { NodeFailure, type Reconciliation, type StateView } from '../../graph/contracts/node-contract.ts';
import type { Computed, OfState } from '../../nodes/draft/computed.ts';
import { fileLimitBytes } from '../../nodes/blocks/files/read-file.ts';
import {
  confinePath,
  type ConfinedPath,
  changeInTurn,
  lookAtTarget,
  writeLocalFile,
  resolveLinks,
  resolveLocalPath,
} from '../../nodes/file/local-path.ts';
import { fileFailure, type IsGranted, readRegularFile } from '../../nodes/file/files.ts';
import { removeLeftovers } from '../../nodes/file/write-atomically.ts';
import type { FileStore, FileStoreContext, OpenFiles, PlannedWrite, WrittenFile } from '../../ports/file-store.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

export interface LocalFilesOptions<S extends StateView = StateView> {
  /** Path of the folder, relative to the working directory of the process. */
  readonly root: Computed<string, S>;
  /** Whether to leave out the tools that write. Default false. */
  readonly isReadOnly?: boolean;
  /** Whether images that are read are shown to the model. Default false: it gets only a description of them. */
  readonly showsImages?: boolean;
}

const optionNames = Object.keys({ root: true, isReadOnly: true, showsImages: true } satisfies Record<
  keyof LocalFilesOptions,
  true
>);

/** Makes a file store over a folder. A person is asked before each write, unless the agent's `allow` says otherwise. */
export function localFiles<S extends StateView = StateView>(options: LocalFilesOptions<S>): FileStore & OfState<S> {
  refuseUnknownKeys('localFiles', options, optionNames);
  return grantedFiles(options, undefined);
}

/** A file store over a folder, each place of which is also checked against grants when it is read or written. */
export function grantedFiles<S extends StateView = StateView>(
  options: LocalFilesOptions<S>,
  isGranted: IsGranted,
): FileStore & OfState<S> {
  const { root, isReadOnly = false, showsImages = false } = options as LocalFilesOptions<never>;
  const rootIn = (state: StateView): string => (typeof root === 'function' ? root({ state: state as never }) : root);
  return {
    isShared: true,
    isReadOnly,
    showsImages,
    open: (ctx) => new LocalFiles(ctx, resolveLocalPath(rootIn(ctx.state)), isGranted),
  };
}

class LocalFiles implements OpenFiles {
  readonly #ctx: FileStoreContext;
  readonly #root: string;
  readonly #isGranted: IsGranted;

  constructor(ctx: FileStoreContext, root: string, isGranted: IsGranted) {
    this.#ctx = ctx;
    this.#root = root;
    this.#isGranted = isGranted;
  }

  async read(path: string): Promise<Uint8Array> {
    const place = await this.#place(path);
    return this.#readAt(place).catch((error: unknown) => {
      throw named(error, place.path, path);
    });
  }

  async list(patterns: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    // Loaded on first use: most agents never look for files.
    const { checkPatterns, findFiles } = await import('../../nodes/blocks/files/find-files.ts');
    const { createIgnoreRules } = await import('../../nodes/blocks/files/ignored-files.ts');
    checkPatterns('patterns', patterns);
    const folder = resolveLinks(this.#root);
    if (this.#isGranted?.({ kind: 'fs', path: folder }) === false)
      throw fileFailure('PERMISSION_DENIED', folder, 'is not granted');
    return findFiles(folder, patterns, createIgnoreRules(folder, [], true), signal);
  }

  async write({ path, file, before }: PlannedWrite, idempotencyKey: string): Promise<void> {
    const place = await this.#place(path);
    const bytes = await this.#ctx.files.get(file);
    await changeInTurn(place.path, async () => {
      await lookAtTarget(place.path);
      if ((await this.#hashAt(place)) !== before)
        throw fileFailure('FILE_CHANGED', path, 'was changed by somebody else: read it again');
      await writeLocalFile({ ...place, bytes, createParents: true, key: idempotencyKey });
    }).catch((error: unknown) => {
      throw named(error, place.path, path);
    });
  }

  async reconcile({ path, file, before }: PlannedWrite, idempotencyKey: string): Promise<Reconciliation> {
    const place = await this.#place(path);
    await removeLeftovers(place, idempotencyKey);
    const now = await this.#hashAt(place);
    if (now === file.hash) return { happened: true, output: { path, file } };
    return { happened: now === before ? false : 'unknown' };
  }

  take(): void {}

  async verify(written: readonly WrittenFile[]): ReturnType<OpenFiles['verify']> {
    const missing: string[] = [];
    const changed: string[] = [];
    for (const [path, hash] of new Map(written.map(({ path, file }) => [path, file.hash]))) {
      const now = await this.#place(path).then((place) => this.#hashAt(place));
      if (now === null) missing.push(path);
      else if (now !== hash) changed.push(path);
    }
    return { missing, changed };
  }

  artifacts(): Readonly<Record<string, unknown>> {
    return {};
  }

  /** Resolves a path within the folder. @throws NodeFailure PATH_REFUSED */
  async #place(path: string): Promise<ConfinedPath> {
    const place = await confinePath(path, this.#root, this.#isGranted);
    const way = relative(resolveLinks(this.#root), place.path).split(sep);
    if (way.some((part) => part.toLowerCase() === '.git')) throw fileFailure('PATH_REFUSED', path, "is git's own");
    return place;
  }

  async #readAt({ path, isGranted }: ConfinedPath): Promise<Buffer> {
    return readRegularFile(path, { limitBytes: fileLimitBytes, isGranted });
  }

  /** SHA-256 of the file at this place; null if there is none. */
  async #hashAt(place: ConfinedPath): Promise<string | null> {
    try {
      return createHash('sha256')
        .update(await this.#readAt(place))
        .digest('hex');
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'ENOENT') return null;
      throw error;
    }
  }
}

/** The failure with the path as the model wrote it. The folder's real path is private, and differs from machine to machine. */
function named(error: unknown, place: string, path: string): unknown {
  if (!(error instanceof NodeFailure)) return error;
  const { message, code, applied } = error;
  return new NodeFailure(message.replaceAll(place, path), { code, applied, data: { path } });
}
