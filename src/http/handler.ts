/** The HTTP interface as one function from a request to a response, to be mounted in any server. */
import { basename, isAbsolute } from 'node:path';
import { createPageGuard, type HttpGuard } from '../app/http/http-guard.ts';
import { createProbes, isProbe, type ProbeAnswer, type Probes } from '../app/http/probes.ts';
import { metricsType, type ProcessMetrics } from '../app/metrics/metrics.ts';
import { readVersion } from '../app/version.ts';
import { CairnError } from '../errors.ts';
import { refuseUnknownKeys } from '../operations/contract/known-keys.ts';
import { perform } from '../operations/contract/perform.ts';
import type { Scope, WorkContext } from '../operations/contract/operation.ts';
import { readState } from '../operations/checkpoints/read-state.ts';
import { findCheckpointToChange, findRunToChange, quotedRun } from '../operations/runs/find-run.ts';
import { omitLargeValues } from '../operations/runs/omit-large.ts';
import { isFromText } from '../operations/runs/run-outputs.ts';
import { writeFault } from '../operations/format/terminal.ts';
import type { Authorize, Caller } from './authorize.ts';
import { answerByLink, callerOf, linkRefusal, type AnswerLinks } from './answer-links.ts';
import { ChatRoutes, type ChatOptions } from './chat.ts';
import { createContexts, servedEngine, type ContextOf, type Served } from './context.ts';
import { preflight, withPage } from './cross-origin.ts';
import { answerHook, calledHook, type CalledHook, type Hooks } from './hooks.ts';
import { hookFaults } from '../app/webhooks/hook.ts';
import { keyedInput } from './idempotency.ts';
import { leavingOf, runEvents, runsEvents } from './events.ts';
import { fileResponse } from './files.ts';
import { createOpenApi, successStatus } from './openapi.ts';
import { pageResponse } from './pages.ts';
import { answerHeaders, HttpRefused, jsonResponse, problemOf, problemResponse, refusedByGuard } from './problem.ts';
import { keyOf, Places } from './places.ts';
import { readBody, readFormValue } from './read-body.ts';
import { matchPath, operationRoutes, readFilePath, readInput, readStreamQuery, type OperationRoute } from './routes.ts';

export interface HandlerOptions extends Served {
  /** Counters that are told at `/metrics`, for callers with the scope `read`: `createMetrics()`. Default: there are none. */
  readonly metrics?: Pick<ProcessMetrics, 'text'>;
  /** Says who calls. It is called at each request but for `/livez`, `/readyz` and files of `pages`. */
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
  /** Serves chats below `/v1/chat` and `/chat`, as the AI SDK's `useChat` speaks: each is a run of a graph. Default: none. */
  readonly chat?: ChatOptions;
  /** Takes answers by links at `/answer/TOKEN`: what `createAnswerLinks` makes. Default: there are no links. */
  readonly answerLinks?: AnswerLinks;
  /** Deliveries of other systems, taken at `/v1/hooks/NAME`: each becomes a run or a signal. Default: there are none. */
  readonly hooks?: Hooks;
  /** Told of what failed on the server's side. Default: it is written to standard error. */
  readonly onError?: (error: unknown, request: Request) => void;
}

