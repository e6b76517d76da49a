/** Reads byte columns. One bit of a file says whether a value is bytes, a text or a number, so a damaged file may give any of them. */

/** A column as bytes. What a damaged file gives instead becomes bytes that fit no checksum, and is then told like any other damage. */
export function bytesOf(column: Uint8Array): Uint8Array {
  return column instanceof Uint8Array ? column : Buffer.from(String(column));
}
