/** Reads text columns as bytes, because Node 22's driver cuts a text at a NUL character, which ids may contain. */

/** A column as bytes under its own name, for a list of columns to select. */
export function asBytes(column: string): string {
  return `cast(${column} as blob) as ${column.slice(column.indexOf('.') + 1)}`;
}

/** A damaged file may give nothing in place of a text. */
export function readText(bytes: Uint8Array | null): string {
  if (bytes === null) return '';
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
