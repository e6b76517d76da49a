/**
 * The program of the thread that renews leases while the event loop is blocked. It is a text, because a program with Cairn may be bundled
 * into one file, and then there is no other that a thread could be started from.
 */
import type { Claim } from '../../ports/store.ts';

/** What the thread is started with. */
export interface LeaseThreadData {
  /** Times in ms by the monotonic clock: [0] of the last turn of the main thread's event loop, [1] of the thread's own. */
  readonly turns: SharedArrayBuffer;
  /** Three times for each claim: renewed by the main thread (monotonic), by this thread (monotonic), and the same by the wall clock. */
  readonly times: SharedArrayBuffer;
  /** What began last, as UTF-8 that ends with 0. */
  readonly begun: SharedArrayBuffer;
  /** How often the threads look at each other. */
  readonly tickMs: number;
  /** A loop that has been blocked for longer gets no renewals. */
  readonly busyMaxMs: number;
  /** Whether the process is ended then, in place of being left to itself. */
  readonly endsProcess: boolean;
  /** Path of the store's driver. */
  readonly driver: string | undefined;
  /** For the store's `connect`. */
  readonly data: unknown;
}

/** What the main thread tells: a claim has this place from now on, or nothing has. */
export interface LeaseThreadMessage {
  readonly place: number;
  readonly claim?: Claim;
}

/** How many numbers of `times` a claim has. */
export const timesPerClaim = 3;

/** @param connect - JavaScript text of a function: see `RenewalSource` of the store port */
export function leaseThreadProgram(connect: string): string {
  return `'use strict';
const { parentPort, workerData } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const { tickMs, busyMaxMs, endsProcess, driver, data } = workerData;
const turns = new BigInt64Array(workerData.turns);
const times = new BigInt64Array(workerData.times);
const begun = new Uint8Array(workerData.begun);
const connect = ${connect};
// Loaded at once: on a busy machine that takes longer than is left of a lease when the event loop is blocked.
const peer = driver === undefined ? undefined : require(driver);
const idleMs = 30000;

const claims = new Map();
parentPort.on('message', ({ place, claim }) => (claim === undefined ? claims.delete(place) : claims.set(place, claim)));

const nowMs = () => Number(process.hrtime.bigint() / 1000000n);
const timeAt = (index) => Number(Atomics.load(times, index));
let blockedAt = -Infinity, triedAt = -Infinity, isRenewing = false, hasGivenUp = false, connection;

// Only a claim that the main thread should have renewed by now is late, and only a blocked loop is a reason.
const isLate = (now) => ([place, { leaseMs }]) =>
  now - Math.max(timeAt(place * 3), timeAt(place * 3 + 1)) >= leaseMs * 0.4 && now - blockedAt < leaseMs && now - triedAt >= leaseMs / 8;

async function renew() {
  const asked = [...claims];
  const [at, wall] = [nowMs(), Date.now()];
  connection ??= await connect(data, peer);
  const held = await connection.renew(asked.map(([, claim]) => claim));
  asked.forEach(([place, claim], index) => {
    if (held[index] !== true || claims.get(place) !== claim) return;
    Atomics.store(times, place * 3 + 2, BigInt(wall));
    Atomics.store(times, place * 3 + 1, BigInt(at));
  });
}

function disconnect() {
  const last = connection;
  connection = undefined;
  Promise.resolve(last?.close()).catch(() => {});
}

setInterval(() => {
  const now = nowMs();
  Atomics.store(turns, 1, BigInt(now));
  const blockedMs = now - Number(Atomics.load(turns, 0));
  if (blockedMs > tickMs * 2) blockedAt = now;
  if (blockedMs > busyMaxMs) {
    if (!hasGivenUp && claims.size > 0) {
      // A terminal obeys what a name may hold.
      const name = Buffer.from(begun.subarray(0, begun.indexOf(0))).toString().replace(/[^ -~]/g, '?');
      const what = endsProcess ? 'the process is ended' : 'its leases are renewed no longer, and others take up its runs';
      writeSync(2, 'cairn: ' + name + ' has held the event loop of process ' + process.pid + ' for ' + Math.round(blockedMs / 1000) + ' s (busyMaxMs); ' + what + '\\n');
      if (endsProcess) process.kill(process.pid, 'SIGKILL');
    }
    hasGivenUp = true;
    return disconnect();
  }
  hasGivenUp = false;
  if (isRenewing) return;
  if (![...claims].some(isLate(now))) {
    if (connection !== undefined && now - triedAt > idleMs) disconnect();
    return;
  }
  triedAt = now;
  isRenewing = true;
  // The store may come back before the leases run out.
  renew().catch(disconnect).finally(() => (isRenewing = false));
}, tickMs);
`;
}
