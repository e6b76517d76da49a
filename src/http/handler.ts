/** The HTTP interface as one function from a request to a response, to be mounted in any server. */
import { basename, isAbsolute } from 'node:path';
import { createPageGuard, type HttpGuard } from '../app/http/http-guard.ts';
import { readVersion } from '../app/version.ts';
import { CairnError } from '../errors.ts';
import { refuseUnknownKeys } from '../operations/contract/known-keys.ts';
import { perform } from '../operations/contract/perform.ts';
import type { Scope, WorkContext } from '../operations/contract/operation.ts';
import { readState } from '../operations/checkpoints/read-state.ts';
import { findCheckpointToChange, findRunToChange, quotedRun } from '../operations/runs/find-run.ts';
import { isFromText } from '../operations/runs/run-outputs.ts';
import { writeFault } from '../operations/format/terminal.ts';
import type { Authorize, Caller } from './authorize.ts';
import { ChatRoutes, type ChatOptions } from './chat.ts';
import { createContexts, type ContextOf, type Served } from './context.ts';
import { leavingOf, runEvents, runsEvents } from './events.ts';
import { fileResponse } from './files.ts';
import { createOpenApi, successStatus } from './openapi.ts';
import { pageResponse } from './pages.ts';
import { answerHeaders, HttpRefused, jsonResponse, problemOf, problemResponse } from './problem.ts';
import { keyOf, Places } from './places.ts';
import { matchPath, operationRoutes, readFilePath, readInput, readStreamQuery, type OperationRoute } from './routes.ts';

export interface HandlerOptions extends Served {
  /** Says who calls. It is called at each request but for `/healthz` and files of `pages`. */
  readonly authorize: Authorize;
  /** Where the interface is: `/cairn` for `/cairn/v1/runs`. Default: at the root. */
  readonly basePath?: string;
  /** Whether it has only routes that change nothing. Default false. */
  readonly readOnly?: boolean;
  /**
   * Who advances runs that are started, resumed, answered or forked here. `here`: this process, as long as it lives; a worker takes up what
   * it leaves behind. `elsewhere`: workers or a host alone. Default `here`.
   */
  readonly advance?: 'here' | 'elsewhere';
  /** Names of hosts by which the server may be called. Default: any, since the server in which it is mounted knows its names. */
  readonly hosts?: readonly string[];
  /** Origins of pages that may call, besides those of the server itself. */
  readonly origins?: readonly string[];
  /** The most event streams at once. Default 100. */
  readonly streams?: number;
  /** The most event streams of one caller at once. Default: a quarter of all. */
  readonly callerStreams?: number;
  /** The largest body of a request in bytes. Default 4 MiB. */
  readonly bodyBytes?: number;
  /** The largest answer in bytes; who asks with `Prefer: return=representation` gets all of a larger one. Default 1 MiB. */
  readonly answerBytes?: number;
  /** A folder whose files are served below `basePath`, where no route is: a page for browsers. */
  readonly pages?: string;
  /**
   * Gives the token for a code that can be used once, so that a browser is signed in without a token in an address; undefined refuses it.
   * Default: there are no codes.
   */
  readonly exchangeCode?: (code: string) => string | undefined;
  /** Serves chats below `/chat`, as the AI SDK's `useChat` speaks: each is a run of a graph. Default: none. */
  readonly chat?: ChatOptions;
  /** Told of what failed on the server's side. Default: it is written to standard error. */
  readonly onError?: (error: unknown, request: Request) => void;
}

/** Answers requests. */
export interface Handler {
  (request: Request): Promise<Response>;
  /** Ends its streams. What runs goes on; close the engine or the app for that. */
  close(): void;
}

const optionNames = Object.keys({
  app: true,
  engine: true,
  graphs: true,
  authorize: true,
  basePath: true,
  readOnly: true,
  advance: true,
  hosts: true,
  origins: true,
  streams: true,
  callerStreams: true,
  bodyBytes: true,
  answerBytes: true,
  pages: true,
  exchangeCode: true,
  chat: true,
  onError: true,
} satisfies Record<keyof HandlerOptions, true>);

