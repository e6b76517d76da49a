/** Finds the matches of an expression that anybody wrote, in bounded time: some expressions take ages on some texts. */
import { runInNewContext } from 'node:vm';

export interface Match {
  readonly index: number;
  /** The match, then its groups; null for one that took no part. */
  readonly groups: readonly (string | null)[];
  readonly names: Readonly<Record<string, string | null>>;
}

/** Only here can a running expression be stopped: it is the engine's own code, which heeds no signal. */
const script = `JSON.stringify([...text.matchAll(new RegExp(pattern, flags))].map((match) => ({
  index: match.index,
  groups: [...match],
  names: Object.fromEntries(Object.entries(match.groups ?? {}).map(([name, group]) => [name, group ?? null])),
})))`;

/** @param flags - `g` must be one of them. @throws Error with the reason: the pattern is none, or it takes longer than `timeoutMs` */
export function findMatches(text: string, pattern: string, flags: string, timeoutMs: number): readonly Match[] {
  try {
    return JSON.parse(runInNewContext(script, { text, pattern, flags }, { timeout: timeoutMs }) as string) as Match[];
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    throw new Error(code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? `the pattern takes over ${timeoutMs} ms` : message, {
      cause: error,
    });
  }
}
