/** The file store port: the files that an agent works on. What it writes is on record as references to stored bytes, each stored once. */
import type { FileRef } from '../graph/file-ref.ts';
import type { NodeContext, Reconciliation } from '../graph/contracts/node-contract.ts';

/** What a store is told of the attempt that opens it. */
export type FileStoreContext = Pick<NodeContext, 'files' | 'state'>;

/** A file as it was written. */
export interface WrittenFile {
  /** As it was given: relative, with `/`. */
  readonly path: string;
  readonly file: FileRef;
}

/** A write that is about to happen. */
export interface PlannedWrite extends WrittenFile {
  /** sha-256 of what is there now; null: nothing is. */
  readonly before: string | null;
}

/** Files as one attempt of a node sees them. Failures are NodeFailures that say that nothing happened, unless said otherwise. */
export interface OpenFiles {
  /** @throws NodeFailure FILE_NOT_FOUND, FILE_TOO_LARGE, NOT_A_FILE, PATH_REFUSED, or a code of the operating system */
  read(path: string): Promise<Uint8Array>;
  /** Paths that a pattern such as `src/*.ts` names, sorted. */
  list(patterns: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
  /** Puts a file in its place, whole. @throws NodeFailure FILE_CHANGED it is no longer what it was when the write was planned */
  write(planned: PlannedWrite, idempotencyKey: string): Promise<void>;
  /** Whether a write in doubt happened. */
  reconcile(planned: PlannedWrite, idempotencyKey: string): Promise<Reconciliation>;
  /** Told of each write in order, also of those on record when a function is repeated. */
  take(written: WrittenFile): void;
  /** Of files as they were written: those that are gone, and those that are others now. */
  verify(
    written: readonly WrittenFile[],
  ): Promise<{ readonly missing: readonly string[]; readonly changed: readonly string[] }>;
  /** What the node's outcome writes into the artifacts. */
  artifacts(): Readonly<Record<string, unknown>>;
}

/** Where an agent's files are. */
export interface FileStore {
  /** Whether others see what is written: then a person is asked before. */
  readonly isShared: boolean;
  /** Whether nothing may be written. */
  readonly isReadOnly: boolean;
  /** Whether images that are read are shown to the model, which must be able to look at them. */
  readonly showsImages: boolean;
  open(ctx: FileStoreContext): OpenFiles;
}