/** Codes with which a run does not go on here although nothing is wrong. */
const othersHave = [
  'CLAIM_TAKEN',
  'CLAIM_LOST',
  'CLAIM_FENCED',
  'RUN_CANCELLED',
  'RUN_HELD',
  'RUN_NOT_FOUND',
  'STORE_CLOSED',
] as const;
const version = 'v1';
const defaultBodyBytes = 4 * 1024 * 1024;
const defaultAnswerBytes = 1024 * 1024;
const longestWaitS = 60;
/** Requests that read at once: of one caller, and of all. */
const callerReads = 32;
const totalReads = 256;

/**
 * Makes a handler. @throws CONFIG_INVALID an unknown option, no `authorize`, nothing to serve, graphs of several engines, a path or an
 * origin that is none
 */
export function createHandler(options: HandlerOptions): Handler {
  refuseUnknownKeys('createHandler', options, optionNames);
  const server = new HttpHandler(options);
  return Object.assign((request: Request) => server.answer(request), { close: () => server.close() });
}

class HttpHandler {
  readonly #options: HandlerOptions;
  readonly #base: string;
  readonly #guard: HttpGuard;
  readonly #contextOf: ContextOf;
  readonly #routes: readonly OperationRoute[];
  readonly #closing = new AbortController();
  readonly #chat: ChatRoutes | undefined;
  readonly #streams = new Places();
  readonly #reads = new Places();

  constructor(options: HandlerOptions) {
    const { basePath = '', readOnly = false, hosts = [], origins = [], authorize } = options;
    const invalid = (path: string, reason: string): CairnError => new CairnError('CONFIG_INVALID', { path, reason });
    if (typeof authorize !== 'function')
      throw invalid('authorize', 'it is required: it says who calls, for example bearerTokens([…])');
    if (!/^(\/[\w.~-]+)*\/?$/.test(basePath)) throw invalid('basePath', 'it is a path such as /cairn');
    this.#options = options;
    this.#base = basePath.replace(/\/$/, '');
    this.#guard = createPageGuard({ host: undefined, hosts, origins, allowsNavigation: options.pages !== undefined });
    this.#contextOf = createContexts(options);
    const graphIds = (options.graphs ?? []).map(({ graph }) => graph.id);
    this.#chat = options.chat === undefined || readOnly ? undefined : new ChatRoutes(options.chat, graphIds);
    this.#routes = readOnly ? operationRoutes.filter(({ operation }) => operation.isReadOnly) : operationRoutes;
  }

  close(): void {
    this.#closing.abort();
  }

