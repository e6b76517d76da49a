/** A host over Restate: one virtual object a run, whose one handler advances it for a slice of time (docs/spec/hosts.md). */
import { wakeByRestate } from '../app/wake-host.ts';
import type * as Restate from '@restatedev/restate-sdk';
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { AdvanceResult, RunWaker } from '../engine/api.ts';
import { CairnError } from '../errors.ts';
import { invalidOption, refuseUnknownKeys } from '../graph/known-keys.ts';
import { importPeer } from '../optional-peers.ts';
import { nextSliceMs, serve, slackMs, sweepRuns, type HostedGraph, type Hosted } from './slices.ts';

/** How long a slice is. Long, so that few calls are made for a run; what is short ends earlier by itself. */
const defaultForMs = 60_000;
const sweepEveryMs = 60_000;

/** Options of {@link restateHost}. */
export interface RestateHostOptions {
  /** Compiled graphs whose runs are advanced. All must share one engine: `second.compile({ engine: first.engine })`. */
  readonly graphs: readonly HostedGraph[];
  /** The server's ingress, through which runs are woken: `http://restate:8080`. */
  readonly ingress: string;
  /** Sent to the ingress as `Authorization: Bearer …`. Default: none. */
  readonly token?: string | undefined;
  /** Public keys of the server's request identity (`publickeyv1_…`). Without them, only this machine can reach the endpoint. */
  readonly identityKeys?: readonly string[] | undefined;
  /** How long a run is advanced in one call, in ms. Default 60,000. */
  readonly forMs?: number;
  /** Told of runs that could not be advanced; `runId` is empty if a sweep could not be made. */
  readonly onError?: (runId: string, error: unknown) => void;
}

/** An endpoint for a Restate server. */
export interface RestateHost extends RunWaker {
  /**
   * Serves the endpoint over HTTP/2, sweeps once a minute, and says at which port. Register its address with the server once. @param port -
   * 0 picks a free one. @param address - default: this machine only without `identityKeys`, else all
   */
  listen(port: number, address?: string): Promise<number>;
  /** Wakes what can go on and is advanced by nobody (HO6). */
  sweep(): Promise<void>;
  /** Ends the server and the sweeps. Closing the engine afterwards gives back what is advanced. */
  close(): Promise<void>;
}

const optionNames: Readonly<Record<keyof RestateHostOptions, true>> = {
  graphs: true,
  ingress: true,
  token: true,
  identityKeys: true,
  forMs: true,
  onError: true,
};

/**
 * Makes an endpoint of which a Restate server calls one virtual object, `cairnRun`, by run id. Nothing of a run is in the server but that
 * id, its status and when it is due. From now on the engine of the graphs wakes the server after each start, answer, signal and cancel.
 * @throws CONFIG_INVALID an unknown option, no graph, graphs of several engines, no address, an option out of range
 */
export function restateHost(options: RestateHostOptions): RestateHost {
  refuseUnknownKeys('restateHost', options, Object.keys(optionNames));
  const { ingress, token, identityKeys, forMs = defaultForMs } = options;
  if (!(Number.isFinite(forMs) && forMs > 0)) throw invalidOption('forMs', 'it is a number of milliseconds above 0');
  if (identityKeys?.length === 0)
    throw invalidOption('identityKeys', 'it is empty; leave it out to be reached by this machine only');
  return new RestateEndpoint({ ...options, forMs }, serve(options.graphs), wakeByRestate({ ingress, token }));
}

/** What is journaled of a slice: nothing else of a run goes to the server (HO7). */
interface Stand {
  readonly status: AdvanceResult['status'] | 'stale';
  /** When to advance the run again, in ms from then; null: when a message comes, or never. */
  readonly againMs: number | null;
}

/** Waking carries nothing; an alarm carries the generation in which it was set. */
interface Alarm {
  readonly generation?: number;
}

/**
 * The generation after a tick, which makes the alarms of all earlier ones stale. Undefined: the run is over, and nothing of it stays with the
 * server.
 */
export function generationAfter({ status, againMs }: Stand, generation: number): number | undefined {
  return againMs !== null || status === 'paused' ? generation + 1 : undefined;
}

const objectName = 'cairnRun';
type Sdk = typeof Restate;

const loopback: readonly string[] = ['127.0.0.1', '::1', 'localhost'];

class RestateEndpoint implements RestateHost {
  readonly #options: RestateHostOptions & { readonly forMs: number };
  readonly #hosted: Hosted;
  readonly #host: RunWaker;
  readonly #sessions = new Set<ServerHttp2Session>();
  #server: Http2Server | undefined;
  #cancelSweep: (() => void) | undefined;

