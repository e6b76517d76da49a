/** When a failed attempt of a node or step is tried again (X3.3). */

/** How often, and after which delays. */
export interface RetryPolicy {
  /** Number of attempts in all, the first included. Default 1: no retry. */
  readonly attempts: number;
  /** How the delay grows from attempt to attempt. Default `exponential`. */
  readonly backoff?: 'fixed' | 'linear' | 'exponential';
  /** Factor by which an exponential delay grows with each attempt, at least 1. Default 2. */
  readonly factor?: number;
  /** Delay before the second attempt, in milliseconds. Default 1,000. */
  readonly delayMs?: number;
  /** Longest delay in milliseconds, before jitter. Default 60,000. */
  readonly delayMsMax?: number;
  /** Largest random change of a delay, as a share of it: 0 to 1. It spreads out attempts that failed at the same moment. Default 0. */
  readonly jitter?: number;
  /** Error codes to retry. Default: all. */
  readonly on?: readonly string[];
  /**
   * Decides about a failure that the rest of the policy would retry. Anything but true means no retry, and so does an error that it throws.
   * As code, it is covered by `codeHash`. A yes is recorded with the retry, and the function is not called again for it after a crash.
   */
  readonly when?: (failure: RetryFailure) => boolean;
}

/** A failed attempt, as a retry policy sees it. */
export interface RetryFailure {
  /** The value that was thrown. */
  readonly error: unknown;
  /** The error's code; if it has none, its name. */
  readonly code: string;
  /** The attempt that failed, counted from 1. */
  readonly attempt: number;
}
