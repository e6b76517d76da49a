/** A running transport. */
export interface Serving {
  /** URL for clients; undefined for stdin and stdout. */
  readonly url: string | undefined;
  /** Resolves when the transport has ended: its only client is gone, or it was closed. */
  readonly ended: Promise<void>;
  /** Notifies all clients that the list of resources has changed. */
  announceResources(): void;
  close(): Promise<void>;
}
