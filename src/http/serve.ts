/** `cairn serve`: the handler in a server of its own, over the store of a folder, with a worker. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readReference } from '../app/config/config.ts';
import { openHealth, type ProbePort, type HealthAddress } from '../app/health.ts';
import { createPageGuard, hostName, type HttpGuard } from '../app/http/http-guard.ts';
import { listenHttp } from '../app/http/listen-http.ts';
import { isProbe } from '../app/http/probes.ts';
import { createMetrics } from '../app/metrics/metrics.ts';
import { readStoreGauges } from '../app/metrics/store-gauges.ts';
import type { Log } from '../app/log/line-log.ts';
import { openApp, type App, type AppOptions } from '../app/open-app.ts';
import { knowModules, startWorker, type Worker } from '../app/worker.ts';
import { CairnError } from '../errors.ts';
import { createAnswerLinks, type AnswerLinks } from './answer-links.ts';
import { bearerTokens, createToken, scopes, type BearerToken } from './authorize.ts';
import { compressing } from './compression.ts';
import { createHandler } from './handler.ts';
import { toNodeHandler } from './node.ts';
import { findStudio } from './pages.ts';
import { problemOf, refusedByGuard } from './problem.ts';

export interface ServeOptions extends Pick<
  AppOptions,
  'cwd' | 'storeUrl' | 'blobsUrl' | 'trustsStore' | 'configFile' | 'workflows' | 'allow'
> {
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** Default 4310; 0 picks a free one. */
  readonly port?: number;
  /** A file of tokens: JSON, a list of {@link BearerToken}. Default: one token, made here, for a person with all scopes. */
  readonly tokenFile?: string;
  /** Further names of the server, for example behind a proxy. */
  readonly hosts?: readonly string[];
  /** Origins of pages that may call, besides the server's own. */
  readonly origins?: readonly string[];
  /** No route that writes, no worker, and no module is imported. */
  readonly readOnly?: boolean;
  /** Whether this process advances runs. Default true. */
  readonly worker?: boolean;
  /** Modules whose graphs it knows. */
  readonly modules?: readonly string[];
  /** A folder of files for browsers, served at `/`. Default: the studio. */
  readonly pages?: string;
  /** Where probes are answered, also while a node holds the event loop. Default: at the server's own port alone, while none does. */
  readonly health?: HealthAddress;
  /** A request that is not complete by then is refused. Answers may take any time. Default 30,000. */
  readonly requestMs?: number;
  /** Receives what happens to runs. Default: nothing is logged; `onError` is told of runs that cannot be advanced. */
  readonly log?: Log;
  /** Told of faults, a line each. */
  readonly onError: (error: unknown) => void;
}

export interface Server {
  readonly url: string;
  /** Where probes are answered from a thread; undefined: nowhere. */
  readonly healthUrl?: string;
  /** The token that was made for this server; undefined if there is a file of tokens. It is in no log. */
  readonly token?: string;
  readonly storeName: string;
  /** Says what a configuration of the folder grants to texts; absent: nothing. */
  readonly grantsNote?: string;
  /** Whether it serves pages for browsers. */
  readonly hasPages: boolean;
  /** A code for which a browser gets the token, once and within two minutes. Undefined if there is a file of tokens. */
  readonly createCode: () => string | undefined;
  /** Ends streams, lets runs come to rest for a moment, and closes the store. */
  close(): Promise<void>;
}

const defaultPort = 4310;
/** How long runs may take to come to rest when the server closes; after that they are handed back as they are. */
const graceMs = 5_000;
/** How long a code can be used. */
const codeMs = 120_000;

/** @throws CONFIG_INVALID */
function readTokens(file: string): readonly BearerToken[] {
  const invalid = (reason: string, cause?: unknown): CairnError =>
    new CairnError('CONFIG_INVALID', { path: '--token-file', reason }, { cause });
  let tokens: unknown;
  try {
    tokens = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw invalid('it cannot be read as JSON', error);
  }
  const isToken = (each: unknown): each is BearerToken => {
    const { token, principal, kind, scopes: granted } = (each ?? {}) as Partial<BearerToken>;
    const isNamed = typeof token === 'string' && typeof principal === 'string';
    return isNamed && (kind === 'person' || kind === 'program') && Array.isArray(granted);
  };
  if (!Array.isArray(tokens) || tokens.length === 0 || !tokens.every(isToken))
    throw invalid('it is a list of { token, principal, kind: "person" or "program", scopes: [] }');
  return tokens;
}

