/** One process under test: what a graph's functions see of it, and how it is killed. */
import { ProcessKilled, type EffectEntry, type EffectOracle, type CrashUsers } from './find-effect-faults.ts';
import { AsyncLocalStorage } from 'node:async_hooks';
import { makeKeySeed } from '../../history/stored/key-seed.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import type { Admission, Commit, Store } from '../../ports/store.ts';
import { storeMethods, type StoreMethod } from '../faulty-store.ts';
import type { Bounds } from '../../engine/bounds.ts';
import type { GraphOrRunnable } from '../../graph/runnable-graph.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Models } from '../../ports/model.ts';

/**
 * The process that a graph runs in. The graph is built again for each process and reaches the outside only through this object, so that a
 * killed process has no effects.
 */
export interface CrashProcess {
  /** Receives effects. In a killed process `apply` throws. */
  readonly oracle: EffectOracle;
  /** Waits on the process's clock. Never resolves in a killed process. */
  readonly sleep: (delayMs: number) => Promise<void>;
}

/**
 * Where a process is killed: before or after its n-th write to the store or the blobs, its n-th effect on the oracle, or its n-th call of a
 * node or step of class `write` or `external`, counted from 1. After a call means that it has returned but its result is not recorded.
 */
export interface CrashPoint {
  readonly kind: 'write' | 'effect' | 'call';
  readonly number: number;
  readonly when: 'before' | 'after';
}

const kinds: readonly CrashPoint['kind'][] = ['write', 'effect', 'call'];

/** Counts the crash points that a process passes, and kills it at one of them. */
export class Life {
  isDead = false;
  readonly counts: Record<CrashPoint['kind'], number> = { write: 0, effect: 0, call: 0 };
  /** Numbers of calls whose effects were reported to the oracle; those effects are crash points of their own. */
  readonly callsToOracle: Set<number> = new Set();
  /** Resolves when the process is killed. */
  readonly death: Promise<void>;
  #resolveDeath: () => void = () => {};
  readonly #point: CrashPoint | undefined;
  readonly #kill: () => void;

  /** @param kill - ends the process in addition to silencing this object; a real kill does not return */
  constructor(point?: CrashPoint, kill: () => void = () => {}) {
    this.#point = point;
    this.#kill = kill;
    this.death = new Promise((resolve) => {
      this.#resolveDeath = resolve;
    });
  }

  /**
   * Counts a crash point. If the process must die before it, it is killed now. @returns whether to go on, and whether to kill the process
   * afterwards
   */
  enter(kind: CrashPoint['kind']): 'go' | 'dead' | 'die after' {
    this.counts[kind] += 1;
    const { kind: fatal, number, when } = this.#point ?? {};
    if (fatal !== kind || number !== this.counts[kind]) return 'go';
    if (when === 'after') return 'die after';
    this.kill();
    return 'dead';
  }

  kill(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.#kill();
    this.#resolveDeath();
  }

  /** Every point that this process has passed. */
  get points(): readonly CrashPoint[] {
    return kinds.flatMap((kind) =>
      Array.from({ length: this.counts[kind] }, (_, index) => index + 1)
        .filter((number) => kind !== 'call' || !this.callsToOracle.has(number))
        .flatMap((number) => (['before', 'after'] as const).map((when) => ({ kind, number, when }))),
    );
  }
}

/** The oracle as a process sees it: unreachable once the process is dead, with a crash point before and after each effect. */
export function mortalOracle(oracle: EffectOracle, life: Life): EffectOracle {
  const refuse = (): never => {
    throw new ProcessKilled();
  };
  return {
    apply: (entry: EffectEntry) => {
      if (life.isDead) refuse();
      const fate = life.enter('effect');
      if (fate === 'dead') refuse();
      oracle.apply(entry);
      if (fate === 'go') return;
      life.kill();
      refuse();
    },
    get entries() {
      return oracle.entries;
    },
    find: (key) => (life.isDead ? refuse() : oracle.find(key)),
    reconcile: (key) => (life.isDead ? refuse() : oracle.reconcile(key)),
  };
}

/** A promise that never resolves; what a killed process waits for. */
export function never<Value>(): Promise<Value> {
  return new Promise<Value>(() => {});
}

// Keeps track of running functions. While one waits for something real, such as a command or a network response, virtual time stands still.

/** The longest time, in real ms, that virtual time stands still for work that does not end. */
const realWorkMsMost = 60_000;
/** The longest time, in real ms, to wait for a function whose work is not visible in the event loop, such as loading a module. */
const unseenWorkMsMost = 1_000;

/** One running call of a node's or step's function, or of the store. */
class Attempt {
  /** Number of its calls that wait for the engine or for virtual time. */
  waits = 0;
  isOver = false;
  /** Real time in ms when it began or last continued. */
  since: number = performance.now();
  /** The longest real time in ms for which it is waited, if the event loop shows nothing of it. */
  readonly unseenMsMost: number;

  constructor(unseenMsMost: number) {
    this.unseenMsMost = unseenMsMost;
  }
}

