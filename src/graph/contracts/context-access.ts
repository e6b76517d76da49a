/** What a node's context gives access to: secrets, blobs, files, and what earlier attempts of the visit recorded. */
import type { FileRef } from '../file-ref.ts';

/**
 * What earlier attempts of this visit recorded. It is empty in a first attempt and not in a repeated one, so use it only to check a
 * function, never to decide what the function does (P1).
 */
export interface VisitPast {
  /** Whether the run is a fork. A fork's function may make other calls than those on record; they count as new ones. */
  readonly isFork: boolean;
  /** Steps by their names, in the order in which they were recorded. */
  steps(): readonly PastStep[];
  /** What is recorded of the next call with this name: a step, or a question, open or answered. Undefined: neither. */
  kindOf(name: string): 'step' | 'question' | undefined;
  /** Whether the next call with this name is on record: in this visit, or in a fork in that of an ancestor behind the fork point. */
  isRecorded(name: string): boolean;
  /** Whether this attempt has made all calls that are on record of this visit, child runs among them, so that what it calls next is new. */
  isAllMade(): boolean;
  /** Names of all recorded calls: steps, questions, timers, signals and child runs. */
  names(): ReadonlySet<string>;
  /**
   * Says that this attempt does not repeat the recorded calls of some names, because it knows how they ended. They then count as made: a
   * later call of such a name is the next one, and `ctx.retire` retires them too.
   */
  passOver(isPassed: (name: string) => boolean): void;
}

/** A recorded step. `started` means that its end was not recorded. */
export interface PastStep {
  readonly name: string;
  readonly status: 'started' | 'done' | 'failed';
  readonly output?: unknown;
}

/**
 * Resolves references to secrets when an attempt starts. Values are never written to the history. The run remembers the names, and a resume
 * resolves them before anything else.
 */
export interface SecretReader {
  /** @throws SECRET_MISSING the name is not set; SECRET_UNAVAILABLE the source of secrets failed */
  get(name: string): Promise<string>;
  /**
   * Names and values of the secrets that the run has resolved so far, of 8 or more characters, so that they can be masked in text from
   * outside.
   */
  known?(): Iterable<readonly [name: string, value: string]>;
}

/** Stores bytes by their content hash, each once per tenant. */
export interface BlobAccess {
  put(bytes: Uint8Array): Promise<string>;
  get(hash: string): Promise<Uint8Array>;
}

/** Stores files by their content hash, each once per tenant. The reference returned may stand anywhere in a value. */
export interface FileAccess {
  /** @param about.type - media type. Default `application/octet-stream` */
  put(bytes: Uint8Array, about: { readonly name: string; readonly type?: string }): Promise<FileRef>;
  /** @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
  get(file: FileRef): Promise<Uint8Array>;
}
