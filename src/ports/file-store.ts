/** The file store port: the files that an agent works on. Written files are recorded as references to stored bytes, each content once. */
import type { FileRef } from '../graph/file-ref.ts';
import type { NodeContext, Reconciliation } from '../graph/contracts/node-contract.ts';

/** What a store receives from the attempt that opens it. */
export type FileStoreContext = Pick<NodeContext, 'files' | 'state'>;

/** A file that was written. */
export interface WrittenFile {
  /** The path as the caller wrote it: relative, with `/`. */
  readonly path: string;
  readonly file: FileRef;
}

/** A write that is about to happen, as it is recorded before. */
export interface PlannedWrite extends WrittenFile {
  /** SHA-256 of the file that is there now; null if there is none. */
  readonly before: string | null;
}

/** The files as one attempt of a node sees them. Its NodeFailures say `applied: 'no'` unless stated otherwise. */
export interface OpenFiles {
  /** Reads a file. @throws NodeFailure FILE_NOT_FOUND, FILE_TOO_LARGE, NOT_A_FILE, PATH_REFUSED, or a code of the operating system */
  read(path: string): Promise<Uint8Array>;
  /** Sorted paths of the files that match patterns such as `src/*.ts`. */
  list(patterns: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
  /** Writes a whole file. @throws NodeFailure FILE_CHANGED the file has changed since the write was planned */
  write(planned: PlannedWrite, idempotencyKey: string): Promise<void>;
  /** Finds out whether a write in doubt happened. */
  reconcile(planned: PlannedWrite, idempotencyKey: string): Promise<Reconciliation>;
  /** Called for each recorded write in order, also when a function is repeated, so that the store knows what was written. */
  take(written: WrittenFile): void;
  /** Compares written files with those that are there now. Returns the paths of files that are gone and of files that have changed. */
  verify(
    written: readonly WrittenFile[],
  ): Promise<{ readonly missing: readonly string[]; readonly changed: readonly string[] }>;
  /** The artifacts that the node's outcome writes. */
  artifacts(): Readonly<Record<string, unknown>>;
}

/** The place where an agent's files are. */
export interface FileStore {
  /** Whether others see what is written. If so, a person is asked before each write. */
  readonly isShared: boolean;
  /** Whether writing is refused. */
  readonly isReadOnly: boolean;
  /** Whether an image that is read is shown to the model. The model must accept images. */
  readonly showsImages: boolean;
  open(ctx: FileStoreContext): OpenFiles;
}
