/** A client of the HTTP interface with the methods of a program: `createClient(url, token)` in place of `openCairn()`. */
import { refuseUnknownKeys } from '../operations/contract/known-keys.ts';
import type { Methods } from '../app/cairn.ts';
import { CairnError, maybeWritten, errorTable, type ErrorCode } from '../errors.ts';
import type { FollowedEvent, FollowOptions } from '../history/read/follow.ts';
import type { Field, Route } from '../operations/contract/operation.ts';
import type * as operations from '../operations/table.ts';
import type { Problem } from './problem.ts';
import { operationRoutes, type OperationRoute } from './routes.ts';
import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** The methods that have a route: what names files of the server's machine, or moves whole stores, is for its command line. */
type RoutedMethod = {
  [Name in keyof Methods]: (typeof operations)[Name] extends { readonly route: Route } ? Name : never;
}[keyof Methods];

/** The same methods as those of `openCairn`, over HTTP. Values under names of secrets are masked there. */
export interface CairnClient extends Pick<Methods, RoutedMethod> {
  /** Follows a run until it ends. A connection that breaks is opened again after the last event seen. */
  follow(run: string, options?: FollowOptions): AsyncGenerator<FollowedEvent, void, undefined>;
}

export interface ClientOptions {
  /** How long `run`, `resume` and `fork` wait for a result, in seconds up to 60. Default 0: they tell where the run stands at once. */
  readonly waitSeconds?: number;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
}

type Values = Readonly<Record<string, unknown>>;
type Ask = (path: string, init: RequestInit) => Promise<Response>;

/**
 * Makes a client. Its methods throw the errors that the library throws, by their codes.
 * @param url - where the interface is, without the version: `http://127.0.0.1:4310`
 */
export function createClient(url: string, token: string, options: ClientOptions = {}): CairnClient {
  refuseUnknownKeys('createClient', options, ['fetch', 'waitSeconds'] satisfies readonly (keyof ClientOptions)[]);
  const { waitSeconds = 0 } = options;
  const send = options.fetch ?? fetch;
  const base = `${url.replace(/\/$/, '')}/v1`;
  const ask: Ask = async (path, init) => {
    const headers = { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) };
    const response = await send(base + path, { ...init, headers }).catch((error: unknown) => {
      const reason = (error as Error).message;
      const written = init.method === undefined || init.method === 'GET' ? {} : maybeWritten;
      throw new CairnError('STORE_UNAVAILABLE', { store: url, reason, ...written }, { cause: error });
    });
    if (!response.ok) throw await errorOf(response);
    return response;
  };
  const methods = operationRoutes.map((route) => {
    const act = async (input: Values = {}): Promise<unknown> => {
      const { path, init } = requestOf(route, input);
      const prefer = waitSeconds > 0 ? `return=representation, wait=${waitSeconds}` : 'return=representation';
      return (await ask(path, { ...init, headers: { ...init.headers, prefer } })).json();
    };
    return [route.id, act] as const;
  });
  return {
    ...(Object.fromEntries(methods) as unknown as Pick<Methods, RoutedMethod>),
    follow: (run, following) => followOver(ask, run, following),
  };
}

interface Made {
  readonly path: string;
  readonly init: {
    readonly method: string;
    readonly body?: string;
    readonly headers: Readonly<Record<string, string>>;
  };
}

/** @throws USAGE_INVALID a field is not offered over HTTP */
function requestOf({ method, segments, fields, inPath }: OperationRoute, input: Values): Made {
  const remote = new Map(Object.entries(fields).map(([name, { field, name: own }]) => [own, { name, field }]));
  const places: Record<string, string> = {};
  const rest: [string, Field, unknown][] = [];
  for (const [own, value] of Object.entries(input)) {
    if (value === undefined) continue;
    const known = remote.get(own);
    if (known === undefined)
      throw new CairnError('USAGE_INVALID', { reason: `${own} cannot be given over HTTP`, hint: 'Leave it out.' });
    if (inPath.has(known.name)) places[known.name] = encodeURIComponent(value as string);
    else rest.push([known.name, known.field, value]);
  }
  const path = `/${segments.map((part) => (part.startsWith('{') ? (places[part.slice(1, -1)] ?? '') : part)).join('/')}`;
  if (method === 'POST') {
    const body = JSON.stringify(Object.fromEntries(rest.map(([name, , value]) => [name, value])));
    return { path, init: { method, body, headers: { 'content-type': 'application/json' } } };
  }
  const query = new URLSearchParams(rest.flatMap(([name, field, value]) => queryOf(name, field, value)));
  return { path: query.size === 0 ? path : `${path}?${query.toString()}`, init: { method, headers: {} } };
}

function queryOf(name: string, { type }: Field, value: unknown): [string, string][] {
  if (type === 'texts') return (value as readonly string[]).map((each) => [name, each]);
  if (type === 'answers' || type === 'assignments')
    return Object.entries(value as Values).map(([key, each]) => [name, `${key}:${String(each)}`]);
  return [[name, String(value)]];
}

/** The error of a response, by its code. */
async function errorOf(response: Response): Promise<CairnError> {
  const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
  const title = problem.title ?? `the server answered ${response.status}`;
  const { code } = problem;
  const isKnown = code !== undefined && Object.hasOwn(errorTable, code);
  return new RemoteError(
    isKnown ? code : response.status >= 500 ? 'STORE_UNAVAILABLE' : 'USAGE_INVALID',
    title,
    problem,
  );
}

/** An error that a server reported: its text is the server's, since the values that filled it stayed there. */
class RemoteError extends CairnError {
  override readonly hint: string;
  constructor(code: ErrorCode, title: string, { hint = '', status, preview }: Partial<Problem>) {
    super(code, { reason: title, ...(status !== undefined && { status }), ...(preview !== undefined && { preview }) });
    this.message = title;
    this.hint = hint;
  }
}

async function* followOver(
  ask: Ask,
  run: string,
  { after, until = 'end', live = false, signal }: FollowOptions = {},
): AsyncGenerator<FollowedEvent, void, undefined> {
  let cursor = after === undefined ? undefined : String(after);
  for (let failures = 0; failures < retriesMax; failures += 1) {
    try {
      const headers = cursor === undefined ? {} : { 'last-event-id': cursor };
      const path = `/runs/${encodeURIComponent(run)}/events?until=${until}${live ? '&live=true' : ''}`;
      const response = await ask(path, { headers, ...(signal !== undefined && { signal }) });
      if (response.body === null) return;
      for await (const { event, data } of readEvents(response.body)) {
        failures = 0;
        if (event === 'end') return;
        if (event === 'problem') throw await errorOf(new Response(data));
        const followed = JSON.parse(data) as FollowedEvent;
        if (followed.type !== 'feed') cursor = followed.type === 'reset' ? undefined : followed.cursor;
        yield followed;
      }
    } catch (error) {
      if (signal?.aborted === true) return;
      if (CairnError.is(error) && error.code !== 'STORE_UNAVAILABLE') throw error;
      if (failures === retriesMax - 1) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs * 2 ** Math.min(failures, 5)));
  }
}

const retriesMax = 20;
const retryMs = 100;

async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<EventSourceMessage> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  const decoder = new TextDecoder();
  for await (const piece of body) {
    parser.feed(decoder.decode(piece, { stream: true }));
    yield* events.splice(0);
  }
}
