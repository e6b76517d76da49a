/** Wakes hosts in other processes, for whoever starts or answers runs there: the command line, the MCP server, a program (HO5). */
import type { RunWaker } from '../engine/api.ts';
import { invalidOption, refuseUnknownKeys } from '../graph/known-keys.ts';

/** A wake is a hint, so nobody waits longer for it. */
const wakeMs = 3_000;

/** Options of {@link wakeByFetch}. */
export interface FetchWakeOptions {
  /** Where the host is reached, without `/tick`: `https://runs.example.org/cairn`. */
  readonly url: string;
  /** The host's token. */
  readonly token?: string | undefined;
}

/** Options of {@link wakeByRestate}. */
export interface RestateWakeOptions {
  /** The server's ingress: `http://restate:8080`. */
  readonly ingress: string;
  /** Sent to the ingress as `Authorization: Bearer …`. Default: none. */
  readonly token?: string | undefined;
}

/**
 * Wakes a host made with `fetchHost`. It takes no later time: its sweep finds what is due later.
 * @throws CONFIG_INVALID no address
 */
export function wakeByFetch(options: FetchWakeOptions): RunWaker {
  refuseUnknownKeys('wakeByFetch', options, ['url', 'token'] satisfies (keyof FetchWakeOptions)[]);
  const url = addressOf('url', options.url);
  return {
    async wake(runId, at) {
      // The host answers when its slice is over, which nobody here waits for.
      if (at <= Date.now()) await post(`${url}/tick`, { runId }, options.token);
    },
  };
}

/** Wakes a host made with `restateHost`, through the server's ingress. @throws CONFIG_INVALID no address */
export function wakeByRestate(options: RestateWakeOptions): RunWaker {
  refuseUnknownKeys('wakeByRestate', options, ['ingress', 'token'] satisfies (keyof RestateWakeOptions)[]);
  const ingress = addressOf('ingress', options.ingress);
  return {
    async wake(runId, at) {
      const delayMs = Math.max(0, Math.ceil(at - Date.now()));
      const delay = delayMs === 0 ? '' : `?delay=${delayMs}ms`;
      await post(`${ingress}/cairnRun/${encodeURIComponent(runId)}/tick/send${delay}`, {}, options.token);
    },
  };
}

function addressOf(path: string, text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/u.test(url.protocol)) throw invalidOption(path, 'it is the URL of a server');
  return text.replace(/\/+$/u, '');
}

async function post(url: string, body: object, token: string | undefined): Promise<void> {
  const headers = {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const signal = AbortSignal.timeout(wakeMs);
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), redirect: 'error', signal });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the host answered ${response.status}`);
}
