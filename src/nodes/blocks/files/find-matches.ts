/**
 * Finds the matches of a regular expression from an untrusted author in bounded time. Some expressions take exponential time on some texts.
 */
import { runInNewContext } from 'node:vm';

export interface Match {
  readonly index: number;
  /** The whole match, then its groups. A group that took no part is null. */
  readonly groups: readonly (string | null)[];
  readonly names: Readonly<Record<string, string | null>>;
}

/** Runs in a separate V8 context, the only way to stop a regular expression that is being matched. */
const script = `JSON.stringify([...text.matchAll(new RegExp(pattern, flags))].map((match) => ({
  index: match.index,
  groups: [...match],
  names: Object.fromEntries(Object.entries(match.groups ?? {}).map(([name, group]) => [name, group ?? null])),
})))`;

/** Finds all matches. @param flags - must contain `g`. @throws Error the pattern is invalid, or takes longer than `timeoutMs` */
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
