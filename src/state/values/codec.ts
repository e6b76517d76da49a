/** The value codec (C2): which values can be stored, how they are validated, and how they are written. See docs/spec/state.md. */
export { admitValue, maskedText, type Admitted, type CodecLimits } from './admit.ts';
export { BlobRef, encodeValue, registerCodec } from './values.ts';
export { fileHashesIn, filesIn } from './file-references.ts';
export { decodeJson, reviveValue } from './revive.ts';
