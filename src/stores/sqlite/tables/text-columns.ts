/** Text is written as text and read as bytes: the driver of Node 22 ends a text that it reads at a NUL, which ids may hold. */

/** The column in a list of what to select, under its own name. */
export function asBytes(column: string): string {
  return `cast(${column} as blob) as ${column.slice(column.indexOf('.') + 1)}`;
}

export function readText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