  constructor(options: RestateHostOptions & { readonly forMs: number }, hosted: Hosted, host: RunWaker) {
    this.#options = options;
    this.#hosted = hosted;
    this.#host = host;
    hosted.engine.dispatchBy(host);
  }

  wake(runId: string, at: number): Promise<void> {
    return this.#host.wake(runId, at);
  }

  async listen(port: number, address?: string): Promise<number> {
    const { identityKeys } = this.#options;
    const host = address ?? (identityKeys === undefined ? '127.0.0.1' : undefined);
    if (identityKeys === undefined && !loopback.includes(host ?? ''))
      throw invalidOption('identityKeys', `without them anybody at ${host} could call; give the keys of the server`);
    if (this.#server !== undefined) throw invalidOption('listen', 'this host listens already');
    const server = createServer(await this.#handler());
    this.#server = server;
    server.on('session', (session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    this.#sweepLater();
    return (server.address() as AddressInfo).port;
  }

  /** @throws CONFIG_MISSING_PEER */
  async #handler(): Promise<Parameters<typeof createServer>[1]> {
    const restate = await importPeer<Sdk>('@restatedev/restate-sdk');
    const { identityKeys, forMs } = this.#options;
    // A slice is one step. If the server ended it earlier, it would call for another while this one is in an effect.
    const slowestMs = forMs + this.#hosted.longestMs + slackMs;
    const object = restate.object({
      name: objectName,
      handlers: { tick: (ctx: Restate.ObjectContext, alarm?: Alarm) => this.#tick(restate, ctx, alarm) },
      options: {
        journalRetention: 0,
        idempotencyRetention: 0,
        inactivityTimeout: slowestMs,
        abortTimeout: slowestMs,
        // A call that fails for long would keep all later ones waiting. The sweep calls again.
        retryPolicy: { initialInterval: 500, maxInterval: 2_000, maxAttempts: 10, onMaxAttempts: 'kill' },
      },
    });
    return restate.createEndpointHandler({
      services: [object],
      ...(identityKeys !== undefined && { identityKeys: [...identityKeys] }),
      logger: () => undefined,
    });
  }

  /** The handler: each tick that has advanced a run sets at most one alarm, and makes those set before it stale. */
  async #tick(restate: Sdk, ctx: Restate.ObjectContext, alarm: Alarm | undefined): Promise<Stand> {
    const generation = (await ctx.get<number>('generation')) ?? 0;
    if (alarm?.generation !== undefined && alarm.generation !== generation) return { status: 'stale', againMs: null };
    const stand = await ctx.run('advance', () => this.#advance(restate, ctx.key));
    const next = generationAfter(stand, generation);
    if (next === undefined) {
      ctx.clear('generation');
      return stand;
    }
    ctx.set('generation', next);
    if (stand.againMs !== null) {
      const parameter = new TextEncoder().encode(JSON.stringify({ generation: next } satisfies Alarm));
      ctx.genericSend({ service: objectName, key: ctx.key, method: 'tick', parameter, delay: stand.againMs });
    }
    return stand;
  }

  async #advance(restate: Sdk, runId: string): Promise<Stand> {
    const { engine } = this.#hosted;
    try {
      const result = await engine.advance(runId, { forMs: this.#options.forMs });
      const nextMs = nextSliceMs(result, engine.ports.clock.now());
      return { status: result.status, againMs: nextMs === undefined ? null : Math.ceil(nextMs) };
    } catch (error) {
      this.#options.onError?.(runId, error);
      const { code, retry } = CairnError.from(error);
      // Only the code: texts of errors may quote values of the run, which are none of the server's business.
      if (retry === 'no') throw new restate.TerminalError(code);
      throw Object.assign(new Error(code), { stack: code });
    }
  }

  async sweep(): Promise<void> {
    const { clock } = this.#hosted.engine.ports;
    await sweepRuns(this.#hosted, async (runId) => {
      await this.#host.wake(runId, clock.now());
      return true;
    });
  }

  #sweepLater(): void {
    const { clock } = this.#hosted.engine.ports;
    this.#cancelSweep = clock.setTimer(sweepEveryMs, () => {
      this.#sweepLater();
      this.sweep().catch((error: unknown) => this.#options.onError?.('', error));
    });
  }

  async close(): Promise<void> {
    this.#cancelSweep?.();
    const server = this.#server;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const session of this.#sessions) session.destroy();
    await closed;
  }
}
