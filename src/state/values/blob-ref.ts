/** Stands in the tree for a value that is kept as a blob (C5). `hash` is its sha-256, 64 hex digits. */
export class BlobRef {
  readonly hash: string;
  readonly sizeBytes: number;
  constructor(hash: string, sizeBytes: number) {
    this.hash = hash;
    this.sizeBytes = sizeBytes;
    Object.freeze(this);
  }

  /** Its encoding, as it stands in deltas and snapshots. */
  get json(): string {
    return `{"$":"blob","hash":${JSON.stringify(this.hash)},"sizeBytes":${this.sizeBytes}}`;
  }
}