function startOwnWorker(app: App, options: ServeOptions): Worker {
  // Where there is a log, the engine tells it what could not be advanced.
  const reporting = options.log === undefined ? { onError: (_: string, error: unknown) => options.onError(error) } : {};
  return startWorker(app, reporting);
}

/** Starts the server. @throws CONFIG_INVALID the address, the tokens or the configuration; STORE_* the store cannot be opened */
export async function startServer(options: ServeOptions): Promise<Server> {
  const { host = '127.0.0.1', port = defaultPort, tokenFile, hosts = [], origins = [] } = options;
  const { readOnly = false, onError, modules = [], requestMs = 30_000 } = options;
  const token = tokenFile === undefined ? createToken() : undefined;
  const authorize = bearerTokens(
    token === undefined ? readTokens(tokenFile ?? '') : [{ token, principal: 'person', kind: 'person', scopes }],
  );
  const { pages = findStudio() } = options;
  const codes = createCodes(token);
  const works = options.worker !== false && !readOnly;
  const metrics = createMetrics();
  const app = await openApp({
    ...options,
    runsConfig: !readOnly,
    readOnly,
    holdTimersMs: 0,
    report: onError,
    metrics,
    ...(works && { cleanUpEvery: 'configured' }),
  });
  let health: ProbePort | undefined;
  try {
    const allowsNavigation = pages !== undefined || app.config.answerLinks !== undefined;
    const guard = createPageGuard({ host, hosts, origins, allowsNavigation });
    if (options.health !== undefined) health = await openHealth(app, options.health);
    const graphs = readOnly ? [] : await knowModules(app, options.cwd, modules);
    const handler = createHandler({
      app,
      graphs,
      authorize,
      readOnly,
      origins,
      advance: works ? 'here' : 'elsewhere',
      exchangeCode: codes.exchange,
      metrics,
      ...(pages !== undefined && { pages }),
      ...(app.config.answerLinks !== undefined && !readOnly && { answerLinks: await linksOf(app.config.answerLinks) }),
      ...(app.config.hooks !== undefined && { hooks: app.config.hooks }),
      ...(app.config.chat !== undefined && !readOnly && { chat: app.config.chat }),
      onError,
    });
    const handle = guarded(guard, toNodeHandler(compressing(handler)));
    const listener = await listenHttp({ host, port, requestMs, failed: onError, handle });
    const worker = works ? startOwnWorker(app, options) : undefined;
    metrics.addGauges(() => readStoreGauges(app));
    metrics.addGauges(() => ({ cairn_runs_held: [{ value: worker?.runs().length ?? 0 }] }));
    return {
      url: `http://${hostName(host)}:${listener.port}`,
      storeName: app.store.name,
      ...(health !== undefined && { healthUrl: health.url }),
      ...(app.grantsNote !== undefined && { grantsNote: app.grantsNote }),
      hasPages: pages !== undefined,
      createCode: codes.create,
      ...(token !== undefined && { token }),
      async close() {
        health?.stop();
        await listener.close(async () => handler.close());
        await Promise.race([worker?.stop(), new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
        await app.close();
        await health?.close();
      },
    };
  } catch (error) {
    await app.close();
    await health?.close();
    throw error;
  }
}

/** @throws SECRET_MISSING, CONFIG_INVALID the secret is too short */
async function linksOf({ secret, url }: NonNullable<App['config']['answerLinks']>): Promise<AnswerLinks> {
  return createAnswerLinks({ url, secret: await readReference(secret) });
}

type NodeListener = ReturnType<typeof toNodeHandler>;

/** Refuses what the guard refuses, but no probe: those name the host as they like. */
function guarded(guard: HttpGuard, answer: NodeListener): NodeListener {
  return async (request, response) => {
    const { refusal } = isProbe(request.method, request.url) ? {} : guard(request);
    if (refusal === undefined) return answer(request, response);
    const problem = problemOf(refusedByGuard(refusal));
    response.writeHead(problem.status, { 'content-type': 'application/problem+json', connection: 'close' });
    response.end(JSON.stringify(problem));
  };
}

/** Codes that stand for a token, each for one use. */
function createCodes(token: string | undefined): {
  readonly create: () => string | undefined;
  readonly exchange: (code: string) => string | undefined;
} {
  const untilByCode = new Map<string, number>();
  return {
    create() {
      if (token === undefined) return undefined;
      const code = randomBytes(24).toString('base64url');
      untilByCode.set(code, performance.now() + codeMs);
      return code;
    },
    exchange(code) {
      const until = untilByCode.get(code);
      untilByCode.delete(code);
      return until !== undefined && performance.now() < until ? token : undefined;
    },
  };
}
