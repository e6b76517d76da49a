/** A file store inside the run: the bytes are stored once, with the run's history, so that forks, exports and resumes have them. */
import { FileRef } from '../../graph/file-ref.ts';
import type { StateView } from '../../graph/contracts/node-contract.ts';
import { fileFailure } from '../../nodes/file/files.ts';
import type { FileStore, FileStoreContext, OpenFiles, WrittenFile } from '../../ports/file-store.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

/** Files by path: references to stored bytes, texts, or bytes. */
export type InitialFiles = Readonly<Record<string, FileRef | string | Uint8Array>>;

export interface MemoryFilesOptions {
  /** Name of the artifact that holds the files. The agent starts with the files in it and saves its files to it. Default: none. */
  readonly as?: string;
  /** Further files to start with. */
  readonly from?: InitialFiles | ((context: { readonly state: StateView }) => InitialFiles);
  /** Whether images that are read are shown to the model. Default false: it only gets a note about them. */
  readonly showsImages?: boolean;
}

const optionNames = Object.keys({ as: true, from: true, showsImages: true } satisfies Record<
  keyof MemoryFilesOptions,
  true
>);

/** Makes a file store inside the run. No person is asked before writes. */
export function memoryFiles(options: MemoryFilesOptions = {}): FileStore {
  refuseUnknownKeys('memoryFiles', options, optionNames);
  const { as, from = {}, showsImages = false } = options;
  return {
    isShared: false,
    isReadOnly: false,
    showsImages,
    open: (ctx) => {
      const saved = as === undefined ? undefined : ctx.state.artifacts[as];
      const initial = typeof from === 'function' ? from({ state: ctx.state }) : from;
      return new MemoryFiles(ctx, as, { ...initial, ...(isPlainObject(saved) && (saved as InitialFiles)) });
    },
  };
}

class MemoryFiles implements OpenFiles {
  readonly #ctx: FileStoreContext;
  readonly #as: string | undefined;
  readonly #files: Map<string, InitialFiles[string]>;

  constructor(ctx: FileStoreContext, as: string | undefined, initial: InitialFiles) {
    this.#ctx = ctx;
    this.#as = as;
    this.#files = new Map(Object.entries(initial));
  }

  async read(path: string): Promise<Uint8Array> {
    const found = this.#files.get(plainPath(path));
    if (found === undefined) throw fileFailure('FILE_NOT_FOUND', path, 'is not there');
    if (typeof found === 'string') return Buffer.from(found);
    return found instanceof FileRef ? this.#ctx.files.get(found) : found;
  }

  async list(patterns: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    // Loaded on first use: most agents never look for files.
    const { matchPaths } = await import('../../nodes/blocks/files/find-files.ts');
    return matchPaths([...this.#files.keys()], patterns, signal).toSorted();
  }

  /** Nothing to do: the bytes are stored already, and the recorded write is what makes the file exist. */
  async write({ path }: WrittenFile): Promise<void> {
    plainPath(path);
  }

  async reconcile(): Promise<{ readonly happened: false }> {
    return { happened: false };
  }

  take({ path, file }: WrittenFile): void {
    this.#files.set(plainPath(path), file);
  }

  async verify(): ReturnType<OpenFiles['verify']> {
    return { missing: [], changed: [] };
  }

  artifacts(): Readonly<Record<string, unknown>> {
    return this.#as === undefined ? {} : { [this.#as]: Object.fromEntries(this.#files) };
  }
}

/** Normalizes a path, so that each file has one name. @throws NodeFailure PATH_REFUSED the path would lead outside */
function plainPath(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length === 0 || path.startsWith('/') || parts.includes('..'))
    throw fileFailure('PATH_REFUSED', path, 'is no relative path of a file');
  return parts.join('/');
}
