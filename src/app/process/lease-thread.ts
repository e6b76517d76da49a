/**
 * The program of the thread that renews leases while the event loop is blocked. It is a text, because a program with Cairn may be bundled
 * into one file, and then there is no other that a thread could be started from.
 */
/** What the thread is started with. */
export interface LeaseThreadData {
  /** Times in ms by the monotonic clock: [0] of the last turn of the main thread's event loop, [1] of the thread's own. */
  readonly turns: SharedArrayBuffer;
  /**
   * Four numbers for each place of a claim: the times when it was renewed by the main thread (monotonic), by this thread (monotonic), and
   * the same by the wall clock; then a number of the claim's own, 0 while the place is free.
   */
  readonly times: SharedArrayBuffer;
  /** The claim of each place, as JSON that ends with 0. It is looked at only when it is late: a message for each would cost more. */
  readonly claims: SharedArrayBuffer;
  readonly leaseMs: number;
  /** What began last, as UTF-8 that ends with 0. */
  readonly begun: SharedArrayBuffer;
  /** How often the threads look at each other. */
  readonly tickMs: number;
  /** A loop that has been blocked for longer gets no renewals. */
  readonly busyMaxMs: number;
  /** The process is ended then, when it was reported to this descriptor. Undefined: it is left to itself. */
  readonly reportsTo: number | undefined;
  /** Path of the store's driver. */
  readonly driver: string | undefined;
  /** For the store's `connect`. */
  readonly data: unknown;
}

/** How many numbers of `times` a claim has. */
export const timesPerClaim = 4;
/** The most bytes that a claim takes with its end. One with a longer id is not guarded. */
export const claimBytes = 4_096;

/** Says which node began last, and ends the process where somebody tells of how it ends. */
const tellBlocked = `function tellBlocked(heldMs) {
  // A terminal obeys what a name may hold.
  const name = Buffer.from(begun.subarray(0, begun.indexOf(0))).toString().replace(/[^ -~]/g, '?');
  const what = reportsTo !== undefined ? 'the process is ended' : 'its leases are renewed no longer, and others take up its runs';
  writeSync(2, 'cairn: ' + name + ' has held the event loop of process ' + process.pid + ' for ' + Math.round(heldMs / 1000) + ' s (busyMaxMs); ' + what + '\\n');
  if (reportsTo === undefined) return;
  writeSync(reportsTo, JSON.stringify({ kind: 'blocked', heldMs }) + '\\n');
  process.kill(process.pid, 'SIGKILL');
}`;

/** Finds the claims that are held. */
const findClaims = `// The place may be given to another claim while it is read, and is passed over then.
function claimAt(place, hold) {
  const start = place * ${claimBytes};
  const text = Buffer.from(claims.slice(start, claims.indexOf(0, start))).toString();
  return timeAt(place * ${timesPerClaim} + 3) === hold ? [{ place, hold, claim: JSON.parse(text) }] : [];
}

function heldClaims() {
  const held = [];
  for (let place = 0; place * ${timesPerClaim} < times.length; place += 1) {
    const hold = timeAt(place * ${timesPerClaim} + 3);
    if (hold !== 0) held.push({ place, hold });
  }
  return held;
}`;

/** @param connect - JavaScript text of a function: see `RenewalSource` of the store port */
export function leaseThreadProgram(connect: string): string {
  return `'use strict';
const { workerData } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const { tickMs, busyMaxMs, reportsTo, driver, data, leaseMs } = workerData;
const turns = new BigInt64Array(workerData.turns);
const times = new BigInt64Array(workerData.times);
const claims = new Uint8Array(workerData.claims);
const begun = new Uint8Array(workerData.begun);
const connect = ${connect};
// Loaded at once: on a busy machine that takes longer than is left of a lease when the event loop is blocked.
const peer = driver === undefined ? undefined : require(driver);
const idleMs = 30000;

const nowMs = () => Number(process.hrtime.bigint() / 1000000n);
const timeAt = (index) => Number(Atomics.load(times, index));
let tickedAt = nowMs(), turnedAt = 0, heldMs = 0;
let blockedAt = -Infinity, triedAt = -Infinity, isRenewing = false, hasGivenUp = false, connection;

${findClaims}

// Only a claim that the main thread should have renewed by now is late, and only a blocked loop is a reason.
const isLate = (now) => ({ place }) =>
  now - Math.max(timeAt(place * ${timesPerClaim}), timeAt(place * ${timesPerClaim} + 1)) >= leaseMs * 0.4;
const isAnyLate = (now) => now - blockedAt < leaseMs && now - triedAt >= leaseMs / 8 && heldClaims().some(isLate(now));

async function renew() {
  const asked = heldClaims().flatMap(({ place, hold }) => claimAt(place, hold));
  const [at, wall] = [nowMs(), Date.now()];
  connection ??= await connect(data, peer);
  const held = await connection.renew(asked.map(({ claim }) => claim));
  asked.forEach(({ place, hold }, index) => {
    if (held[index] !== true || timeAt(place * ${timesPerClaim} + 3) !== hold) return;
    Atomics.store(times, place * ${timesPerClaim} + 2, BigInt(wall));
    Atomics.store(times, place * ${timesPerClaim} + 1, BigInt(at));
  });
}

function disconnect() {
  const last = connection;
  connection = undefined;
  Promise.resolve(last?.close()).catch(() => {});
}

${tellBlocked}
setInterval(() => {
  const now = nowMs();
  Atomics.store(turns, 1, BigInt(now));
  const turned = Number(Atomics.load(turns, 0));
  if (now - turned > tickMs * 2) blockedAt = now;
  // Time in which this thread stood still too is no node's: then the whole process did.
  heldMs = turned === turnedAt ? heldMs + Math.min(now - tickedAt, tickMs * 4) : 0;
  [tickedAt, turnedAt] = [now, turned];
  if (heldMs > busyMaxMs) {
    if (!hasGivenUp && heldClaims().length > 0) tellBlocked(heldMs);
    hasGivenUp = true;
    return disconnect();
  }
  hasGivenUp = false;
  if (isRenewing) return;
  if (!isAnyLate(now)) {
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
