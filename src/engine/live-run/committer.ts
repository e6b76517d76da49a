/** Makes checkpoints, sends their commits to the store in a pipeline, and knows what is durable (E3, E4). */
import type { RunTree } from '../../state/tree.ts';
import { CairnError, isStoreAway } from '../../errors.ts';
import type { Change } from '../../history/stored/change.ts';
import { encodeCheckpoint, storedForm, checkpointId } from '../../history/stored/checkpoint.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Claim, Commit, Durability, Store, RunRow, WaitRow } from '../../ports/store.ts';
import type { SpanException } from '../../ports/telemetry.ts';
import type { Bounds } from '../bounds.ts';
import type { Committing } from '../webhooks/owed.ts';
import type { Draft } from './draft.ts';
import { claimLost } from './standing.ts';
import { TextMask } from '../../state/secrecy/text-mask.ts';
import type { Intake } from '../../state/values/admit.ts';
import type { SpanParts, TraceSpan } from '../../graph/contracts/trace-span.ts';
import type { LiveEvent, RunEvent } from '../api.ts';

// How much of a run's state a fork must consider. If it is nothing, a fork costs only as much as its patch (H2).

/** Counts open waits, and whether there are failures, patches, supplied outcomes that were not used yet, a cancel, what follows a failure, or time. */
export function pendingOf(root: RunTree): number {
  let count = 0;
  for (const _ in root.waits) count += 1;
  if (root.failures !== undefined) count += 1;
  if (root.patched !== undefined) count += 1;
  if (root.supplied !== undefined) count += 1;
  if (root.cancel !== undefined || root.failing !== undefined || root.time !== undefined) count += 1;
  return count;
}

/** Delays between tries to send commits again, in milliseconds; the last one goes on. */
const retryDelaysMs = [20, 100, 400, 1_500, 5_000];
/** How long commits are sent again: a failover of a database takes a minute. */
const retryForMs = 5 * 60_000;

const none: readonly WaitRow[] = [];

/** A checkpoint that became durable. */
export interface Landed {
  readonly seq: number;
  readonly at: number;
  readonly changeJson: string;
  /** What the commit owes to webhooks; absent if that is nothing. */
  readonly owed?: readonly WaitRow[];
}

interface InFlight {
  readonly commit: Commit;
  readonly changeJson: string;
  readonly owed: readonly WaitRow[];
  /** Approximate size of the body's text. */
  readonly sizeBytes: number;
  /** Created only if somebody waits for this commit. */
  settled: PromiseWithResolvers<void> | undefined;
}

/** Where commits go, and who is informed. */
export interface CommitterOptions {
  readonly store: Store;
  readonly claim: Claim;
  readonly runKey: string;
  readonly seq: number;
  readonly checksum: Uint8Array;
  readonly draft: Draft;
  readonly clock: Clock;
  readonly bounds: Bounds;
  /** Told how long each commit took, in ms. Absent: it is not measured. */
  readonly onSaved?: ((tookMs: number) => void) | undefined;
  /** Counts what a checkpoint owes to webhooks. Absent: nothing. */
  readonly owedBy?: ((committing: Committing) => readonly WaitRow[]) | undefined;
  /** Told of each checkpoint when it is made, before it is durable. */
  readonly onMade?: (seq: number) => void;
  readonly onLanded: (landed: Landed, deltaBytes: number) => void;
  /** Called when the run cannot go on here: the claim is lost, or the store is gone or full. */
  readonly onBroken: (error: unknown) => void;
}

/** What is special about a commit. Default: nothing. */
interface CommitOptions {
  /** Whether it is the run's last one here, and gives the claim up. */
  readonly isLast?: boolean;
  /** Whether effects are announced in it, which begin when it is durable. */
  readonly beginsEffects?: boolean;
}

/**
 * One for each run being advanced. `commit` makes a checkpoint of what its draft holds. Commits become durable in the order of their seqs.
 */
export class Committer {
  seq: number;
  /** Seq of the newest checkpoint that is durable. */
  landedSeq: number;
  checksum: Uint8Array;
  broken: unknown;
  readonly #options: CommitterOptions;
  readonly #inFlight: InFlight[] = [];
  #inFlightBytes = 0;
  #isRetrying = false;
  #isClosing = false;
  /** Whether the last commit was made, which gives the claim up: nothing starts any more because of a commit. */
  #isReleasing = false;
  #drainers: (() => void)[] = [];

  constructor(options: CommitterOptions) {
    this.#options = options;
    this.seq = options.seq;
    this.landedSeq = options.seq;
    this.checksum = options.checksum;
  }

  /** Whether `pure` and `read` work must stop running ahead of the commits (E4). */
  get isFull(): boolean {
    const { pendingCommits, pendingBytes } = this.#options.bounds;
    return this.#inFlight.length >= pendingCommits || this.#inFlightBytes >= pendingBytes;
  }

