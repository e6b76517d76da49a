/** A port for probes that is answered from a thread: a node that holds the event loop is no reason to end its process (O3.2.4). */
import { CairnError } from '../../errors.ts';
import { defaultLeaseMs } from '../../engine/bounds.ts';
import { defaultBusyMaxMs, monotonicMs } from './lease-guard.ts';

/** What a path is answered with. */
export interface PortAnswer {
  readonly status: number;
  readonly body: string;
  /** Default `application/json`. */
  readonly type?: string;
}

export interface HealthPortOptions {
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** 0 picks a free one. */
  readonly port: number;
  /**
   * How long nodes may hold the event loop. Default 5 minutes. 0, where nobody renews the leases of a blocked process: the length of a lease.
   */
  readonly busyMaxMs?: number | undefined;
  /** Answers what is asked at any path but `/livez`, in the event loop. Undefined: there is nothing. */
  readonly answer: (path: string) => Promise<PortAnswer | undefined>;
}

export interface HealthPort {
  readonly port: number;
  close(): Promise<void>;
}

interface HealthThreadData {
  readonly host: string;
  readonly port: number;
  readonly busyMaxMs: number;
  /** When the event loop has not answered by then, 503 is the answer. */
  readonly answerMs: number;
  /** When the event loop turned last, in ms by the monotonic clock. */
  readonly turned: SharedArrayBuffer;
}

type HealthThreadMessage =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'asked'; readonly id: number; readonly path: string };

const beatMs = 250;
/** Longer than what is asked of the store takes at most. */
const answerMs = 3_000;

/** It is a text for the reason for which that of the lease thread is. */
const program = `'use strict';
const { parentPort, workerData } = require('node:worker_threads');
const { createServer } = require('node:http');
const { host, port, busyMaxMs, answerMs } = workerData;
const turned = new BigInt64Array(workerData.turned);
const asked = new Map();
let lastId = 0;

const of = (status, word) => ({ status, body: JSON.stringify({ status: word }) });
const blockedMs = () => Number(process.hrtime.bigint() / 1000000n) - Number(Atomics.load(turned, 0));

function end(id, { status, body, type = 'application/json' }) {
  const { response, late } = asked.get(id) ?? {};
  if (!asked.delete(id)) return;
  clearTimeout(late);
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' }).end(body);
}
parentPort.on('message', ({ id, answer }) => end(id, answer));

const server = createServer({ requestTimeout: 5000, headersTimeout: 5000, connectionsCheckingInterval: 1000 }, (request, response) => {
  const id = ++lastId;
  asked.set(id, { response, late: setTimeout(() => end(id, of(503, 'unready')), answerMs) });
  response.on('close', () => end(id, of(503, 'gone')));
  const path = request.url.split('?', 1)[0];
  if (request.method !== 'GET' && request.method !== 'HEAD') return end(id, of(405, 'only GET is served here'));
  if (path === '/livez') return end(id, blockedMs() > busyMaxMs ? of(503, 'blocked') : of(200, 'ok'));
  parentPort.postMessage({ kind: 'asked', id, path });
});
server.maxConnections = 100;
server.listen(port, host, () => parentPort.postMessage({ kind: 'listening', port: server.address().port }));
`;

/** Opens it. @throws CONFIG_INVALID the address cannot be listened on */
export async function openHealthPort(options: HealthPortOptions): Promise<HealthPort> {
  const { host = '127.0.0.1', port, busyMaxMs = defaultBusyMaxMs, answer } = options;
  const turned = new BigInt64Array(new SharedArrayBuffer(8));
  const turn = (): void => void Atomics.store(turned, 0, BigInt(monotonicMs()));
  turn();
  const workerData: HealthThreadData = {
    host,
    port,
    busyMaxMs: busyMaxMs === 0 ? defaultLeaseMs : busyMaxMs,
    answerMs,
    turned: turned.buffer,
  };
  const { Worker: Thread } = process.getBuiltinModule('node:worker_threads');
  const thread = new Thread(program, {
    eval: true,
    name: 'cairn health',
    workerData,
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
  });
  thread.unref();
  const beat = setInterval(turn, beatMs);
  beat.unref();
  const listening = Promise.withResolvers<number>();
  let isOpen = false;
  thread.on('message', (message: HealthThreadMessage) => {
    if (message.kind === 'listening') {
      isOpen = true;
      return listening.resolve(message.port);
    }
    const { id, path } = message;
    answer(path)
      .catch((): PortAnswer => ({ status: 500, body: '{"status":"failed"}' }))
      .then((found) =>
        thread.postMessage({ id, answer: found ?? { status: 404, body: '{"status":"nothing is here"}' } }),
      )
      .catch(() => undefined);
  });
  thread.on('error', (error) => {
    clearInterval(beat);
    const reason = `cannot answer probes on ${host}:${port}: ${error.message}`;
    listening.reject(new CairnError('CONFIG_INVALID', { path: '--health-port', reason }, { cause: error }));
    if (isOpen) process.emitWarning(reason, { code: 'CAIRN_HEALTH_PORT' });
  });
  return {
    port: await listening.promise,
    async close() {
      clearInterval(beat);
      await thread.terminate();
    },
  };
}