  async answer(request: Request): Promise<Response> {
    let page: string | undefined;
    try {
      const url = new URL(request.url);
      const { headers, method } = request;
      const verdict = this.#guard({
        method,
        url: url.pathname,
        headers: {
          host: headers.get('host') ?? url.host,
          origin: headers.get('origin') ?? undefined,
          'sec-fetch-site': headers.get('sec-fetch-site') ?? undefined,
          'sec-fetch-mode': headers.get('sec-fetch-mode') ?? undefined,
        },
      });
      page = verdict.page;
      if (verdict.refusal !== undefined) throw new HttpRefused(verdict.refusal.status, verdict.refusal.message);
      return withPage(method === 'OPTIONS' ? preflight(request, page) : await this.#answer(request, url), page);
    } catch (error) {
      const { status } = problemOf(error);
      if (status >= 500) this.#report(error, request);
      return withPage(problemResponse(error), page);
    }
  }

  #report(error: unknown, request: Request): void {
    const { onError = writeFault } = this.#options;
    onError(error, request);
  }

  async #answer(request: Request, url: URL): Promise<Response> {
    const path = withCheckpoint(pathBelow(this.#base, url.pathname));
    const [first, ...rest] = path;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (first === 'healthz' && rest.length === 0 && isRead) return jsonResponse({ status: 'ok' });
    const { pages } = this.#options;
    const isChat = first === 'chat' && this.#chat !== undefined;
    if (first !== version && first !== 'readyz' && !isChat && pages !== undefined && isRead) {
      const response = await pageResponse(pages, path);
      if (response !== undefined) return response;
    }
    if (first === version && rest.length === 1 && rest[0] === 'session' && request.method === 'POST')
      return this.#exchange(request);
    const caller = await this.#options.authorize(request);
    if (caller instanceof Response) return caller;
    if (caller === undefined)
      throw new HttpRefused(401, 'a bearer token is needed', { 'www-authenticate': 'Bearer realm="cairn"' });
    const found = this.#contextOf(caller);
    if (found === undefined) throw notFound();
    const context = { ...found, reading: { signal: request.signal, caller: keyOf(caller) } };
    if (first === 'readyz' && rest.length === 0 && isRead) return this.#ready(context);
    if (isChat) return this.#answerChat(request, rest, caller, context);
    if (first !== version) throw notFound();
    return (await this.#ownRoute(request, rest, caller, context)) ?? this.#operate(request, url, rest, caller, context);
  }

  async #answerChat(
    request: Request,
    path: readonly string[],
    caller: Caller,
    context: WorkContext,
  ): Promise<Response> {
    const chat = this.#chat as ChatRoutes;
    return chat.answer({
      method: request.method,
      path,
      caller,
      context: { ...context, ...this.#advancing(context, request) },
      readBody: () => readBody(request, this.#options.bodyBytes ?? defaultBodyBytes),
      openStream: () => leavingOf(this.#openStream(request, caller)),
    });
  }

  /** Takes one of the places for streams. @throws 429 */
  #openStream(request: Request, caller: Caller): { readonly signal: AbortSignal; readonly ended: () => void } {
    const { streams = 100, callerStreams = Math.ceil(streams / 4) } = this.#options;
    const ended = this.#streams.take(keyOf(caller), callerStreams, streams, 'streams');
    return { signal: AbortSignal.any([request.signal, this.#closing.signal]), ended };
  }

  /** @throws 401 the code is unknown, was used, or is too old */
  async #exchange(request: Request): Promise<Response> {
    const { code } = await readBody(request, 1_000);
    const token = typeof code === 'string' ? this.#options.exchangeCode?.(code) : undefined;
    if (token === undefined) throw new HttpRefused(401, 'the code was used already, or is too old');
    return jsonResponse({ token });
  }

  async #ready({ store, tenant }: WorkContext): Promise<Response> {
    await store.listRuns({ tenant, limit: 1 });
    return jsonResponse({ status: 'ready' });
  }

  /** Routes that are no operations; undefined if it is none of them. */
  async #ownRoute(
    request: Request,
    path: readonly string[],
    caller: Caller,
    context: WorkContext,
  ): Promise<Response | undefined> {
    if (request.method !== 'GET') return undefined;
    const { readOnly = false } = this.#options;
    const [first, run = '', last] = path;
    if (path.length === 1 && first === 'openapi.json')
      return jsonResponse(createOpenApi(`${this.#base}/${version}`, readVersion(), this.#routes));
    if (path.length === 1 && first === 'me') {
      const { principal, kind, scopes } = caller;
      const chat = scopes.includes('chat') ? this.#chat?.about : undefined;
      return jsonResponse({
        principal,
        kind,
        scopes,
        isReadOnly: readOnly,
        version: readVersion(),
        ...(chat !== undefined && { chat }),
      });
    }
    if (path.length === 1 && first === 'graphs') {
      requireScope(caller, 'read');
      return jsonResponse({ graphs: this.#graphsOf(context) });
    }
    if (path.length === 3 && first === 'checkpoints' && last === 'file') {
      requireScope(caller, 'read');
      return this.#file(request, context, run);
    }
    const isOfRun = path.length === 3 && first === 'runs' && last === 'events';
    if (!isOfRun && (path.length !== 1 || first !== 'events')) return undefined;
    requireScope(caller, 'read');
    return this.#events(request, caller, context, isOfRun ? (await findRunToChange(context, run)).runId : undefined);
  }

  /** A value of the state as a file. */
  async #file(request: Request, context: WorkContext, checkpoint: string): Promise<Response> {
    const path = readFilePath(new URL(request.url).searchParams);
    const { runId, seq, value } = await perform(readState, context, { checkpoint, path });
    return fileResponse(request, value, `${runId}@${seq} ${path}`);
  }

  /** Graphs in code that can be started by name, each with the schema of what it takes. */
  #graphsOf({
    tenant,
  }: WorkContext): readonly { readonly graphId: string; readonly nodeCount: number; input?: unknown }[] {
    const { app, engine, graphs = [] } = this.#options;
    if (tenant !== (app ?? (engine ?? graphs[0]?.engine)?.ports)?.tenant) return [];
    return graphs.map(({ graph: { id, structure } }) => {
      const { input } =
        (structure as { readonly schemas?: { readonly input?: { readonly json?: unknown } } }).schemas ?? {};
      return {
        graphId: id,
        nodeCount: structure.nodes.length,
        ...(input?.json !== undefined && { input: input.json }),
      };
    });
  }

  /** The stream of a run, or of the runs that the query names. */
  async #events(request: Request, caller: Caller, context: WorkContext, runId: string | undefined): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const { after, until = 'end', live = false, label, graph } = readStreamQuery(query, runId === undefined);
    const stream = {
      context,
      after: request.headers.get('last-event-id') ?? after,
      ...this.#openStream(request, caller),
    };
    if (runId !== undefined) return runEvents({ ...stream, runId, until, live });
    return runsEvents({
      ...stream,
      filter: { ...(label !== undefined && { labels: label }), ...(graph !== undefined && { graph }) },
    });
  }

  async #operate(
    request: Request,
    url: URL,
    path: readonly string[],
    caller: Caller,
    context: WorkContext,
  ): Promise<Response> {
    const { route, inPath } = this.#find(request.method, path);
    const { operation } = route;
    requireScope(caller, operation.scope);
    const isInQuery = route.method === 'GET' || route.method === 'DELETE';
    const body = isInQuery ? undefined : await readBody(request, this.#options.bodyBytes ?? defaultBodyBytes);
    const input = readInput(route, inPath, url.searchParams, body);
    await refuseParts(operation, context, input);
    for (const [name, { scope }] of Object.entries(operation.input)) {
      if (scope !== undefined && input[name] !== undefined && input[name] !== false) requireScope(caller, scope);
    }
    const ifMatch = readEtag(request);
    if (ifMatch !== undefined && 'expect' in operation.input) input['expect'] = ifMatch;
    const advancing = this.#advancing(context, request);
    const leave = operation.isReadOnly
      ? this.#reads.take(keyOf(caller), callerReads, totalReads, 'requests that read')
      : undefined;
    const output = await perform(
      operation,
      { ...contextFor(operation, context, request), ...advancing },
      input,
    ).finally(leave);
    const response = jsonResponse(withoutFolder(output), statusOf(route, output), {
      ...this.#location(route, output),
      ...etagOf(output),
    });
    return operation.isReadOnly ? this.#bounded(response, request) : response;
  }

  /** @throws 413 the response is larger than the client accepts */
  #bounded(response: Response, { headers }: Request): Response {
    const { answerBytes = defaultAnswerBytes } = this.#options;
    const size = Number(response.headers.get('content-length'));
    if (size <= answerBytes || /\breturn=representation\b/.test(headers.get('prefer') ?? '')) return response;
    throw new HttpRefused(
      413,
      `the answer has ${size} bytes; ask for a part of it, or for all of it with the header Prefer: return=representation`,
    );
  }

  /** Runs that were posted an answer or a signal go on in this process, if it advances runs and nobody has them. */
  #advancing({ engine }: WorkContext, request: Request): Pick<WorkContext, 'isDetached' | 'posted'> {
    if (this.#options.advance === 'elsewhere') return { isDetached: true };
    const goOn = async (runId: string): Promise<void> => {
      try {
        const run = await engine.resume(runId, { retryFailed: false });
        await run.result();
      } catch (error) {
        // Whoever has it takes what was posted. What is wrong with the run itself is in its history.
        if (!CairnError.is(error, ...othersHave)) this.#report(error, request);
      }
    };
    return { posted: (runId) => void goOn(runId) };
  }

  /** @throws 404 no route has this path; 405 those that have it take other methods */
  #find(
    method: string,
    path: readonly string[],
  ): { readonly route: OperationRoute; readonly inPath: Readonly<Record<string, string>> } {
    const fitting = this.#routes.flatMap((route) => {
      const inPath = matchPath(route.segments, path);
      return inPath === undefined ? [] : [{ route, inPath }];
    });
    const found = fitting.find(({ route }) => route.method === (method === 'HEAD' ? 'GET' : method));
    if (found !== undefined) return found;
    if (fitting.length === 0) throw notFound();
    const allow = [...new Set(fitting.map(({ route }) => route.method))].join(', ');
    throw new HttpRefused(405, `${method} is not served here`, { allow });
  }

  #location(route: OperationRoute, output: unknown): Readonly<Record<string, string>> {
    if (successStatus(route) !== 201) return {};
    const { runId, fork } = output as { readonly runId?: string; readonly fork?: { readonly runId: string } };
    return { location: `${this.#base}/${version}/runs/${encodeURIComponent(runId ?? fork?.runId ?? '')}` };
  }
}

