/** The value codec (C2): what may be stored, how it is taken in, and how it is written. See docs/spec/state.md. */
export { admitValue, maskedText, type Admitted, type CodecLimits } from './admit.ts';
export { BlobRef } from './blob-ref.ts';
export { encodeValue } from './encode.ts';
export { fileHashesIn, filesIn } from './file-references.ts';
export { decodeJson, reviveValue } from './revive.ts';
export { registerCodec } from './value-codec.ts';
