/** A file as a value: its bytes are kept beside the state, once, and read when somebody asks for them. */
import { CairnError } from '../errors.ts';

const fileBrand = Symbol.for('cairn.file');

/** Refers to stored bytes. Made by `ctx.files.put` and `engine.files.put`; may stand anywhere in an input, an output, an update, an answer. */
export class FileRef {
  /** sha-256 of the bytes, 64 hex digits. */
  readonly hash: string;
  /** As people call it; no path is made of it. */
  readonly name: string;
  /** Media type: `image/png`. */
  readonly type: string;
  readonly sizeBytes: number;

  /** @throws VALUE_UNSTORABLE a part that is something else than it must be */
  constructor({ hash, name, type, sizeBytes }: Pick<FileRef, 'hash' | 'name' | 'type' | 'sizeBytes'>) {
    const isSound =
      /^[0-9a-f]{64}$/u.test(hash) &&
      typeof name === 'string' &&
      typeof type === 'string' &&
      Number.isSafeInteger(sizeBytes) &&
      sizeBytes >= 0;
    if (!isSound)
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

  /** Known by its brand, so that a reference of one copy of the library is one for another (a bundled command, a user's module). */
  static [Symbol.hasInstance](value: unknown): value is FileRef {
    return typeof value === 'object' && value !== null && fileBrand in value;
  }
}
