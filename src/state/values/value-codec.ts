import { CairnError } from '../../errors.ts';

/** Says how instances of a class are kept. `name` goes into stored values: never change it. */
export interface ValueCodec {
  readonly name: string;
  readonly isInstance: (value: object) => boolean;
  /** Plain data that says all there is to say of an instance. */
  readonly toData: (value: object) => unknown;
  /** A new instance; it is frozen and handed to nodes. */
  readonly fromData: (data: unknown) => object;
}

const codecs = new Map<string, ValueCodec>();

/** Makes instances of a class storable (C2). The first registration of a name stays; the same codec again is ignored. @throws CONFIG_INVALID the name is taken */
export function registerCodec(codec: ValueCodec): void {
  const known = codecs.get(codec.name);
  if (known !== undefined && known !== codec) {
    throw new CairnError('CONFIG_INVALID', { path: codec.name, reason: 'another value codec has this name' });
  }
  codecs.set(codec.name, codec);
}

/** The codec that keeps instances like this one. */
export function findCodec(value: object): ValueCodec | undefined {
  for (const codec of codecs.values()) if (codec.isInstance(value)) return codec;
  return undefined;
}

/** @throws VALUE_UNSTORABLE no codec of this name is registered in this process */
export function requireCodec(name: unknown): ValueCodec {
  const codec = typeof name === 'string' ? codecs.get(name) : undefined;
  if (codec !== undefined) return codec;
  throw new CairnError('VALUE_UNSTORABLE', { reason: `no value codec named ${JSON.stringify(name)} is registered` });
}
