/** What panels show of the server: each is loaded, shown, refreshed and can fail by itself. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Problem, send, type RequestOptions } from './api.ts';

export interface Loaded<T> {
  /** The last answer, also while a newer one is awaited. */
  readonly data: T | undefined;
  readonly problem: Problem | undefined;
  /** Whether the response to the present request is pending. */
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface Answer {
  /** As it was sent: an equal answer is the same object, so that nothing is drawn anew. */
  readonly text: string;
  readonly data: unknown;
}

/** Responses by request, so that going back shows at once what was there. Only the newest few are cached, and never much text. */
const seen = new Map<string, Answer>();
const seenMax = 60;
const seenChars = 4_000_000;
let chars = 0;

function remember(key: string, text: string): unknown {
  const old = seen.get(key);
  const answer = old?.text === text ? old : { text, data: JSON.parse(text) as unknown };
  seen.delete(key);
  seen.set(key, answer);
  chars += text.length - (old?.text.length ?? 0);
  for (const [oldest, { text: dropped }] of seen) {
    if (seen.size <= seenMax && chars <= seenChars) break;
    seen.delete(oldest);
    chars -= dropped.length;
  }
  return answer.data;
}

/** Number of requests that have had no response yet. */
let awaited = 0;
/** Nobody waits for longer: a page whose responses come late is then seen as it grows. */
const arrivalMsMax = 5_000;
/** After the last answer: what it shows may ask for more. */
const quietFrames = 3;

/** Says that something is requested for the first time. @returns to be called at the response; a second call has no effect */
export function awaitFirst(): () => void {
  awaited += 1;
  let isAwaited = true;
  return () => {
    if (isAwaited) awaited -= 1;
    isAwaited = false;
  };
}

/**
 * Whether the first answers of a page are there. Before, it is not shown: what comes one after the other would push away what is being
 * read.
 */
export function useArrived(): boolean {
  const [hasArrived, setArrived] = useState(false);
  useEffect(() => {
    let quiet = 0;
    let frame = 0;
    const arrive = (): void => {
      cancelAnimationFrame(frame);
      setArrived(true);
    };
    const look = (): void => {
      quiet = awaited === 0 ? quiet + 1 : 0;
      if (quiet > quietFrames) arrive();
      else frame = requestAnimationFrame(look);
    };
    look();
    const timer = setTimeout(arrive, arrivalMsMax);
    return () => {
      clearTimeout(timer);
      cancelAnimationFrame(frame);
    };
  }, []);
  return hasArrived;
}

interface Shown {
  readonly key: string | undefined;
  readonly data: unknown;
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
  /** For questions that are sent: their body. */
  readonly body?: unknown;
  /** How long a request must stay the same before it is sent. Default: it is sent at once. */
  readonly settleMs?: number;
  /**
   * Sends one request after the other, without those that are no longer wanted by then: while a slider is moved the server gets no more
   * than it can answer.
   */
  readonly oneAtATime?: boolean;
  /** Whether large values may be left out of the answer. */
  readonly omitsLarge?: true;
}

/** Calls something again and again while the page is seen, and when it is seen again. @returns what ends it */
export function repeat(everyMs: number, act: () => void): () => void {
  const look = (): void => {
    if (!document.hidden) act();
  };
  const timer = setInterval(look, everyMs);
  document.addEventListener('visibilitychange', look);
  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', look);
  };
}

async function fetchAnswer(
  path: string,
  key: string,
  question: string | undefined,
  options: RequestOptions,
): Promise<unknown> {
  const sent = question === undefined ? {} : { method: 'POST', body: JSON.parse(question) as unknown };
  const response = await send(path, { ...sent, ...options });
  return remember(key, await response.text());
}

/** The same object if nothing changes, so that nothing is drawn anew. */
function shownWith(old: Shown, key: string, data: unknown): Shown {
  const isSame = old.key === key && old.data === data && !old.isLoading && old.problem === undefined;
  return isSame ? old : { key, data, isLoading: false };
}

/** @param path - undefined: nothing is requested */
export function useLoaded<T>(
  path: string | undefined,
  { everyMs, version, keepsOld = false, body, settleMs = 0, oneAtATime = false, omitsLarge }: LoadOptions = {},
): Loaded<T> {
  const question = body === undefined ? undefined : JSON.stringify(body);
  const key = path === undefined ? undefined : `${path} ${question ?? ''}${omitsLarge ? ' omits' : ''}`;
  const [shown, setShown] = useState<Shown>({ key, data: key && seen.get(key)?.data, isLoading: key !== undefined });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  const isBusy = useRef(false);
  const answered = useRef<() => void>(undefined);
  const before = useRef<Promise<void>>(undefined);
  const again = useCallback(() => {
    if (!isBusy.current) reload();
  }, [reload]);
  const repeatMs = path === undefined ? undefined : everyMs;
  useEffect(() => (repeatMs === undefined ? undefined : repeat(repeatMs, again)), [repeatMs, again]);
  useEffect(() => {
    if (path === undefined || key === undefined) return undefined;
    const leaving = new AbortController();
    isBusy.current = true;
    answered.current ??= awaitFirst();
    setShown((old) => {
      if (old.key === key && !old.isLoading && old.problem === undefined) return old;
      return {
        key,
        isLoading: true,
        data: seen.get(key)?.data ?? (old.key === key || keepsOld ? old.data : undefined),
      };
    });
    const load = async (): Promise<void> => {
      if (oneAtATime) await before.current;
      if (leaving.signal.aborted) return;
      try {
        const data = await fetchAnswer(path, key, question, {
          ...(omitsLarge && { omitsLarge }),
          ...(!oneAtATime && { signal: leaving.signal }),
        });
        if (!leaving.signal.aborted) setShown((old) => shownWith(old, key, data));
        // Passed over by now, and nearer than what is shown.
        else if (oneAtATime && keepsOld) setShown((old) => (old.isLoading ? { ...old, data } : old));
      } catch (error) {
        if (leaving.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, String(error));
        setShown((old) => ({ key, isLoading: false, problem, data: old.data }));
      }
      isBusy.current = false;
      answered.current?.();
    };
    const begin = (): void => {
      before.current = load();
    };
    const timer = settleMs === 0 ? undefined : setTimeout(begin, settleMs);
    if (settleMs === 0) begin();
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [path, question, key, version, round, keepsOld, oneAtATime]);
  useEffect(() => () => answered.current?.(), []);
  const isSame = shown.key === key;
  const data = isSame || keepsOld ? shown.data : key && seen.get(key)?.data;
  return {
    data: data as T | undefined,
    problem: isSame ? shown.problem : undefined,
    isLoading: shown.isLoading || !isSame,
    reload,
  };
}
