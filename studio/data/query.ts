/** What panels show of the server: each is loaded, shown, refreshed and can fail by itself. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ask, Problem } from './api.ts';

export interface Loaded<T> {
  /** The last answer, also while a newer one is awaited. */
  readonly data: T | undefined;
  readonly problem: Problem | undefined;
  /** Whether an answer to what is asked now is still to come. */
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Answers by path, so that going back shows at once what was there. The newest few are kept. */
const seen = new Map<string, unknown>();
const seenMax = 60;

function remember(path: string, data: unknown): void {
  seen.delete(path);
  seen.set(path, data);
  for (const oldest of seen.keys()) if (seen.size > seenMax) seen.delete(oldest);
}

interface Shown<T> {
  readonly path: string | undefined;
  readonly data?: T;
  readonly problem?: Problem;
  readonly isLoading: boolean;
}

export interface LoadOptions {
  /** Asked again so often, while the page is seen. */
  readonly everyMs?: number;
  /** Asked again when this changes, such as the head of a run that is watched. */
  readonly version?: unknown;
  /** Whether what was shown for another path stays until the answer is there. */
  readonly keepsOld?: boolean;
}

/** @param path - undefined: nothing is asked */
export function useLoaded<T>(
  path: string | undefined,
  { everyMs, version, keepsOld = false }: LoadOptions = {},
): Loaded<T> {
  const [shown, setShown] = useState<Shown<T>>(() => ({
    path,
    isLoading: path !== undefined,
    ...(path !== undefined && seen.has(path) && { data: seen.get(path) as T }),
  }));
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  const latest = useRef(path);
  latest.current = path;
  useEffect(() => {
    if (path === undefined) return undefined;
    const leaving = new AbortController();
    setShown((old) => {
      const data = seen.has(path) ? (seen.get(path) as T) : old.path === path || keepsOld ? old.data : undefined;
      return { path, isLoading: true, ...(data !== undefined && { data }) };
    });
    ask<T>(path, { signal: leaving.signal }).then(
      (data) => {
        remember(path, data);
        if (!leaving.signal.aborted) setShown({ path, data, isLoading: false });
      },
      (error: unknown) => {
        if (leaving.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, String(error));
        setShown((old) => ({ path, isLoading: false, problem, ...(old.data !== undefined && { data: old.data }) }));
      },
    );
    return () => leaving.abort();
  }, [path, version, round, keepsOld]);
  useEffect(() => {
    if (everyMs === undefined || path === undefined) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, everyMs);
    const look = (): void => {
      if (!document.hidden) reload();
    };
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [everyMs, path, reload]);
  const isSame = shown.path === path;
  return {
    data: isSame || keepsOld ? shown.data : path !== undefined ? (seen.get(path) as T | undefined) : undefined,
    problem: isSame ? shown.problem : undefined,
    isLoading: shown.isLoading || !isSame,
    reload,
  };
}
