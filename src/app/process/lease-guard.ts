/** Renews leases from a thread while the event loop of this process is blocked, and tells which node blocked it (O2.9). */
import type { Worker } from 'node:worker_threads';
import { reasonOf } from '../../errors.ts';
import { findInPackage } from '../../optional-peers.ts';
import type { BlockedLoop, GuardedClaim, LeaseGuard } from '../../ports/lease-guard.ts';
import type { Claim, Store } from '../../ports/store.ts';
import { defaultLeaseMs } from '../../engine/bounds.ts';
import { claimBytes, leaseThreadProgram, timesPerClaim, type LeaseThreadData } from './lease-thread.ts';

/** How long nodes may hold the event loop before their leases are renewed no longer. */
export const defaultBusyMaxMs: number = 5 * 60_000;
/** A loop that is blocked for longer is told of. */
const toldMs = 1_000;
/** At most so many nodes are told of. */
const toldMax = 1_000;
const claimsAtFirst = 64;
const claimsMax = 65_536;
const nameBytes = 512;

export interface LeaseGuardOptions {
  readonly store: Store;
  /** That of the engine. Default 10 s. */
  readonly leaseMs?: number | undefined;
  /** Default 5 minutes. 0: there is no guard. */
  readonly busyMaxMs?: number;
}

let reportsTo: number | undefined;

/**
 * From now on this process is ended where a node holds the event loop for longer than `busyMaxMs`: it has a witness, which tells of how it
 * ends. @param descriptor - where that is reported before, as a line of JSON: `{ kind: 'blocked', heldMs }`
 */
export function endWhenBlocked(descriptor: number): void {
  reportsTo = descriptor;
}

/** Makes the guard of a store that other processes may share; undefined where none can take a claim, or none is wanted. */
export function createLeaseGuard({
  store,
  leaseMs = defaultLeaseMs,
  busyMaxMs = defaultBusyMaxMs,
}: LeaseGuardOptions): LeaseGuard | undefined {
  return store.capabilities.isShared && busyMaxMs > 0 ? new ThreadGuard(store, leaseMs, busyMaxMs) : undefined;
}

export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);

type BegunNode = readonly [graphId: string, runId: string, path: string];

