/** A transport at work. */
export interface Serving {
  /** Where clients connect; undefined: standard input and output. */
  readonly url: string | undefined;
  /** Resolves when the only client there can be has gone, or it is closed. */
  readonly ended: Promise<void>;
  /** Says to all clients that the list of resources is another. */
  announceResources(): void;
  close(): Promise<void>;
}