const notFound = (): HttpRefused => new HttpRefused(404, 'there is nothing here');

/** @throws 403 */
function requireScope({ scopes }: Caller, scope: Scope): void {
  if (!scopes.includes(scope)) throw new HttpRefused(403, `the scope ${scope} is needed`);
}

/** The decoded segments of a path below the base. @throws 404, 400 */
function pathBelow(base: string, pathname: string): readonly string[] {
  if (pathname !== base && !pathname.startsWith(`${base}/`)) throw notFound();
  try {
    return pathname
      .slice(base.length + 1)
      .split('/')
      .map(decodeURIComponent);
  } catch {
    throw new HttpRefused(400, 'the path is not encoded as UTF-8');
  }
}

/**
 * The path with the run that it is about named by its whole id, whatever that holds, and a checkpoint named by run and seq in one segment:
 * `/runs/RUN/checkpoints/7/story` is about one text with both.
 */
function withCheckpoint(path: readonly string[]): readonly string[] {
  const [base, runs, run = '', part, seq = '', ...rest] = path;
  if (base !== version || runs !== 'runs' || run === '' || run.startsWith('"')) return path;
  // A key is no id, and stands for its run.
  const name = /^[\da-f]{16}$/.test(run) ? run : quotedRun(run);
  if (part !== 'checkpoints' || path.length < 5) return [base, runs, name, ...path.slice(3)];
  return [base, part, `${name}@${seq}`, ...rest];
}

