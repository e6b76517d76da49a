/** The secret port: resolves `secret:NAME` references when an attempt starts. Values are never written. */

/** Values by name; a node gets one through its context, which throws SECRET_MISSING. */
export interface Secrets {
  /** The value, or undefined if the name is not set. */
  read(name: string): string | undefined;
  /** Names matched against keys of values before anything is written; their values are redacted. Exact names, lower case. */
  readonly redactedKeys: ReadonlySet<string>;
}
