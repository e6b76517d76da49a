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
