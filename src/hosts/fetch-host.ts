/** A host for all that speaks HTTP: a function from a Request to a Response (docs/spec/hosts.md). */
import { isBearerOf, tokenDigest } from '../app/http/bearer.ts';
import type { AdvanceResult, Engine } from '../engine/api.ts';
import { CairnError, errorTable } from '../errors.ts';
import type { Graph } from '../graph/graph.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

/** Deadline of an effect whose node has none, and the grace it has to end: the defaults of the engine's limits. */
const effectMs = 600_000;
const graceMs = 5_000;
/** Time kept back for reading a run before its slice, and for giving it back after it. */
const slackMs = 1_000;
/** Runs that a sweep advances at once, and the most that it looks at. */
const sweepWidth = 8;
const sweepMost = 100;
const bodyBytesMost = 16_384;

/** Options of {@link fetchHost}. */
export interface FetchHostOptions {
  /** Compiled graphs whose runs are advanced. All must share one engine: `second.compile({ engine: first.engine })`. */
  readonly graphs: readonly { readonly graph: Graph; readonly engine: Engine }[];
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
  const [first] = graphs;
  if (first === undefined) throw invalid('graphs', 'a host needs a compiled graph');
  if (graphs.some(({ engine }) => engine !== first.engine))
    throw invalid('graphs', 'they have several engines: share one with compile({ engine: first.engine })');
  if (token === '') throw invalid('token', 'it is empty; leave it out to answer only requests of this machine');
  if (!(Number.isFinite(maxMs) && maxMs > slackMs)) throw invalid('maxMs', `it is a number above ${slackMs}`);
  for (const { graph } of graphs) refuseLongEffects(graph, maxMs);
  const { engine } = first;
  const ids = graphs.map(({ graph }) => graph.id);
  // What begins before this time has ended and is recorded before the host ends the call.
  const longestMs = graphs.reduce((most, { graph }) => Math.max(most, longestEffectMs(graph)), 0);
  const forMs = Math.max(1, maxMs - longestMs - slackMs);
  return async (request) => {
    const refused = refuse(request, token);
    if (refused !== undefined) return refused;
    const { pathname } = new URL(request.url);
    try {
      if (pathname.endsWith('/tick'))
        return resultResponse(engine, await engine.advance(await readRunId(request), { forMs }));
      if (pathname.endsWith('/sweep')) return Response.json(await sweep(engine, ids, forMs));
      return Response.json({ error: 'post to /tick or /sweep' }, { status: 404 });
    } catch (error) {
      if (!CairnError.is(error)) throw error;
      return Response.json({ code: error.code, message: error.message }, { status: errorTable[error.code].http });
    }
  };
}

function invalid(path: string, reason: string): CairnError {
  return new CairnError('CONFIG_INVALID', { path, reason });
}

/** How long an attempt of a node may take; 0 if it has no deadline and is no effect. */
function deadlineMs({ effect, timeoutMs }: Graph['nodes'][number]): number {
  const isActing = effect === 'write' || effect === 'external';
  const limitMs = timeoutMs ?? (isActing ? effectMs : 0);
  return limitMs === 0 ? 0 : limitMs + graceMs;
}

function longestEffectMs({ nodes }: Graph): number {
  return nodes.reduce((most, node) => Math.max(most, deadlineMs(node)), 0);
}

function refuseLongEffects({ nodes }: Graph, maxMs: number): void {
  for (const node of nodes) {
    const neededMs = deadlineMs(node);
    if (neededMs + slackMs > maxMs) throw new CairnError('HOST_TOO_SHORT', { node: node.id, neededMs, maxMs });
  }
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
  if (Number(request.headers.get('content-length') ?? 0) > bodyBytesMost) throw wrong;
  const body: unknown = await request.json().catch(() => undefined);
  const runId = typeof body === 'object' && body !== null ? (body as { runId?: unknown }).runId : undefined;
  if (typeof runId !== 'string' || runId === '') throw wrong;
  return runId;
}

function resultResponse({ ports }: Engine, result: AdvanceResult): Response {
  const at = result.status === 'paused' ? result.dueAt : result.status === 'held' ? result.until : undefined;
  const retryAfter = result.status === 'running' ? 0 : at && Math.max(0, Math.ceil((at - ports.clock.now()) / 1_000));
  return Response.json(result, retryAfter === undefined ? {} : { headers: { 'retry-after': String(retryAfter) } });
}

type Swept = { readonly runId: string } & (AdvanceResult | { readonly status: 'error'; readonly code: string });

/** Advances what can go on until the time is over. One run that cannot be advanced keeps no other from going on. */
async function sweep(
  engine: Engine,
  graphs: readonly string[],
  forMs: number,
): Promise<{ readonly runs: readonly Swept[] }> {
  const { clock } = engine.ports;
  const endMs = clock.monotonic() + forMs;
  const waiting = [...(await engine.listClaimable({ limit: sweepMost, graphs }))];
  const runs: Swept[] = [];
  const work = async (): Promise<void> => {
    for (let runId = waiting.shift(); runId !== undefined; runId = waiting.shift()) {
      const leftMs = endMs - clock.monotonic();
      if (leftMs <= 0) return;
      try {
        runs.push({ runId, ...(await engine.advance(runId, { forMs: leftMs })) });
      } catch (error) {
        runs.push({ runId, status: 'error', code: CairnError.is(error) ? error.code : 'INTERNAL' });
      }
    }
  };
  await Promise.all(Array.from({ length: sweepWidth }, work));
  return { runs };
}
