/** What `cairn doctor` reports about one thing. */

/** One thing that was examined. */
export interface Finding {
  readonly name: string;
  readonly verdict: 'ok' | 'warning' | 'bad';
  readonly detail: string;
  /** What to do about it. */
  readonly fix?: string;
  /** Code of the error that was found. */
  readonly code?: string;
}
