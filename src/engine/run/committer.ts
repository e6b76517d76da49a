/** Makes checkpoints, sends their commits to the store in a pipeline, and knows what is durable (E3, E4). */
import { CairnError } from '../../errors.ts';
import type { Change } from '../../history/stored/change.ts';
import { encodeCheckpoint, keptForm } from '../../history/stored/checkpoint.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Claim, Commit, Durability, Store } from '../../ports/store.ts';
import type { Limits } from '../limits.ts';
import type { Draft } from './draft.ts';
import { pendingOf } from './pending.ts';
import { claimLost } from './standing.ts';

const retryDelaysMs = [20, 100, 400, 1_500, 5_000];

/** A checkpoint that became durable. */
export interface Landed {
  readonly seq: number;
  readonly at: number;
  readonly changeJson: string;
}

interface InFlight {
  readonly commit: Commit;
  readonly changeJson: string;
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
  readonly limits: Limits;
  readonly onLanded: (landed: Landed, deltaBytes: number) => void;
  /** Called when the run cannot go on here: the claim is lost, or the store is gone or full. */
  readonly onBroken: (error: unknown) => void;
}

/**
 * One for each run being advanced. `commit` makes a checkpoint of what its draft holds. Commits become durable in the order of their seqs.
 */
export class Committer {
  seq: number;
  checksum: Uint8Array;
  broken: unknown;
  readonly #options: CommitterOptions;
  readonly #inFlight: InFlight[] = [];
  #inFlightBytes = 0;
  #isRetrying = false;
  #drainers: (() => void)[] = [];

  constructor(options: CommitterOptions) {
    this.#options = options;
    this.seq = options.seq;
    this.checksum = options.checksum;
  }

  /** Whether `pure` and `read` work must stop running ahead of the commits (E4). */
  get isFull(): boolean {
    const { pendingCommits, pendingBytes } = this.#options.limits;
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
  commit(durability: Durability): void {
    if (this.broken !== undefined) return;
    const { draft, clock, runKey, claim, store } = this.#options;
    const at = clock.now();
    const { changeJson, ops, given, index } = draft.take();
    const seq = this.seq + 1;
    const pending = pendingOf(draft.root);
    const { body: text, checksum } = encodeCheckpoint(
      { runKey, seq },
      this.checksum,
      at,
      changeJson,
      ops,
      given,
      pending,
    );
    // Compression saves disk space, which a store in memory does not use.
    const body = store.capabilities.durability === 'none' ? text : keptForm(seq, changeJson, text);
    const sizeBytes = changeJson.length + ops.length + (given?.length ?? 0);
    this.seq = seq;
    this.checksum = checksum;
    const checkpoint = { seq, at, body, checksum };
    const commit: Commit =
      index === undefined ? { claim, checkpoint, durability } : { claim, checkpoint, durability, ...index };
    this.#send({ commit, changeJson, sizeBytes, settled: undefined });
  }

  #send(flight: InFlight): void {
    this.#inFlight.push(flight);
    this.#inFlightBytes += flight.sizeBytes;
    if (this.#isRetrying) return;
    this.#options.store.commit(flight.commit).then(({ isHeld }) => this.#landed(flight, isHeld), this.#failed);
  }

  /** Acknowledgements may arrive out of order, but commits become durable in order, so the oldest one decides. */
  #landed(flight: InFlight, isHeld: boolean): void {
    if (this.broken !== undefined) return;
    while (this.#inFlight.length > 0) {
      const first = this.#inFlight[0] as InFlight;
      if (first.commit.checkpoint.seq > flight.commit.checkpoint.seq) break;
      this.#inFlight.shift();
      this.#inFlightBytes -= first.sizeBytes;
      const { seq, at } = first.commit.checkpoint;
      this.#options.onLanded({ seq, at, changeJson: first.changeJson }, first.sizeBytes);
      first.settled?.resolve();
    }
    // The commit was written, but another worker has the run by now, so nothing may start because of it (P4).
    if (!isHeld) return this.#break(claimLost(flight.commit.claim.runId, 'claimed'));
    if (this.#drainers.length > 0 && !this.isFull) for (const callback of this.#drainers.splice(0)) callback();
  }

  readonly #failed = (error: unknown): void => {
    if (this.broken !== undefined || this.#isRetrying) return;
    if (!mayLand(error)) return this.#break(error);
    this.#isRetrying = true;
    this.#retry(0, error);
  };

  /** Sends unacknowledged commits again, in order and one at a time. The store recognises those that were written (S3). */
  #retry(attempt: number, error: unknown): void {
    const delayMs = retryDelaysMs[attempt];
    if (delayMs === undefined) return this.#break(error);
    this.#options.clock.setTimer(delayMs, () => void this.#resend(attempt));
  }

  async #resend(attempt: number): Promise<void> {
    try {
      while (this.#inFlight.length > 0 && this.broken === undefined) {
        const first = this.#inFlight[0] as InFlight;
        const { isHeld } = await this.#options.store.commit(first.commit);
        this.#landed(first, isHeld);
      }
      this.#isRetrying = false;
    } catch (error) {
      if (CairnError.is(error) && mayLand(error) && error.code !== 'COMMIT_CONFLICT') this.#retry(attempt + 1, error);
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
  return CairnError.is(error) && ['STORE_UNAVAILABLE', 'STORE_BUSY', 'COMMIT_CONFLICT'].includes(error.code);
}

/** Parses the change of a durable checkpoint, for listeners. */
export function changeOf(landed: Landed): Change {
  return JSON.parse(landed.changeJson) as Change;
}