/** Knows which functions are running, and whether they wait for something outside of virtual time. */
export class WorkUnderWay {
  readonly #attempts = new Set<Attempt>();
  readonly #current = new AsyncLocalStorage<Attempt>();
  /** Resources of the event loop, by kind, that existed at the start. */
  readonly #before: ReadonlyMap<string, number> = countResources();
  #busySince: number | undefined;

  /**
   * Calls a function and counts it as running until it has ended. Returns a promise only if the function does. @param unseenMsMost - the
   * longest real time to wait for it while the event loop shows nothing of it
   */
  attempt<Value>(work: () => Value, unseenMsMost: number = unseenWorkMsMost): Value {
    const attempt = new Attempt(unseenMsMost);
    this.#attempts.add(attempt);
    const end = (): void => {
      attempt.isOver = true;
      this.#attempts.delete(attempt);
    };
    let value: Value;
    try {
      value = this.#current.run(attempt, work);
    } catch (error) {
      end();
      throw error;
    }
    if (value instanceof Promise) value.then(end, end);
    else end();
    return value;
  }

  /** Marks the calling function as waiting for the engine or for virtual time until the promise has settled. */
  async wait<Value>(begin: () => Promise<Value>): Promise<Value> {
    const attempt = this.#current.getStore();
    if (attempt !== undefined) this.#change(attempt, 1);
    try {
      return await begin();
    } finally {
      if (attempt !== undefined) this.#change(attempt, -1);
    }
  }

  /**
   * Whether virtual time must stand still. It must if a function is running, and either the event loop has something new to wait for or the
   * function has only just begun. A function that only waits for its own timeout does not count.
   */
  isBusy(): boolean {
    if (this.#attempts.size === 0) return false;
    const now = performance.now();
    if (!hasNewResources(this.#before)) {
      this.#busySince = undefined;
      return [...this.#attempts].some(({ since, unseenMsMost }) => now - since < unseenMsMost);
    }
    this.#busySince ??= now;
    return now - this.#busySince < realWorkMsMost;
  }

  /** Resolves when no real work is in progress, so that commands of a killed process have ended. */
  async atRest(): Promise<void> {
    while (this.isBusy()) await new Promise((resolve) => void setTimeout(resolve, 1));
  }

  #change(attempt: Attempt, by: number): void {
    attempt.waits += by;
    if (attempt.isOver) return;
    if (attempt.waits > 0) this.#attempts.delete(attempt);
    else {
      attempt.since = performance.now();
      this.#attempts.add(attempt);
    }
  }
}

function countResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Whether there are new resources. Immediates do not count, because virtual time uses them itself. */
function hasNewResources(before: ReadonlyMap<string, number>): boolean {
  return [...countResources()].some(([kind, count]) => kind !== 'Immediate' && count > (before.get(kind) ?? 0));
}

// The store as a process under test sees it: writes are counted, and once the process is dead no call goes through and no reply arrives.

/** Writes that are crash points. */
const writes: ReadonlySet<StoreMethod> = new Set(['admitRun', 'commit', 'postMessage']);

type Call = (...args: readonly unknown[]) => Promise<unknown>;

/** One call of a process to its storage, which always ends. A dead process makes none, and hears of the end of none. */
async function mortalCall(
  isPoint: boolean,
  life: Life,
  work: WorkUnderWay,
  call: () => Promise<unknown>,
): Promise<unknown> {
  if (life.isDead) return never();
  const fate = isPoint ? life.enter('write') : 'go';
  if (fate === 'dead') return never();
  const [reply] = await Promise.allSettled([work.attempt(call, realWorkMsMost)]);
  if (fate === 'die after') life.kill();
  if (life.isDead) return never();
  if (reply.status === 'rejected') throw reply.reason;
  return reply.value;
}

/** Every trial has a store of its own. All return the same identity, so that idempotency keys can be compared between trials. */
const trialIdentity: Pick<Store, 'readIdentity'> = { readIdentity: () => Promise.resolve('crash kit') };

/** For the same reason a run of this id is the same run in every trial: its keys do not depend on when and where it was begun. */
async function bornAlike(admission: Admission): Promise<Admission> {
  const meta = metaOf(admission);
  if (meta.keySeed === undefined) return admission;
  const keySeed = await makeKeySeed(trialIdentity, admission.tenant, admission.runId, 'in a trial');
  return { ...admission, meta: new TextEncoder().encode(JSON.stringify({ ...meta, keySeed })) };
}

/**
 * Wraps a store for one process. @param work - called with each call, which may take real time. @param onCommit - called with commits that
 * the store acknowledged
 */
export function mortalStore(
  store: Store,
  life: Life,
  work: WorkUnderWay = new WorkUnderWay(),
  onCommit: (commit: Commit) => void = () => {},
): Store {
  const wrap =
    (method: StoreMethod): Call =>
    (...args) =>
      mortalCall(writes.has(method), life, work, async () => {
        const given = method === 'admitRun' ? [await bornAlike(args[0] as Admission)] : args;
        const reply = await (store[method] as Call)(...given);
        if (method === 'commit') onCommit(args[0] as Commit);
        return reply;
      });
  return {
    name: store.name,
    capabilities: store.capabilities,
    ...Object.fromEntries(storeMethods.map((method) => [method, wrap(method)])),
    readIdentity: () => (life.isDead ? never() : trialIdentity.readIdentity()),
    ...(store.watch && {
      watch: (tenant: string, wake: () => void) => store.watch?.(tenant, () => void (life.isDead || wake())),
    }),
    ...(store.findDamage && { findDamage: () => (life.isDead ? never() : store.findDamage?.()) }),
    close: () => (life.isDead ? never() : store.close()),
  } as Store;
}

/** Wraps blobs for one process: each put is a write. */
export function mortalBlobs(blobs: BlobStore, life: Life, work: WorkUnderWay): BlobStore {
  const call = <Value>(run: () => Promise<Value>, isPoint = false): Promise<Value> =>
    mortalCall(isPoint, life, work, run) as Promise<Value>;
  return {
    name: blobs.name,
    put: (...args) => call(() => blobs.put(...args), true),
    get: (...args) => call(() => blobs.get(...args)),
    async *stream(...args) {
      const pieces = blobs.stream(...args)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await call(() => pieces.next());
          if (next.done === true) return;
          yield next.value;
        }
      } finally {
        await pieces.return?.();
      }
    },
    has: (...args) => call(() => blobs.has(...args)),
    touch: (...args) => call(() => blobs.touch(...args)),
    sweep: (...args) => call(() => blobs.sweep(...args)),
    remove: (...args) => call(() => blobs.remove(...args)),
  };
}

