/** A host for all that speaks HTTP: a function from a Request to a Response (docs/spec/hosts.md). */
import { isBearerOf, tokenDigest } from '../app/http/bearer.ts';
import type { AdvanceResult, Engine } from '../engine/api.ts';
import { CairnError, errorTable } from '../errors.ts';
import { invalidOption, refuseUnknownKeys } from '../graph/known-keys.ts';
import { nextSliceMs, serve, slackMs, sweepRuns, type HostedGraph, type Hosted } from './slices.ts';

const bodyBytesMost = 16_384;

/** Options of {@link fetchHost}. */
export interface FetchHostOptions {
  /** Compiled graphs whose runs are advanced. All must share one engine: `second.compile({ engine: first.engine })`. */
  readonly graphs: readonly HostedGraph[];
  /** Every request must send it as `Authorization: Bearer …`. Without one, only requests to this machine's own names are answered. */
  readonly token?: string | undefined;
  /** How long one call may take, in ms: the platform's limit, or less. A graph with an effect that may take longer is refused. */
  readonly maxMs: number;
}

/** Answers requests of a host. */
export type FetchHost = (request: Request) => Promise<Response>;

const optionNames: Readonly<Record<keyof FetchHostOptions, true>> = { graphs: true, token: true, maxMs: true };

/**
 * Makes a host. `POST /tick` with `{ "runId": "…" }` advances that run and answers with where it stands ({@link AdvanceResult}), and with
 * `Retry-After` in seconds if it is to be called again at a time. `POST /sweep` advances what can go on, within the same time; call it once a minute.
 * @throws CONFIG_INVALID no graph, graphs of several engines, an empty token; HOST_TOO_SHORT a node may take longer than `maxMs`
 */
export function fetchHost(options: FetchHostOptions): FetchHost {
  refuseUnknownKeys('fetchHost', options, Object.keys(optionNames));
  const { graphs, token, maxMs } = options;
  if (token === '') throw invalidOption('token', 'it is empty; leave it out to answer only requests of this machine');
  if (!Number.isFinite(maxMs)) throw invalidOption('maxMs', `it is a number above ${slackMs}`);
  const hosted = serve(graphs, maxMs);
  const { engine } = hosted;
  engine.dispatchBy(undefined);
  // What begins before this time has ended and is recorded before the host ends the call.
  const forMs = Math.max(1, maxMs - hosted.longestMs - slackMs);
  return async (request) => {
    const refused = refuse(request, token);
    if (refused !== undefined) return refused;
    const { pathname } = new URL(request.url);
    try {
      if (pathname.endsWith('/tick'))
        return resultResponse(engine, await engine.advance(await readRunId(request), { forMs }));
      if (pathname.endsWith('/sweep')) return Response.json(await sweep(hosted, forMs));
      return Response.json({ error: 'post to /tick or /sweep' }, { status: 404 });
    } catch (error) {
      if (!CairnError.is(error)) throw error;
      return Response.json({ code: error.code, message: error.message }, { status: errorTable[error.code].http });
    }
  };
}

const ownNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

function refuse({ method, headers, url }: Request, token: string | undefined): Response | undefined {
  if (method !== 'POST') return Response.json({ error: 'only POST' }, { status: 405, headers: { allow: 'POST' } });
  if (token === undefined) {
    // A page in a browser can send requests to this machine, too; it cannot leave out its origin.
    const isOwn = ownNames.includes(new URL(url).hostname) && headers.get('origin') === null;
    return isOwn ? undefined : Response.json({ error: 'a token is needed' }, { status: 403 });
  }
  if (isBearerOf(headers.get('authorization'), tokenDigest(token))) return undefined;
  return Response.json({ error: 'wrong token' }, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
}

/** @throws USAGE_INVALID */
async function readRunId(request: Request): Promise<string> {
  const wrong = new CairnError('USAGE_INVALID', {
    reason: 'the body is JSON with a runId',
    hint: 'Send { "runId": "…" }.',
  });
  const body = await readJson(request);
  const runId = typeof body === 'object' && body !== null ? (body as { runId?: unknown }).runId : undefined;
  if (typeof runId !== 'string' || runId === '') throw wrong;
  return runId;
}

/** @returns undefined if it is no JSON, or longer than a runId can be, whatever its headers say */
async function readJson({ body }: Request): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bodyBytesMost) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}

function resultResponse({ ports }: Engine, result: AdvanceResult): Response {
  const nextMs = nextSliceMs(result, ports.clock.now());
  const headers = nextMs === undefined ? {} : { 'retry-after': String(Math.ceil(nextMs / 1_000)) };
  return Response.json(result, { headers });
}

type Swept = { readonly runId: string } & (AdvanceResult | { readonly status: 'error'; readonly code: string });

/** Advances what can go on until the time is over. One run that cannot be advanced keeps no other from going on. */
async function sweep(hosted: Hosted, forMs: number): Promise<{ readonly runs: readonly Swept[] }> {
  const { engine } = hosted;
  const { clock } = engine.ports;
  const endMs = clock.monotonic() + forMs;
  const runs: Swept[] = [];
  await sweepRuns(hosted, async (runId) => {
    const remainingMs = endMs - clock.monotonic();
    if (remainingMs <= 0) return false;
    try {
      runs.push({ runId, ...(await engine.advance(runId, { forMs: remainingMs })) });
    } catch (error) {
      runs.push({ runId, status: 'error', code: CairnError.is(error) ? error.code : 'INTERNAL' });
    }
    return true;
  });
  return { runs };
}
