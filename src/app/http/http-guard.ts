/** Decides who may talk to an HTTP server of this process, before the body of a request is read. Used by every HTTP interface. */
import { isBearerOf, tokenDigest } from './bearer.ts';
import { CairnError } from '../../errors.ts';

export interface GuardOptions {
  /** The address to listen on. Any address except this machine's own requires a token. */
  readonly host: string;
  /** Token that every request must send as `Authorization: Bearer …`. Undefined: no token is required. */
  readonly token: string | undefined;
  /** Further host names of the server, for example behind a proxy. */
  readonly hosts: readonly string[];
  /** Origins of pages that may speak to the server, such as `http://localhost:6274`. All others are refused, local ones too. */
  readonly origins: readonly string[];
}

export interface HttpRefusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a guard says of a request. */
export interface HttpVerdict {
  /** Why it is refused. Undefined: it is allowed. */
  readonly refusal?: HttpRefusal;
  /** The origin of a page that may speak to the server; the reply must name it to the browser. Undefined: no page sent the request. */
  readonly page?: string;
}

/** What a guard looks at. A request of node:http is one. */
export interface GuardedRequest {
  readonly method?: string | undefined;
  /** Path and query. */
  readonly url?: string | undefined;
  readonly headers: Readonly<
    Partial<
      Record<'host' | 'origin' | 'sec-fetch-site' | 'sec-fetch-mode' | 'authorization', string | string[] | undefined>
    >
  >;
}

export type HttpGuard = (request: GuardedRequest) => HttpVerdict;

/** Who may call a server, tokens apart. */
export type PageGuardOptions = Pick<GuardOptions, 'hosts' | 'origins'> & {
  /** The address that is listened on. Undefined: somebody else listens, and knows the names of the server. */
  readonly host: string | undefined;
  /**
   * Whether people may come by a link from anywhere, as they do to a page. Nobody is signed in by that, since tokens are sent in headers.
   * Default false.
   */
  readonly allowsNavigation?: boolean;
};

const ownHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];
/** Addresses that mean all of the machine's addresses. By which host name clients call the server is then not known. */
const wildcards: readonly string[] = ['0.0.0.0', '[::]'];

/** An address in the form of a Host header. */
export function hostName(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** The name or address in a Host header, with the port; undefined if it is anything else, such as `user@name`. */
function readHost(header: string | undefined): URL | undefined {
  const isPlain = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.test(header ?? '');
  return isPlain ? (URL.parse(`http://${header}`) ?? undefined) : undefined;
}

/** @throws CONFIG_INVALID a text is not an origin */
function readOrigins(origins: readonly string[]): ReadonlySet<string> {
  return new Set(
    origins.map((text) => {
      const origin = /^https?:\/\/[^/]+\/?$/i.test(text) ? URL.parse(text)?.origin : undefined;
      if (origin !== undefined) return origin;
      const reason = `${JSON.stringify(text)} is no origin; write http://localhost:6274 or https://example.org`;
      throw new CairnError('CONFIG_INVALID', { path: '--allow-origin', reason });
    }),
  );
}

/**
 * Makes a guard. It refuses with 400 what is no request for a path of this server, with 403 requests to an unknown host name (DNS
 * rebinding) and requests of pages whose origin is not allowed, and with 401 those without the token.
 * @throws CONFIG_INVALID others can reach the address and there is no token; the token is empty; an origin is none
 */
export function createHttpGuard({ token, ...options }: GuardOptions): HttpGuard {
  const { host } = options;
  if (token === '' || (token === undefined && !isOwnHost(host)))
    throw new CairnError('CONFIG_INVALID', {
      path: '--http',
      reason: token === '' ? 'the token is empty' : `${host} can be reached by others, so a token is needed`,
    });
  const expected = token === undefined ? undefined : tokenDigest(token);
  const guardPages = createPageGuard(options);
  return (request) => {
    const { refusal, page } = guardPages(request);
    if (refusal !== undefined) return { refusal };
    const of = page === undefined ? {} : { page };
    // Browsers ask first, without the token, whether a page may send a request.
    const isPreflight = request.method === 'OPTIONS' && page !== undefined;
    if (expected === undefined || isPreflight || isBearerOf(one(request.headers.authorization), expected)) return of;
    const challenge = { 'www-authenticate': 'Bearer realm="cairn"' };
    return { ...of, refusal: { status: 401, message: 'a bearer token is needed', headers: challenge } };
  };
}

/** Whether an address is reached from this machine alone. */
function isOwnHost(host: string): boolean {
  return ownHosts.includes(hostName(host));
}

const one = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : header?.join(', ');

/** A guard that asks for no token: who knows callers by other means uses it. @throws CONFIG_INVALID an origin is none */
export function createPageGuard({ host, hosts, origins, allowsNavigation = false }: PageGuardOptions): HttpGuard {
  const listened = host === undefined ? [] : [hostName(host)];
  const names = [...ownHosts, ...listened, ...hosts].map((name) => name.toLowerCase());
  const isMounted = host === undefined && hosts.length === 0;
  const anyHost = isMounted || (listened.some((name) => wildcards.includes(name)) && hosts.length === 0);
  const pages = readOrigins(origins);
  /**
   * Whether the page came from this server itself, under a name that is known. A server that listens speaks http; it is called by https
   * where a proxy stands before it, whose name is among the `hosts`.
   */
  const isOwnPage = (origin: string, called: URL): boolean => {
    const page = URL.parse(origin);
    if (page === null || page.host !== called.host) return false;
    const maySpeak =
      page.protocol === 'http:' ||
      (page.protocol === 'https:' && (host === undefined || hosts.includes(page.hostname)));
    return maySpeak && (isMounted || names.includes(page.hostname));
  };
  return ({ headers, url = '', method }) => {
    if (!url.startsWith('/'))
      return { refusal: { status: 400, message: 'the request is not for a path of this server' } };
    const called = readHost(one(headers.host));
    if (called === undefined) return { refusal: { status: 400, message: 'the Host header is no name with a port' } };
    if (!anyHost && !names.includes(called.hostname))
      return { refusal: { status: 403, message: `this server does not go by the name ${called.host}` } };
    const origin = one(headers.origin);
    const site = one(headers['sec-fetch-site']);
    const isVisit = allowsNavigation && method === 'GET' && one(headers['sec-fetch-mode']) === 'navigate';
    if (isVisit && origin === undefined) return {};
    const isPage = origin === undefined ? site === 'cross-site' || site === 'same-site' : !isOwnPage(origin, called);
    if (isPage && !pages.has(origin ?? '')) {
      const message = `pages of ${origin ?? 'other origins'} may not speak to this server; --allow-origin names those that may`;
      return { refusal: { status: 403, message } };
    }
    return isPage && origin !== undefined ? { page: origin } : {};
  };
}
