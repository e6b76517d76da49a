/** What workflows may reach for: granted by whoever runs the process, least by default. */

/** Grants. A grant that is absent is withheld. */
export interface Permissions {
  readonly shell?: boolean;
  /** Hosts (`example.org`, `*.example.org`, `localhost:8080`); `true`: any. */
  readonly net?: true | readonly string[];
  /** Absolute folders, with what is below them; `true`: anywhere. */
  readonly fs?: true | readonly string[];
  /** Names of environment variables and secrets; `true`: any. */
  readonly env?: true | readonly string[];
  /** Profiles of language models, or models as `provider:name`; `true`: any. */
  readonly model?: true | readonly string[];
  /** Databases in memory. */
  readonly sqlite?: boolean;
}

/** Everything: for workflows that the operator chose. */
export const everythingAllowed: Permissions = Object.freeze({
  shell: true,
  net: true,
  fs: true,
  env: true,
  model: true,
  sqlite: true,
});
