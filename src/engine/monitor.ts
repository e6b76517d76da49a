/** Tells the log and the counters of an engine what becomes of its runs: the one place where events and counters have their names (E10). */
import { CairnError } from '../errors.ts';
import type { Amounts } from '../graph/amounts.ts';
import type { Clock } from '../ports/clock.ts';
import type { BlockedLoop } from '../ports/lease-guard.ts';
import type { Log, LogFields, LogLevel, LoggedError } from '../ports/log.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { RunRow } from '../ports/store.ts';
import type { Attributes, SpanException, Telemetry } from '../ports/telemetry.ts';

/** A commit that takes longer is logged. */
const slowCommitMs = 1_000;
/** A store that is slow makes all commits slow: one of them is logged in this time. */
const slowCommitEveryMs = 10_000;
/** How many sets of attributes are kept. */
const attributesMax = 2_000;

type About = Pick<RunRow, 'runId' | 'graphId'>;

/** Why a run failed: the innermost node whose failure nothing handled. */
export interface FatalFailure {
  readonly node: readonly string[];
  readonly exception: SpanException;
}

/** An attempt that failed, and is followed by another. */
export interface PlannedRetry {
  /** `a`, `a/step`. */
  readonly effort: string;
  /** Number of the attempt to come. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly error: Pick<SpanException, 'code' | 'message'> & { readonly name?: string };
}

export interface MonitorOptions {
  readonly log: Log | undefined;
  readonly metrics: Metrics | undefined;
  readonly telemetry: Telemetry | undefined;
  readonly clock: Clock;
  readonly workerId: string;
}

/** Makes a monitor; undefined if nobody listens. */
export function createMonitor(options: MonitorOptions): Monitor | undefined {
  const { log, metrics, telemetry } = options;
  return log === undefined && metrics === undefined && telemetry === undefined ? undefined : new Monitor(options);
}

export class Monitor {
  readonly #log: Log | undefined;
  readonly #counters: readonly (Pick<Metrics, 'count'> & Partial<Metrics>)[];
  /** Whether anybody wants to know how long things take. */
  readonly measures: boolean;
  readonly #clock: Clock;
  readonly #workerId: string;
  readonly #attributes = new Map<string, Attributes>();
  #slowUntil = -Infinity;

  constructor({ log, metrics, telemetry, clock, workerId }: MonitorOptions) {
    this.#log = log;
    this.#counters = [telemetry, metrics].filter((each) => each !== undefined);
    this.measures = log !== undefined || this.#counters.some(({ measure }) => measure !== undefined);
    this.#clock = clock;
    this.#workerId = workerId;
  }

  /** This process defines a limit otherwise than it was defined so far, which applies from now on, for all workers. */
  redefined(limit: string): void {
    const message = `limit ${limit} is defined otherwise here, which applies to all workers from now on`;
    this.#log?.warn({ event: 'limit-redefined', limit, worker: this.#workerId }, message);
  }

  get hasLog(): boolean {
    return this.#log !== undefined;
  }

