/** Speaks to the server that the page came from, and to no other. The token is in this tab alone, and never in an address. */
import { signal } from '@preact/signals';
import { home } from '../url.ts';
import type { Me } from './types.ts';

const storageKey = 'cairn.token';
const channel = new BroadcastChannel('cairn.studio');

/** Who looks; undefined before one is known, or once a token is no longer accepted. */
export const me = signal<Me | undefined>(undefined);
/** `signed-out` asks for a token; `unreachable` goes on trying. */
export const session = signal<'starting' | 'signed-in' | 'signed-out' | 'unreachable'>('starting');

interface ProblemBody {
  readonly title?: string;
  readonly code?: string;
  readonly hint?: string;
}

/** What the server says it cannot do, or that it cannot be reached. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly hint: string | undefined;
  /** The whole answer: some problems carry more. */
  readonly body: unknown;

  constructor(status: number, title: string, body: ProblemBody = {}) {
    super(title);
    this.status = status;
    this.code = body.code;
    this.hint = body.hint;
    this.body = body;
  }

  /** Whether asking again gets the same: a server that is not reached, fails or has too much to do may do it later. */
  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 429;
  }
}

let token = sessionStorage.getItem(storageKey) ?? undefined;

function keep(next: string | undefined): void {
  token = next;
  if (next === undefined) sessionStorage.removeItem(storageKey);
  else sessionStorage.setItem(storageKey, next);
}

export interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether large values may be left out of the answer. Default: of stories alone. */
  readonly omitsLarge?: boolean;
}

/** A value that was left out of an answer since it is large. */
export interface Omitted {
  readonly omitted: { readonly bytes: number; readonly href?: string };
}

export const isOmitted = (value: unknown): value is Omitted =>
  typeof value === 'object' && value !== null && 'omitted' in value && Object.keys(value).length === 1;

/** All of a value that was left out, as text. @param href - where it says that it is read @throws Problem */
export async function readOmitted(href: string): Promise<string> {
  return (await send(href.slice(href.indexOf('/v1/') + '/v1'.length))).text();
}

/** Sends a request. Chats are beside the interface, everything else is in it. @throws Problem the answer is no success; the signal's reason */
export async function send(
  path: string,
  { method = 'GET', body, signal, headers = {}, omitsLarge = /\/story(?:\?|$)/.test(path) }: RequestOptions = {},
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(new URL(path.startsWith('/chat/') ? path.slice(1) : `v1${path}`, home), {
      method,
      cache: 'no-store',
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        // All of it, also beyond the largest answer that a server gives unasked.
        ...(!omitsLarge && { prefer: 'return=representation' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    session.value = session.value === 'signed-in' ? 'unreachable' : session.value;
    throw new Problem(0, 'The server cannot be reached.', { hint: 'It may have been stopped: cairn serve starts it.' });
  }
  if (session.value === 'unreachable') session.value = 'signed-in';
  if (response.ok) return response;
  // What is large by its many values is read whole.
  if (response.status === 413 && omitsLarge)
    return send(path, { method, body, headers, omitsLarge: false, ...(signal !== undefined && { signal }) });
  const problem = (await response.json().catch(() => ({}))) as ProblemBody;
  if (response.status === 401 && session.value === 'signed-in') signOut();
  throw new Problem(response.status, problem.title ?? `The server answered ${response.status}.`, problem);
}

export async function ask<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(path, options);
  return (await response.json()) as T;
}

export const post = <T>(path: string, body: unknown = {}, options: RequestOptions = {}): Promise<T> =>
  ask<T>(path, { ...options, method: 'POST', body });

export const encode = encodeURIComponent;

/** The address of a checkpoint, by its run and seq: no id is taken for another run's checkpoint. Default: the newest. */
export const placeOf = (runId: string, seq: number | 'head' = 'head'): string =>
  `/runs/${encode(runId)}/checkpoints/${seq}`;

/** The address of a run's log from a checkpoint back. */
export const logOf = (runId: string, seq: number): string =>
  `/runs/${encode(`${JSON.stringify(runId)}@${seq}`)}/checkpoints`;

/** Whether the caller may do what needs this scope. */
export function may(scope: string): boolean {
  const { scopes = [], isReadOnly = true } = me.value ?? {};
  return scopes.includes(scope) && (scope === 'read' || !isReadOnly);
}

/** Takes a token as that of this tab, if the server knows it. @throws Problem */
export async function signIn(next: string): Promise<void> {
  const before = token;
  token = next.trim();
  try {
    me.value = await ask<Me>('/me');
    keep(token);
    session.value = 'signed-in';
  } catch (error) {
    token = before;
    throw error;
  }
}

export function signOut(): void {
  keep(undefined);
  me.value = undefined;
  session.value = 'signed-out';
}

/** The token of another tab of the same browser, which has the same rights to it. */
function askOtherTabs(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const done = (found: string | undefined): void => {
      channel.removeEventListener('message', hear);
      resolve(found);
    };
    const hear = ({ data }: MessageEvent<{ readonly token?: unknown }>): void => {
      if (typeof data.token === 'string') done(data.token);
    };
    channel.addEventListener('message', hear);
    channel.postMessage({ wants: 'token' });
    setTimeout(() => done(undefined), 150);
  });
}

/** The code with which `cairn studio` opened the page. It is taken out of the address at once, and can be used once. */
async function exchangeCode(): Promise<string | undefined> {
  const [, code] = /^#code=([\w-]{16,200})$/u.exec(location.hash) ?? [];
  if (code === undefined) return undefined;
  history.replaceState(null, '', location.pathname + location.search);
  return (await post<{ readonly token: string }>('/session', { code })).token;
}

/** Finds a token: from the code, from this tab, from another one. Otherwise the page asks for it. */
export async function startSession(): Promise<void> {
  channel.addEventListener('message', ({ data }: MessageEvent<{ readonly wants?: unknown }>) => {
    if (data.wants === 'token' && token !== undefined && session.value === 'signed-in') channel.postMessage({ token });
  });
  for (const find of [exchangeCode, async () => token, askOtherTabs]) {
    try {
      const found = await find();
      if (found === undefined) continue;
      await signIn(found);
      return;
    } catch (error) {
      if (error instanceof Problem && error.status === 0) {
        session.value = 'unreachable';
        setTimeout(() => void startSession(), 2_000);
        return;
      }
    }
  }
  signOut();
}