  /** Calls back when the committer is not full any more; at once if it is not full. */
  onDrained(callback: () => void): void {
    if (this.isFull) this.#drainers.push(callback);
    else callback();
  }

  /** Resolves when all commits made so far are written, or none will be any more. */
  settled(): Promise<void> {
    const last = this.#inFlight.at(-1);
    if (last === undefined) return Promise.resolve();
    last.settled ??= Promise.withResolvers<void>();
    return last.settled.promise;
  }

  /** Makes the next checkpoint from everything in the draft. {@link settled} tells when it is durable. */
  commit(durability: Durability, { isLast = false, beginsEffects = false }: CommitOptions = {}): void {
    if (this.broken !== undefined) return;
    this.#isReleasing = isLast;
    const { draft, clock, runKey, claim, store } = this.#options;
    const at = clock.now();
    const { changeJson, ops, updates, index } = draft.take();
    const seq = this.seq + 1;
    const pending = pendingOf(draft.root);
    const { body: text, ...encoded } = encodeCheckpoint(
      { runKey, seq },
      this.checksum,
      at,
      changeJson,
      ops,
      updates,
      pending,
    );
    // Compression saves disk space, which a store in memory does not use.
    const body = store.capabilities.durability === 'none' ? text : storedForm(seq, changeJson, text);
    const sizeBytes = changeJson.length + ops.length + (updates?.length ?? 0);
    this.seq = seq;
    this.checksum = encoded.checksum;
    this.#options.onMade?.(seq);
    const checkpoint = { seq, at, body, ...encoded };
    const owed = this.#owed(seq, at, changeJson);
    const commit: Commit = {
      claim,
      checkpoint,
      durability,
      ...index,
      ...(owed.length > 0 && { openWaits: [...(index?.openWaits ?? []), ...owed] }),
      ...(isLast && { releases: true }),
      ...(beginsEffects && { beginsEffects }),
    };
    this.#send({ commit, changeJson, owed, sizeBytes, settled: undefined });
  }

