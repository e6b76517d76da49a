/** Places in JSON values (RFC 6901), and what is wrong there. */

/** One fault of a value. */
export interface Fault {
  /** JSON Pointer to what is at fault, such as `/parts/0`; `` for the whole value. */
  readonly pointer: string;
  /** What is wrong with it, without its name: `is missing`. */
  readonly message: string;
}

/** The JSON Pointer of keys, from the outermost. */
export const pointerTo = (keys: readonly string[]): string =>
  keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
