/**
 * Stands in the tree for a value that is kept as a blob (C5). `hash` is its sha-256, 64 hex digits. `files` are the hashes of the files
 * that the value names: whoever counts references need not read it.
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

  /** What JSON.stringify writes as its encoding. */
  get tag(): object {
    const { hash, sizeBytes, files } = this;
    return { $: 'blob', hash, sizeBytes, ...(files.length > 0 && { files }) };
  }

  /** Its encoding, as it stands in deltas and snapshots. */
  get json(): string {
    return JSON.stringify(this.tag);
  }
}