class ThreadGuard implements LeaseGuard {
  readonly #store: Store;
  readonly #leaseMs: number;
  readonly #busyMaxMs: number;
  readonly #tickMs: number;
  readonly #turns = new BigInt64Array(new SharedArrayBuffer(16));
  readonly #begun = new Uint8Array(new SharedArrayBuffer(nameBytes));
  /** It grows with the claims, and the thread sees that. */
  readonly #memory = new SharedArrayBuffer(claimsAtFirst * timesPerClaim * 8, {
    maxByteLength: claimsMax * timesPerClaim * 8,
  });
  readonly times: BigInt64Array = new BigInt64Array(this.#memory);
  /** The guarded claims by their place among the times. */
  readonly #claimMemory = new SharedArrayBuffer(claimsAtFirst * claimBytes, { maxByteLength: claimsMax * claimBytes });
  readonly #claims = new Uint8Array(this.#claimMemory);
  #holds = 0n;
  readonly #free: number[] = [];
  #places = 0;
  #thread: Worker | undefined;
  #late: NodeJS.Timeout | undefined;
  #beat: NodeJS.Timeout | undefined;
  #beatAt = 0;
  #last: BegunNode | undefined;
  /** What had begun last when the loop had been blocked for too long. More may begin before the loop turns. */
  #blocking: BegunNode | undefined;
  #isStarted = false;
  readonly #told = new Set<string>();
  #tellOf: ((blocked: BlockedLoop) => boolean) | undefined;

  constructor(store: Store, leaseMs: number, busyMaxMs: number) {
    this.#store = store;
    this.#leaseMs = leaseMs;
    this.#busyMaxMs = busyMaxMs;
    this.#tickMs = Math.max(20, Math.min(500, Math.floor(leaseMs / 20)));
  }

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    clearTimeout(this.#late);
    const source = this.#store.renewalSource?.() ?? 'it offers no way to renew them';
    if (typeof source === 'string') return warnUnguarded(this.#store, source);
    try {
      const driver = source.peer === undefined ? undefined : findInPackage(source.peer, foldersOfProgram());
      this.#startThread(leaseThreadProgram(source.connect), driver, source.data);
    } catch (error) {
      warnUnguarded(this.#store, reasonOf(error));
    }
  }

  #startThread(program: string, driver: string | undefined, data: unknown): void {
    this.#turn();
    const workerData: LeaseThreadData = {
      turns: this.#turns.buffer,
      times: this.#memory,
      claims: this.#claimMemory,
      leaseMs: this.#leaseMs,
      begun: this.#begun.buffer,
      tickMs: this.#tickMs,
      busyMaxMs: this.#busyMaxMs,
      reportsTo,
      driver,
      data,
    };
    const { Worker: Thread } = process.getBuiltinModule('node:worker_threads');
    // Nothing of the program's own settings concerns it: no loaders, no variables of drivers.
    const thread = new Thread(program, {
      eval: true,
      name: 'cairn leases',
      workerData,
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
    });
    thread.unref();
    thread.on('error', (error) => {
      this.#stop();
      warnUnguarded(this.#store, reasonOf(error));
    });
    this.#thread = thread;
    this.#beat = setInterval(() => this.#turn(), this.#tickMs);
    this.#beat.unref();
  }

  /** Shows the thread that the event loop turns, and tells of a loop that did not. */
  #turn(): void {
    const now = monotonicMs();
    const heldMs = now - this.#beatAt;
    // Where the thread stood still too, the whole process did.
    const isAlone = Number(Atomics.load(this.#turns, 1)) > now - heldMs / 2;
    const node = this.#blocking ?? this.#last;
    const isBlocked = this.#beat !== undefined && heldMs > toldMs + this.#tickMs && isAlone;
    if (isBlocked && node !== undefined) this.#tellBlocked(node, heldMs);
    this.#blocking = undefined;
    this.#beatAt = now;
    Atomics.store(this.#turns, 0, BigInt(now));
  }

  #tellBlocked([graphId, runId, path]: BegunNode, heldMs: number): void {
    const key = `${graphId}\0${path}`;
    const isNew = !this.#told.has(key) && this.#told.size < toldMax;
    if (isNew) this.#told.add(key);
    const isLogged = this.#tellOf?.({ graphId, runId, node: path, heldMs, isNew }) === true;
    if (!isNew || isLogged) return;
    process.emitWarning(
      `node ${path} of graph ${graphId} (run ${runId}) held the event loop for ${(heldMs / 1_000).toFixed(1)} s: nothing else of this process went on meanwhile. Do such work in a thread or a process of its own.`,
      { code: 'CAIRN_LOOP_BLOCKED' },
    );
  }

  tell(told: (blocked: BlockedLoop) => boolean): void {
    this.#tellOf = told;
  }

  hold(claim: Claim, requestedAt: number): GuardedClaim {
    const text = encoder.encode(JSON.stringify(claim));
    const isFull = this.#free.length === 0 && this.#places === claimsMax;
    if (isFull || text.length >= claimBytes) return unguarded;
    const place = this.#free.pop() ?? this.#places++;
    this.#growFor(place);
    const at = place * timesPerClaim;
    Atomics.store(this.times, at, BigInt(Math.floor(requestedAt)));
    Atomics.store(this.times, at + 1, 0n);
    this.#claims.set(text, place * claimBytes);
    this.#claims[place * claimBytes + text.length] = 0;
    const hold = (this.#holds += 1n);
    Atomics.store(this.times, at + 3, hold);
    if (!this.#isStarted) this.#late ??= setTimeout(() => this.start(), this.#leaseMs / 3).unref();
    return {
      renewed: (moment) => void Atomics.store(this.times, at, BigInt(Math.floor(moment))),
      renewedByGuard: () => {
        const monotonic = Number(Atomics.load(this.times, at + 1));
        if (monotonic === 0) return undefined;
        return { monotonicMs: monotonic, wallAgoMs: Date.now() - Number(Atomics.load(this.times, at + 2)) };
      },
      release: () => {
        if (Atomics.compareExchange(this.times, at + 3, hold, 0n) === hold) this.#free.push(place);
      },
    };
  }

  #growFor(place: number): void {
    while (this.times.length <= place * timesPerClaim) {
      this.#claimMemory.grow(Math.min(this.#claimMemory.byteLength * 2, this.#claimMemory.maxByteLength));
      this.#memory.grow(Math.min(this.#memory.byteLength * 2, this.#memory.maxByteLength));
    }
  }

  begins(graphId: string, runId: string, path: readonly string[], now: number): void {
    if (this.#thread === undefined) return;
    if (now - this.#beatAt > toldMs + this.#tickMs) this.#blocking ??= this.#last;
    const name = path.length === 1 ? (path[0] ?? '') : path.join('/');
    this.#last = [graphId, runId, name];
    const { written } = encoder.encodeInto(`node ${name} of run ${runId}`, this.#begun);
    this.#begun[Math.min(written, nameBytes - 1)] = 0;
  }

  close(): void {
    this.#stop();
  }

  #stop(): void {
    this.#isStarted = true;
    clearTimeout(this.#late);
    clearInterval(this.#beat);
    this.#beat = undefined;
    const thread = this.#thread;
    this.#thread = undefined;
    void thread?.terminate();
  }
}

const encoder = new TextEncoder();

const unguarded: GuardedClaim = { renewed: () => {}, renewedByGuard: () => undefined, release: () => {} };

/** Where the program may have its packages: beside this code, beside the file that was started, and where it was started. */
function foldersOfProgram(): readonly (string | undefined)[] {
  const path = process.getBuiltinModule('node:path');
  const [, started] = process.argv;
  return [import.meta.dirname, ...(started === undefined ? [] : [path.dirname(started)]), process.cwd()];
}

const warnedStores = new Set<string>();

function warnUnguarded({ name }: Store, reason: string): void {
  if (warnedStores.has(name)) return;
  warnedStores.add(name);
  process.emitWarning(
    `${name}: leases are not renewed while a node holds the event loop: ${reason}. Work that holds it for longer than a lease is begun again by other workers.`,
    { code: 'CAIRN_LEASES_UNGUARDED' },
  );
}