/** Answers requests. */
export interface Handler {
  (request: Request): Promise<Response>;
  /** Ends its streams, and answers `/readyz` with 503. What runs goes on; close the engine or the app for that. */
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
  metrics: true,
  chat: true,
  answerLinks: true,
  hooks: true,
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
  'RUN_EXPIRED',
  'STORE_CLOSED',
] as const;
const version = 'v1';
/** What is below these is no address of a page. */
const noPages: readonly string[] = [version, 'healthz', 'livez', 'readyz', 'metrics'];
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
  readonly #probes: Probes;
  readonly #streams = new Places();
  readonly #reads = new Places();

  constructor(options: HandlerOptions) {
    const { basePath = '', readOnly = false, hosts = [], origins = [], authorize } = options;
    const invalid = (path: string, reason: string): CairnError => new CairnError('CONFIG_INVALID', { path, reason });
    if (typeof authorize !== 'function')
      throw invalid('authorize', 'it is required: it says who calls, for example bearerTokens([…])');
    if (!/^(\/[\w.~-]+)*\/?$/.test(basePath)) throw invalid('basePath', 'it is a path such as /cairn');
    const [fault] = hookFaults(options.hooks, true);
    if (fault !== undefined) throw invalid('hooks', fault);
    this.#options = options;
    this.#base = basePath.replace(/\/$/, '');
    this.#guard = createPageGuard({
      host: undefined,
      hosts,
      origins,
      allowsNavigation: options.pages !== undefined || options.answerLinks !== undefined,
    });
    this.#contextOf = createContexts(options);
    const { store, tenant } = servedEngine(options).ports;
    this.#probes = createProbes(store, tenant);
    const graphs = (options.graphs ?? []).map(({ graph }) => graph);
    this.#chat = options.chat === undefined || readOnly ? undefined : new ChatRoutes(options.chat, graphs);
    this.#routes = readOnly ? operationRoutes.filter(({ operation }) => operation.isReadOnly) : operationRoutes;
  }

  close(): void {
    this.#closing.abort();
    this.#probes.stop();
  }

  async answer(request: Request): Promise<Response> {
    let page: string | undefined;
    try {
      const url = new URL(request.url);
      const { headers, method } = request;
      const probed = await this.#probe(method, url.pathname);
      if (probed !== undefined) return probed;
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
      if (verdict.refusal !== undefined) throw refusedByGuard(verdict.refusal);
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
    const { pages } = this.#options;
    const { answerLinks, hooks = {}, readOnly = false } = this.#options;
    if (first === 'answer' && rest.length === 1 && answerLinks !== undefined && !readOnly)
      return this.#answerLink(request, rest[0] ?? '', answerLinks);
    const chatPath = this.#chat === undefined ? undefined : pathOfChat(path);
    if (!noPages.includes(first ?? '') && chatPath === undefined && pages !== undefined && isRead) {
      const response = await pageResponse(pages, path, request);
      if (response !== undefined) return response;
    }
    if (first === version && rest.length === 1 && rest[0] === 'session' && request.method === 'POST')
      return this.#exchange(request);
    const hook = first === version && !readOnly ? calledHook(hooks, request.method, rest) : undefined;
    if (hook !== undefined) return this.#answerHook(request, hook);
    const caller = await this.#options.authorize(request);
    if (caller instanceof Response) return caller;
    if (caller === undefined)
      throw new HttpRefused(401, 'a bearer token is needed', { 'www-authenticate': 'Bearer realm="cairn"' });
    const found = this.#contextOf(caller);
    if (found === undefined) throw notFound();
    const context = { ...found, reading: { signal: request.signal, caller: keyOf(caller) } };
    if (first === 'metrics' && rest.length === 0 && isRead) return this.#metrics(caller);
    if (chatPath !== undefined) return this.#answerChat(request, chatPath, caller, context);
    if (first !== version) throw notFound();
    return (await this.#ownRoute(request, rest, caller, context)) ?? this.#operate(request, url, rest, caller, context);
  }

  /** Who looks at a link sees its question; only a POST answers, since scanners of mail open links. */
  async #answerLink(request: Request, token: string, links: AnswerLinks): Promise<Response> {
    const { method } = request;
    if (!['GET', 'HEAD', 'POST'].includes(method))
      throw new HttpRefused(405, `${method} is not served here`, { allow: 'GET, POST' });
    try {
      const claims = links.read(token);
      const context = claims && this.#contextOf(callerOf(claims));
      if (claims === undefined || context === undefined) throw new HttpRefused(404, 'this link leads nowhere');
      const value = method === 'POST' ? await readFormValue(request) : undefined;
      const advancing = this.#advancing(context, request);
      return await answerByLink({ claims, token, context: { ...context, ...advancing }, value });
    } catch (error) {
      const { status, title } = problemOf(error);
      // Its address is a secret of somebody's, so the log gets another one.
      if (status >= 500) this.#report(error, new Request(new URL('/answer/[redacted]', request.url)));
      return linkRefusal(title, status);
    }
  }

  async #answerHook(request: Request, hook: CalledHook): Promise<Response> {
    const context = this.#contextOf(hook.caller);
    if (context === undefined) throw notFound();
    const leave = this.#reads.take(keyOf(hook.caller), callerReads, totalReads, 'deliveries');
    const advancing = { ...context, ...this.#advancing(context, request) };
    return answerHook(hook, request, advancing, this.#options.bodyBytes ?? defaultBodyBytes).finally(leave);
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
      context: { ...context, ...this.#advancing(context, request), acting: { ...context.acting, door: 'chat' } },
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

  /** @throws 403; 404 there are none */
  async #metrics(caller: Caller): Promise<Response> {
    const { metrics } = this.#options;
    if (metrics === undefined) throw notFound();
    requireScope(caller, 'read');
    return new Response(await metrics.text(), { headers: { ...answerHeaders, 'content-type': metricsType } });
  }

  /** Probes show no token, and name the host as they like. Undefined: it is none. */
  async #probe(method: string, pathname: string): Promise<Response | undefined> {
    const path = pathname.slice(this.#base.length);
    if (!pathname.startsWith(this.#base) || !isProbe(method, path)) return undefined;
    const { status, body } = (await this.#probes.answer(path)) as ProbeAnswer;
    return new Response(body, { status, headers: { ...answerHeaders, 'content-type': 'application/json' } });
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
      return jsonResponse(
        createOpenApi(`${this.#base}/${version}`, readVersion(), this.#routes, {
          hasChat: this.#chat !== undefined,
          hooks: readOnly ? [] : Object.keys(this.#options.hooks ?? {}),
        }),
      );
    if (path.length === 1 && first === 'me') {
      const { principal, kind, scopes, roles = [] } = caller;
      const chat = scopes.includes('chat') ? this.#chat?.about : undefined;
      return jsonResponse({
        principal,
        kind,
        scopes,
        roles,
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
    const keyed = keyedInput(request, operation.name, { tenant: context.tenant, principal: caller.principal }, input);
    Object.assign(input, keyed);
    const ifMatch = readEtag(request);
    if (ifMatch !== undefined && 'expect' in operation.input) input['expect'] = ifMatch;
    const advancing = { ...this.#advancing(context, request), isOnlyThis: Object.keys(keyed).length > 0 };
    const leave = operation.isReadOnly
      ? this.#reads.take(keyOf(caller), callerReads, totalReads, 'requests that read')
      : undefined;
    const output = await perform(
      operation,
      { ...contextFor(operation, context, request), ...advancing },
      input,
    ).finally(leave);
    const isWhole = /\breturn=representation\b/.test(request.headers.get('prefer') ?? '');
    const sent = isWhole ? output : omitLargeValues(output, operation.outputSchema, { base: this.#base });
    const response = jsonResponse(withoutFolder(sent), statusOf(route, output), {
      ...this.#location(route, output),
      ...etagOf(output),
    });
    return operation.isReadOnly && !isWhole ? this.#bounded(response) : response;
  }

  /** @throws 413 the response is larger than the client accepts */
  #bounded(response: Response): Response {
    const { answerBytes = defaultAnswerBytes } = this.#options;
    const size = Number(response.headers.get('content-length'));
    if (size <= answerBytes) return response;
    throw new HttpRefused(
      413,
      `the answer has ${size} bytes; ask for a part of it, or for all of it with the header Prefer: return=representation`,
      {},
      'ANSWER_TOO_LARGE',
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

/** What stands behind `/v1/chat`, or behind `/chat`, where it was at first; undefined for other paths. */
function pathOfChat(path: readonly string[]): readonly string[] | undefined {
  const below = path[0] === version ? path.slice(1) : path;
  return below[0] === 'chat' ? below.slice(1) : undefined;
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
      // The operation says so itself, or forgets the run.
      if (CairnError.is(error, 'RUN_EXPIRED')) return;
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