  #owed(seq: number, at: number, changeJson: string): readonly WaitRow[] {
    const { owedBy, draft } = this.#options;
    return owedBy?.({ seq, at, change: JSON.parse(changeJson) as Change, root: draft.root }) ?? none;
  }

  #send(flight: InFlight): void {
    this.#inFlight.push(flight);
    this.#inFlightBytes += flight.sizeBytes;
    if (this.#isRetrying) return;
    const { store, onSaved, clock } = this.#options;
    const since = onSaved === undefined ? 0 : clock.monotonic();
    store.commit(flight.commit).then(({ isHeld: isClaimHeld }) => {
      onSaved?.(clock.monotonic() - since);
      this.#landed(flight, isClaimHeld);
    }, this.#failed);
  }

  /** Acknowledgements may arrive out of order, but commits become durable in order, so the oldest one decides. */
  #landed(flight: InFlight, isClaimHeld: boolean): void {
    if (this.broken !== undefined) return;
    while (this.#inFlight.length > 0) {
      const first = this.#inFlight[0] as InFlight;
      if (first.commit.checkpoint.seq > flight.commit.checkpoint.seq) break;
      this.#inFlight.shift();
      this.#inFlightBytes -= first.sizeBytes;
      const { seq, at } = first.commit.checkpoint;
      const { changeJson, owed } = first;
      this.landedSeq = seq;
      this.#options.onLanded({ seq, at, changeJson, ...(owed.length > 0 && { owed }) }, first.sizeBytes);
      first.settled?.resolve();
    }
    // The commit was written, but another worker has the run by now, so nothing may start because of it (P4).
    if (!isClaimHeld && !this.#isReleasing) return this.#break(claimLost(flight.commit.claim.runId, 'claimed'));
    if (this.#drainers.length > 0 && !this.isFull) for (const callback of this.#drainers.splice(0)) callback();
  }

  readonly #failed = (error: unknown): void => {
    if (this.broken !== undefined || this.#isRetrying) return;
    if (!mayLand(error)) return this.#break(error);
    this.#isRetrying = true;
    this.#retry(0, error, this.#options.clock.monotonic() + retryForMs);
  };

  /** Sends unacknowledged commits again, in order and one at a time. The store recognises those that were written (S3). */
  #retry(attempt: number, error: unknown, until: number): void {
    const { clock } = this.#options;
    const delayMs = retryDelaysMs[attempt] ?? (this.#isClosing ? Infinity : (retryDelaysMs.at(-1) ?? Infinity));
    if (clock.monotonic() + delayMs > until) return this.#break(error);
    clock.setTimer(delayMs, () => void this.#resend(attempt, until));
  }

  /** From now on, commits are sent again for some seconds only. */
  closeSoon(): void {
    this.#isClosing = true;
  }

  async #resend(attempt: number, until: number): Promise<void> {
    try {
      while (this.#inFlight.length > 0 && this.broken === undefined) {
        const first = this.#inFlight[0] as InFlight;
        const { isHeld: isClaimHeld } = await this.#options.store.commit(first.commit);
        this.#landed(first, isClaimHeld);
      }
      this.#isRetrying = false;
    } catch (error) {
      if (isStoreAway(error)) this.#retry(attempt + 1, error, until);
      else this.#break(error);
    }
  }

  #break(error: unknown): void {
    if (this.broken !== undefined) return;
    this.broken = error;
    for (const flight of this.#inFlight.splice(0)) flight.settled?.resolve();
    this.#options.onBroken(error);
  }
}

/** Whether sending again may help: the store was away, or an earlier commit of the pipeline had not arrived. */
function mayLand(error: unknown): boolean {
  return isStoreAway(error) || CairnError.is(error, 'COMMIT_CONFLICT');
}

/** Parses the change of a durable checkpoint, for listeners. */
function changeOf(landed: Landed): Change {
  return JSON.parse(landed.changeJson) as Change;
}

// The secrets that a run has used. Values that the run takes in later are masked, whichever node they come from (N6.4).

/** Shorter secrets are masked only by the node that uses them: a secret `1` must not destroy every number in a run. */
const runWideLength = 8;

export class RunSecrets {
  /** What is applied to every value that the run takes in. Replaced when another secret becomes known. */
  intake: Intake | undefined;
  /** Undefined if there is nothing to mask. */
  mask: TextMask | undefined;
  readonly #base: Intake | undefined;
  /** Names by value, since one name may have had several values. */
  readonly #names = new Map<string, string>();

  /** @param resolved - secrets used before this process took the run up, by name */
  constructor(base: Intake | undefined, resolved: ReadonlyMap<string, string>) {
    this.#base = base;
    this.intake = base;
    for (const [name, value] of resolved) this.#note(name, value);
    this.#renew();
  }

  /** Adds a secret that was used. */
  learn(name: string, value: string): void {
    if (!this.#names.has(value) && this.#note(name, value)) this.#renew();
  }

  /** The secrets that are masked in the whole run. */
  known(): readonly (readonly [name: string, value: string])[] {
    return [...this.#names].map(([value, name]) => [name, value]);
  }

  #note(name: string, value: string): boolean {
    if (value.length < runWideLength) return false;
    this.#names.set(value, name);
    return true;
  }

  #renew(): void {
    if (this.#names.size === 0) return;
    this.mask = new TextMask(this.known());
    this.intake = { keepsOut: this.#base?.keepsOut, mask: this.mask };
  }
}

// The events that a run's listeners get: durable ones once and in order, with live ones in between.

type Listener = (event: RunEvent | LiveEvent | undefined, error?: unknown) => void;

/** Receives the spans that nodes' code starts. */
export interface RunTracer {
  /** Why an attempt failed. `isOfFrame`: its frame fails by it. */
  failed(node: readonly string[], exception: SpanException, isOfFrame: boolean): void;
  /** Starts a span; undefined if the node has no traced attempt. */
  trace(node: readonly string[], name: string, parts: SpanParts, secrets: RunSecrets): TraceSpan | undefined;
}

/** One for each run being advanced. It is closed when that ends. */
export class RunFeed {
  readonly runId: string;
  isClosed = false;
  /** The engine's telemetry; undefined if there is none. */
  tracer: RunTracer | undefined;
  error: unknown;
  /** Set by the runner. Returns what is running now, which is reported to each new listener. */
  running: () => readonly LiveEvent[] = () => [];
  readonly #runKey: string;
  readonly #listeners = new Set<Listener>();

  constructor({ runId, key }: Pick<RunRow, 'runId' | 'key'>) {
    this.runId = runId;
    this.#runKey = key;
  }

  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  publish(landed: Landed): void {
    if (this.#listeners.size === 0) return;
    const event: RunEvent = {
      type: 'checkpoint',
      runId: this.runId,
      seq: landed.seq,
      checkpointId: checkpointId(this.#runKey, landed.seq),
      at: landed.at,
      change: changeOf(landed),
    };
    for (const listener of this.#listeners) listener(event);
  }

  publishLive(event: LiveEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  close(error?: unknown): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.error = error;
    for (const listener of this.#listeners) listener(undefined, error);
  }

  /** Calls back for each event; `undefined` means that no more will come. @returns a function that stops listening */
  listen(listener: Listener): () => void {
    for (const event of this.running()) listener(event);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