// The options of the crash kit, and what it reports.

/** The run to crash. */
export interface CrashCase extends CrashUsers {
  /** Builds the graph for one process: a graph, a workflow or a flow, compiled or not. The engine is the kit's own. */
  readonly graph: (process: CrashProcess) => GraphOrRunnable;
  readonly input: unknown;
  /** Makes the models for one process. Each model call belongs to a step or node, and is watched as part of it. */
  readonly models?: (process: CrashProcess) => Models;
  /**
   * Dotted paths of the final state that differ from run to run and are not compared, such as `outputs.fetch.headers.etag`. A `*` stands
   * for one or more names. Dates in the format of HTTP headers are never compared.
   */
  readonly varies?: readonly string[];
  /** Examines what the ended run has done outside of the store. Its result is compared, as JSON. If it throws, the trial has a fault. */
  readonly inspect?: () => unknown;
  /**
   * Whether the work done is the same for every schedule. If false, what else was done before a failure may vary; only the end, and effects
   * that happened twice, are compared. Default true.
   */
  readonly isScheduleFree?: boolean;
  /** Whether the run is meant to end as failed or cancelled when nothing kills it. If not, such an end is a fault. Default false. */
  readonly mayFail?: boolean;
  /** Advances the run in slices of this many ms, as a host does (`engine.advance`). Default: until it rests. */
  readonly sliceMs?: number;
}

export const caseNames: readonly string[] = Object.keys({
  answer: true,
  signal: true,
  decide: true,
  graph: true,
  input: true,
  models: true,
  varies: true,
  inspect: true,
  isScheduleFree: true,
  mayFail: true,
  sliceMs: true,
} satisfies Record<keyof CrashCase, true>);

/** Storage shared by the processes of one trial: an empty store, and blobs. Default: blobs in memory. */
export interface CrashStorage {
  readonly store: Store;
  readonly blobs?: BlobStore;
  /**
   * Opens the same storage again, for the process after one that was killed, whose store was closed. Default: that process uses the same
   * objects.
   */
  readonly reopen?: () => CrashStorage | Promise<CrashStorage>;
  /**
   * Whether an error comes from a crash of the storage itself, such as of its server: users then resume the run in the same process.
   * Default: no error does, and each is a fault.
   */
  readonly isInterruption?: (error: unknown) => boolean;
}

export interface CrashKitOptions {
  /**
   * Opens empty storage for a trial.
   *
   * @param now - returns the trial's virtual time in epoch ms, by which leases are measured
   * @param kill - kills the process that runs now, for storage with crash points of its own, such as the middle of a write
   */
  readonly open: (now: () => number, kill: () => void) => CrashStorage | Promise<CrashStorage>;
  /**
   * Chooses the trials from all crash points. Default: one trial for each point. In a trial with several points, its first processes are
   * killed at these in turn; in one without any, only by the storage.
   */
  readonly choose?: (points: readonly CrashPoint[]) => readonly (readonly CrashPoint[])[];
  readonly limits?: Partial<Bounds>;
}

export interface CrashFault {
  readonly points: readonly CrashPoint[];
  /** The differences from what was expected, one sentence each. */
  readonly faults: readonly string[];
}

export interface CrashReport {
  /** Trials whose crash point was never reached, because real processes do not group checkpoints the same way each time. Absent: none. */
  readonly missed?: number;
  /** Number of points at which a process can be killed. */
  readonly points: number;
  readonly trials: number;
  readonly faults: readonly CrashFault[];
}
