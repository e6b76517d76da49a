/** What probes of a machine's supervisor are told: whether the event loop turns (`/livez`), and whether work can be done (`/readyz`). */
import type { Store } from '../../ports/store.ts';

export interface ProbeAnswer {
  readonly status: 200 | 503;
  /** JSON of one word: it is told to anyone. */
  readonly body: string;
}

export interface Probes {
  /** @param path - without its query. @returns undefined: no probe asks there */
  answer(path: string): Promise<ProbeAnswer | undefined>;
  /** From now on nothing is ready. */
  stop(): void;
}

/** A store that has not answered by then is away. */
const answerMs = 2_000;

/** Whether a request is one of probes. They come by whatever name of the host, without a token. */
export function isProbe(method: string | undefined, path: string | undefined): boolean {
  return (method === 'GET' || method === 'HEAD') && /^\/(?:livez|readyz|healthz)(?:\?|$)/.test(path ?? '');
}

export function createProbes(store: Pick<Store, 'listRuns'>, tenant: string): Probes {
  let isStopping = false;
  let asking: Promise<boolean> | undefined;
  const ask = async (): Promise<boolean> => {
    try {
      await store.listRuns({ tenant, limit: 1 });
      return true;
    } catch {
      return false;
    }
  };
  /** However many ask, the store is asked once at a time. */
  const isReady = async (): Promise<boolean> => {
    if (isStopping) return false;
    const pending = (asking ??= ask());
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), answerMs);
    const isAnswered = await Promise.race([pending, late]);
    clearTimeout(timer);
    if (asking === pending) asking = undefined;
    return isAnswered && !isStopping;
  };
  return {
    async answer(path) {
      if (path === '/livez' || path === '/healthz') return { status: 200, body: '{"status":"ok"}' };
      if (path !== '/readyz') return undefined;
      return (await isReady())
        ? { status: 200, body: '{"status":"ready"}' }
        : { status: 503, body: '{"status":"unready"}' };
    },
    stop() {
      isStopping = true;
    },
  };
}
