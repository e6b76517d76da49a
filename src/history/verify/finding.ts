/** What `doctor` says of one thing. */

/** One thing that was looked at. */
export interface Finding {
  readonly name: string;
  readonly verdict: 'ok' | 'warning' | 'bad';
  readonly detail: string;
  /** What to do about it. */
  readonly fix?: string;
  /** The code of the error behind it. */
  readonly code?: string;
}