/**
 * The beginning of an id stands for no run here: programs have ids that begin alike. Nor is a caller told which do, since it may not list
 * them. @throws RUN_NOT_FOUND, CHECKPOINT_*
 */
async function refuseParts(
  { input: fields }: OperationRoute['operation'],
  context: WorkContext,
  input: Readonly<Record<string, unknown>>,
): Promise<void> {
  for (const [name, { type }] of Object.entries(fields)) {
    const value = input[name];
    if ((type !== 'run' && type !== 'checkpoint') || typeof value !== 'string') continue;
    await findCheckpointToChange(context, value).catch((error: unknown) => {
      if (!CairnError.is(error, 'RUN_NOT_FOUND')) throw error;
      throw new CairnError('RUN_NOT_FOUND', { runId: error.data['runId'] });
    });
  }
}

/** How long a client wants to wait for the result: `Prefer: wait=20`. */
function readWait(request: Request): number {
  const [, seconds = '0'] = /(?:^|[,;\s])wait=(\d{1,3})\b/.exec(request.headers.get('prefer') ?? '') ?? [];
  return 1000 * Math.min(longestWaitS, Number(seconds));
}

/** The preview that a client goes by: `If-Match: "ETAG"`. `*` names none. */
function readEtag({ headers }: Request): string | undefined {
  const [, etag] = /^\s*(?:W\/)?"([^"]*)"\s*$/.exec(headers.get('if-match') ?? '') ?? [];
  return etag;
}

