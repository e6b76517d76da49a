/** A file as a value: a reference to bytes, which are stored once, outside of the state, and read on demand. */
import { CairnError } from '../errors.ts';

const fileBrand = Symbol.for('cairn.file');

/**
 * A reference to stored bytes, made by `ctx.files.put` and `engine.files.put`. It may stand anywhere in an input, an output, an update or
 * an answer.
 */
export class FileRef {
  /** SHA-256 of the bytes, as 64 hex digits. */
  readonly hash: string;
  /** Name of the file for people. It is never used as a path. */
  readonly name: string;
  /** Media type, such as `image/png`. */
  readonly type: string;
  readonly sizeBytes: number;

  /** @throws VALUE_UNSTORABLE a field has the wrong type or form */
  constructor({ hash, name, type, sizeBytes }: Pick<FileRef, 'hash' | 'name' | 'type' | 'sizeBytes'>) {
    const isValid =
      /^[0-9a-f]{64}$/u.test(hash) &&
      typeof name === 'string' &&
      typeof type === 'string' &&
      Number.isSafeInteger(sizeBytes) &&
      sizeBytes >= 0;
    if (!isValid)
      throw new CairnError('VALUE_UNSTORABLE', { reason: 'a file reference has hash, name, type, sizeBytes' });
    this.hash = hash;
    this.name = name;
    this.type = type;
    this.sizeBytes = sizeBytes;
    Object.freeze(this);
  }

  static {
    Object.defineProperty(this.prototype, fileBrand, { value: true });
  }

  /**
   * Tests for a brand rather than the class, so that a reference made by another copy of the library is recognised (a bundled command
   * running a user's module).
   */
  static [Symbol.hasInstance](value: unknown): value is FileRef {
    return typeof value === 'object' && value !== null && fileBrand in value;
  }
}