  /** A run was claimed here. @param isNew - whether it was started here just now */
  claimed({ runId, graphId, deaths }: About & Pick<RunRow, 'deaths'>, isNew: boolean): void {
    const about = { runId, graphId };
    this.#count('cairn.claims', 1, this.#of(graphId));
    if (isNew) return this.#tell('info', 'started', about, 'started');
    if (deaths === 0) return this.#tell('info', 'taken', about, 'taken');
    this.#count('cairn.takeovers', 1, this.#of(graphId));
    const times = deaths === 1 ? '' : `, the ${deaths}. in a row`;
    this.#tell('warn', 'taken', about, `taken over from an owner that ended without giving it back${times}`, {
      takeover: true,
      deaths,
    });
  }

  /** A run that may be what ended its last owners is advanced apart. */
  suspected({ runId, graphId, deaths, deathsSinceRest }: RunRow): void {
    this.#count('cairn.suspects', 1, this.#of(graphId));
    const message = `it has lost ${Math.max(deaths, deathsSinceRest)} owners in a row and is advanced apart from other runs`;
    this.#tell('warn', 'suspect', { runId, graphId }, message, { deaths, deathsSinceRest });
  }

  /** A run has ended or paused here. */
  rested(about: About, status: string, failure?: FatalFailure): void {
    if (status !== 'paused') this.#count('cairn.runs.ended', 1, this.#of(about.graphId, 'cairn.status', status));
    if (status !== 'failed') return this.#tell('info', status, about, status);
    if (failure === undefined) return this.#tell('error', 'failed', about, 'failed');
    const { node, exception } = failure;
    const place = node.join('/');
    const { code, message, stack } = exception;
    const kind = code === 'NODE_FAILED' ? '' : ` [${code}]`;
    const frame = /\n {4}at (?!… )(.*)/u.exec(stack)?.[1];
    const line = frame === undefined ? '' : ` at ${frame}`;
    const err = { type: exception.name, code, message, stack };
    this.#tell('error', 'failed', about, `${place}: ${message}${kind}${line}`, { node: place, err });
  }

  /** A run was given back as it stands. @param isSlice - since its slice of time is over */
  handedBack(about: About, isSlice: boolean): void {
    if (isSlice) this.#tell('debug', 'yielded', about, 'given back, since its slice of time is over');
    else this.#tell('info', 'handed-back', about, 'handed back, since this process stops');
  }

  /** A run cannot be advanced here any more. */
  broken(about: About, error: unknown): void {
    const isLost = CairnError.is(error, 'CLAIM_LOST', 'CLAIM_FENCED');
    if (isLost) this.#count('cairn.leases.lost', 1, this.#of(about.graphId));
    const event = isLost ? 'lease-lost' : 'stopped';
    this.#tell(isLost ? 'warn' : 'error', event, about, messageOf(error), { err: loggedError(error) });
  }

  /** A webhook that is owed could not be delivered now. A worker looks for it later. */
  owed(about: About, error: unknown): void {
    this.#tell('warn', 'webhook-owed', about, messageOf(error), { err: loggedError(error) });
  }

  /** The store could not be asked for work. */
  lookFailed(error: unknown): void {
    this.#tell('error', 'look-failed', undefined, messageOf(error), { err: loggedError(error) });
  }

  /** An attempt of a node has ended: by its outcome, or `retrying`. */
  attemptEnded(graphId: string, outcome: string): void {
    if (this.#counters.length > 0) this.#count('cairn.attempts', 1, this.#of(graphId, 'cairn.status', outcome));
  }

  retrying(about: About, { effort, attempt, delayMs, error }: PlannedRetry): void {
    this.#count('cairn.retries', 1, this.#of(about.graphId));
    if (this.#log === undefined) return;
    const { code, message, name = 'Error' } = error;
    const delay = delayMs < 1_000 ? `${delayMs} ms` : `${(delayMs / 1_000).toFixed(1)} s`;
    this.#tell('warn', 'retrying', about, `${effort}: ${message}; attempt ${attempt} in ${delay}`, {
      node: effort,
      attempt,
      delayMs,
      err: { type: name, code, message },
    });
  }

  waiting(graphId: string): void {
    this.#count('cairn.waits', 1, this.#of(graphId));
  }

  /** An attempt has spent something. */
  spent(graphId: string, amounts: Amounts): void {
    for (const [unit, amount] of Object.entries(amounts))
      if (amount > 0) this.#count('cairn.spent', amount, this.#of(graphId, 'cairn.unit', unit));
  }

  loaded(graphId: string, tookMs: number): void {
    this.#measure('cairn.checkpoint.load', tookMs, this.#of(graphId));
  }

  /** A commit was acknowledged. */
  saved(about: About, tookMs: number): void {
    if (this.#counters.length > 0) this.#measure('cairn.checkpoint.save', tookMs, this.#of(about.graphId));
    if (tookMs < slowCommitMs || this.#log === undefined) return;
    const now = this.#clock.monotonic();
    if (now < this.#slowUntil) return;
    this.#slowUntil = now + slowCommitEveryMs;
    const message = `the store took ${(tookMs / 1_000).toFixed(1)} s for a commit`;
    this.#tell('warn', 'slow-commit', about, message, { tookMs: Math.round(tookMs) });
  }

  /** A checkpoint is durable. */
  landed(graphId: string, sizeBytes: number): void {
    if (this.#counters.length === 0) return;
    const of = this.#of(graphId);
    this.#count('cairn.checkpoints', 1, of);
    this.#count('cairn.checkpoint.bytes', sizeBytes, of);
  }

  /** @returns whether it was logged */
  blocked({ runId, graphId, node, heldMs, isNew }: BlockedLoop): boolean {
    this.#count('cairn.loop.blocked', heldMs / 1_000, this.#of(graphId));
    if (this.#log === undefined) return false;
    const message = `node ${node} held the event loop for ${(heldMs / 1_000).toFixed(1)} s: nothing else of this process went on meanwhile`;
    if (isNew) this.#tell('warn', 'loop-blocked', { runId, graphId }, message, { node, heldMs });
    return true;
  }

  /** What a worker found that is ready to be taken up: for a telemetry alone, since the numbers of several workers must not be added up. */
  backlog(telemetry: Telemetry, ready: number, oldestMs: number): void {
    quietly(() => {
      telemetry.measure?.('cairn.backlog', ready, {});
      telemetry.measure?.('cairn.backlog.age', oldestMs, {});
    });
  }

  /** The same object for the same attributes, so that who counts can know it again. */
  #of(graphId: string, name = '', value = ''): Attributes {
    const key = name === '' ? graphId : `${graphId}\0${name}\0${value}`;
    let attributes = this.#attributes.get(key);
    if (attributes === undefined) {
      if (this.#attributes.size >= attributesMax) this.#attributes.clear();
      attributes = { 'cairn.graph.id': graphId, ...(name !== '' && { [name]: value }) };
      this.#attributes.set(key, attributes);
    }
    return attributes;
  }

  #count(name: string, by: number, attributes: Attributes): void {
    // Written out because it runs for every node.
    for (const counter of this.#counters)
      try {
        counter.count(name, by, attributes);
      } catch {
        // No run may fail for being watched.
      }
  }

  #measure(name: string, value: number, attributes: Attributes): void {
    for (const counter of this.#counters)
      try {
        counter.measure?.(name, value, attributes);
      } catch {
        // The same.
      }
  }

  #tell(level: LogLevel, event: string, about: About | undefined, msg: string, more?: Partial<LogFields>): void {
    const log = this.#log;
    if (log === undefined) return;
    const of = about === undefined ? {} : { run: about.runId, graph: about.graphId };
    quietly(() => log[level]({ event, ...of, ...more, worker: this.#workerId }, msg));
  }
}

/** Calls somebody who watches, and ignores what that throws. */
function quietly(call: () => void): void {
  try {
    call();
  } catch {
    // No run may fail for being watched.
  }
}

function messageOf(error: unknown): string {
  const { message, code } = CairnError.from(error);
  return `${message} [${code}]`;
}

/** An error of this library's own, as logs have it. */
function loggedError(thrown: unknown): LoggedError {
  const { name, code, message, hint } = CairnError.from(thrown);
  return { type: name, code, message, hint };
}
