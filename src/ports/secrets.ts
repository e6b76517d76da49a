/** The secret port: resolves `secret:NAME` references when an attempt starts. Values are never written to the history. */

/** Secret values by name. Nodes read them through their context, which throws SECRET_MISSING for a name that is not set. */
export interface Secrets {
  /**
   * The value, or undefined if the name is not set. A vault may return a promise. An error thrown here becomes SECRET_UNAVAILABLE, without
   * its message.
   */
  read(name: string): string | undefined | Promise<string | undefined>;
}