/** The file that a run came from by its name alone: the folders of the server are its own matter. */
function withoutFolder(output: unknown): unknown {
  const { source } = (output ?? {}) as { readonly source?: unknown };
  return typeof source === 'string' && isAbsolute(source)
    ? { ...(output as object), source: basename(source) }
    : output;
}

function etagOf(output: unknown): Readonly<Record<string, string>> {
  const { etag } = output as { readonly etag?: string };
  return etag === undefined ? {} : { etag: `"${etag}"` };
}

/** What reads imports no module: a graph that is code and not known is read as the structure that is recorded with the run. */
function contextFor({ isReadOnly }: OperationRoute['operation'], context: WorkContext, request: Request): WorkContext {
  const { watch: _watch, ...rest } = context;
  if (!isReadOnly) return { ...rest, stayMs: readWait(request) };
  return {
    ...rest,
    isModuleNamed: () => false,
    findGraph: async (run) => {
      if (isFromText(run) || context.isKnown?.(run) === true) return context.findGraph(run);
      throw new CairnError('CONFIG_INVALID', {
        reason: `the graph ${run.graphId} of run ${run.runId} is not known here`,
      });
    },
  };
}

function statusOf(route: OperationRoute, output: unknown): number {
  const isNew = (output as { readonly isNew?: boolean }).isNew !== false;
  return isNew ? successStatus(route) : 200;
}

/** The body as an object. @throws 413, 415; USAGE_INVALID it is no JSON object */
async function readBody(request: Request, limit: number): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await readBytes(request, limit);
  if (bytes.length === 0) return {};
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';', 1);
  if (type.trim().toLowerCase() !== 'application/json') throw new HttpRefused(415, 'send application/json');
  const invalid = (reason: string): CairnError => new CairnError('USAGE_INVALID', { reason, hint: 'Send an object.' });
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw invalid('the body is no JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('the body is no JSON object');
  return value as Readonly<Record<string, unknown>>;
}

async function readBytes({ body, headers }: Request, limit: number): Promise<Uint8Array> {
  const tooLarge = new HttpRefused(413, `the body is over the limit of ${limit} bytes`, { connection: 'close' });
  if (Number(headers.get('content-length') ?? 0) > limit) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body ?? []) {
      size += chunk.length;
      if (size > limit) throw tooLarge;
      chunks.push(chunk);
    }
  } catch (error) {
    // The client is gone in the middle of it: nothing of the server's is wrong.
    throw error === tooLarge ? error : new HttpRefused(400, 'the body was not sent to its end');
  }
  return Buffer.concat(chunks);
}

/** A browser asks whether a page of another origin may send a request. */
function preflight({ headers }: Request, page: string | undefined): Response {
  if (page === undefined) throw new HttpRefused(405, 'OPTIONS is not served here');
  const requested = headers.get('access-control-request-headers');
  return new Response(null, {
    status: 204,
    headers: {
      ...answerHeaders,
      'access-control-allow-methods': 'GET, POST, DELETE',
      ...(requested !== null && { 'access-control-allow-headers': requested }),
    },
  });
}

/** Tells the browser of a page that may call that the page may read the answer. */
function withPage(response: Response, page: string | undefined): Response {
  if (page === undefined) return response;
  const headers = new Headers(response.headers);
  headers.set('access-control-allow-origin', page);
  headers.set('access-control-expose-headers', 'location, www-authenticate, retry-after');
  headers.append('vary', 'origin');
  return new Response(response.body, { status: response.status, headers });
}
