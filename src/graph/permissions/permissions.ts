/** What workflows may use of the machine and the network, as granted by the operator of the process. By default, nothing. */

/** Grants. What is absent is not granted. */
export interface Permissions {
  readonly shell?: boolean;
  /** Hosts (`example.org`, `*.example.org`, `localhost:8080`), or `true` for any. */
  readonly net?: true | readonly string[];
  /** Absolute folders, which include everything below them, or `true` for any path. */
  readonly fs?: true | readonly string[];
  /** Names of environment variables and secrets, or `true` for any. */
  readonly env?: true | readonly string[];
  /** Profiles of language models, models as `provider:name`, or `true` for any. */
  readonly model?: true | readonly string[];
  /** In-memory databases. */
  readonly sqlite?: boolean;
}

/** All permissions, for workflows that the operator chose. */
export const everythingAllowed: Permissions = Object.freeze({
  shell: true,
  net: true,
  fs: true,
  env: true,
  model: true,
  sqlite: true,
});
