/** The value codec (C2): what may be stored, how it is taken in, and how it is written. See docs/spec/state.md. */
export { admitValue, maskedText, type Admitted, type CodecLimits, type Redact } from './admit.ts';
export { BlobRef } from './blob-ref.ts';
export { encodeValue } from './encode.ts';
export { decodeJson, reviveValue } from './revive.ts';
export { registerCodec, type ValueCodec } from './value-codec.ts';
