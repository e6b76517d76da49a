/** What a run goes on under, as one text: the hash of a graph and the version that its author gives it. Stores compare it and nothing else. */

/** The code of a graph. */
export function codeOf({ hash, version }: { readonly hash: string; readonly version?: string }): string {
  return version === undefined ? hash : `${hash}@${version}`;
}

/** Any code may go on with a run that has this. */
export const anyCode = '';

/** Reads what {@link codeOf} gives. */
export function readCode(code: string): { readonly hash: string; readonly version?: string } {
  const at = code.indexOf('@');
  return at < 0 ? { hash: code } : { hash: code.slice(0, at), version: code.slice(at + 1) };
}

/** What a row of the index of runs says of it. */
export function codeOfRun({
  code,
  graphHash,
}: {
  readonly code?: string | undefined;
  readonly graphHash: string;
}): string {
  return code ?? graphHash;
}
