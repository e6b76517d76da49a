/** The secret port: resolves `secret:NAME` references when an attempt starts. Values are never written. */

/** Values by name; a node gets one through its context, which throws SECRET_MISSING. */
export interface Secrets {
  /** The value, or undefined if the name is not set; a vault answers later. What it throws becomes SECRET_UNAVAILABLE, without its message. */
  read(name: string): string | undefined | Promise<string | undefined>;
}
