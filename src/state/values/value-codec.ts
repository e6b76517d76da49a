/** References to blobs, and codecs of classes that users register. */
import { CairnError } from '../../errors.ts';

/**
 * Stands in the tree for a value stored as a blob (C5). `hash` is its SHA-256 as 64 hex digits. `files` are the hashes of files that the
 * value refers to, so that references can be counted without reading it.
 */
export class BlobRef {
  readonly hash: string;
  readonly sizeBytes: number;
  readonly files: readonly string[];
  constructor(hash: string, sizeBytes: number, files: readonly string[] = []) {
    this.hash = hash;
    this.sizeBytes = sizeBytes;
    this.files = files;
    Object.freeze(this);
  }

  /** The tag that JSON.stringify writes for it. */
  get tag(): object {
    const { hash, sizeBytes, files } = this;
    return { $: 'blob', hash, sizeBytes, ...(files.length > 0 && { files }) };
  }

  /** Its JSON text in deltas and snapshots. */
  get json(): string {
    return JSON.stringify(this.tag);
  }
}

/** How instances of a class are stored. `name` is part of stored values: never change it. */
export interface ValueCodec {
  readonly name: string;
  readonly isInstance: (value: object) => boolean;
  /** Converts an instance to plain data that describes it completely. */
  readonly toData: (value: object) => unknown;
  /** Makes a new instance, which is then frozen and passed to nodes. */
  readonly fromData: (data: unknown) => object;
}

const codecs = new Map<string, ValueCodec>();

/**
 * Makes instances of a class storable (C2). Registering the same codec again has no effect. @throws CONFIG_INVALID another codec has this
 * name
 */
export function registerCodec(codec: ValueCodec): void {
  const known = codecs.get(codec.name);
  if (known !== undefined && known !== codec) {
    throw new CairnError('CONFIG_INVALID', { path: codec.name, reason: 'another value codec has this name' });
  }
  codecs.set(codec.name, codec);
}

/** The codec for instances like this one; undefined if there is none. */
export function findCodec(value: object): ValueCodec | undefined {
  for (const codec of codecs.values()) if (codec.isInstance(value)) return codec;
  return undefined;
}

/** The codec with this name. @throws VALUE_UNSTORABLE none is registered in this process */
export function requireCodec(name: unknown): ValueCodec {
  const codec = typeof name === 'string' ? codecs.get(name) : undefined;
  if (codec !== undefined) return codec;
  throw new CairnError('VALUE_UNSTORABLE', { reason: `no value codec named ${JSON.stringify(name)} is registered` });
}
