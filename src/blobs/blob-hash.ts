/** The name of a blob: the sha-256 of its bytes. */

/** 64 hex digits. The module is loaded when first needed, as that takes longer than some commands do. */
export function hashBlob(bytes: Uint8Array): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', bytes, 'hex');
}

/** Whether a text can be the name of a blob; what is not reaches no file. */
export function isBlobHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}
