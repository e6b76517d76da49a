/** The secret port: resolves `secret:NAME` references when an attempt starts. Values are never written. */

/** Values by name; a node gets one through its context, which throws SECRET_MISSING. */
export interface Secrets {
  /** The value, or undefined if the name is not set; a vault answers later. What it throws becomes SECRET_UNAVAILABLE, without its message. */
  read(name: string): string | undefined | Promise<string | undefined>;
  /** Whether the value of a key, as it is written, is redacted before anything is stored, whoever gives it. Quick, and the same each time. */
  redacts(key: string): boolean;
}
