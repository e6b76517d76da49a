/** Turns what happened into checkpoints, pipelines their commits, and knows what is durable (E3, E4). */
import { CairnError } from '../../errors.ts';
import type { Change } from '../../history/change.ts';
import { encodeCheckpoint } from '../../history/checkpoint.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Claim, Commit, Durability, Store, StoredStatus, WaitRow } from '../../ports/store.ts';
import type { DeltaBuilder } from '../../state/delta.ts';
import type { Limits } from '../limits.ts';

const retryDelaysMs = [20, 100, 400, 1_500, 5_000];

/** A checkpoint that has become durable. */
export interface Landed {
  readonly seq: number;
  readonly at: number;
  readonly changeJson: string;
}

interface InFlight {
  readonly commit: Commit;
  readonly changeJson: string;
  readonly sizeBytes: number;
  /** Made only if somebody waits for this commit: most are made in passing. */
  settled: PromiseWithResolvers<void> | undefined;
}

/** Where commits go, and who is told of them. */
export interface CommitterOptions {
  readonly store: Store;
  readonly claim: Claim;
  readonly runKey: string;
  readonly seq: number;
  readonly checksum: Uint8Array;
  readonly delta: DeltaBuilder;
  readonly clock: Clock;
  readonly limits: Limits;
  /** What a fork from the next checkpoint would have to look at. */
  readonly countPending: () => number;
  readonly onLanded: (landed: Landed, deltaBytes: number) => void;
  /** The run can go no further here: claim lost, store gone or full. */
  readonly onBroken: (error: unknown) => void;
}

/** One per advancing run. Parts and ops gather until `commit`; commits become durable in seq order. */
export class Committer {
  seq: number;
  checksum: Uint8Array;
  broken: unknown;
  readonly #options: CommitterOptions;
  #parts: string[] = [];
  #givens: [string, string][] = [];
  #settles = 0;
  #mustKeepGiven = false;
  #openWaits: WaitRow[] = [];
  #closeWaits: string[] = [];
  #takeMessages: number[] = [];
  #status: StoredStatus | undefined;
  #graphHash: string | undefined;
  #hasIndexChanges = false;
  readonly #inFlight: InFlight[] = [];
  #inFlightBytes = 0;
  #isRetrying = false;
  #drainers: (() => void)[] = [];

  constructor(options: CommitterOptions) {
    this.#options = options;
    this.seq = options.seq;
    this.checksum = options.checksum;
  }

  /** Adds a part to the next checkpoint's change, as JSON of a ChangePart. */
  note(partJson: string): void {
    this.#parts.push(partJson);
  }

  /** Keeps an outcome's updates as given, in case the delta alone would not tell them (X2). */
  noteOutcome(pathKey: string, givenJson: string | undefined, isTransformed: boolean): void {
    this.#settles += 1;
    if (givenJson !== undefined) this.#givens.push([pathKey, givenJson]);
    if (isTransformed) this.#mustKeepGiven = true;
  }

  openWait(row: WaitRow): void {
    this.#hasIndexChanges = true;
    this.#openWaits.push(row);
  }

  closeWait(waitId: string): void {
    this.#hasIndexChanges = true;
    const opened = this.#openWaits.findIndex((row) => row.waitId === waitId);
    if (opened >= 0) this.#openWaits.splice(opened, 1);
    else this.#closeWaits.push(waitId);
  }

  takeMessage(id: number): void {
    this.#hasIndexChanges = true;
    this.#takeMessages.push(id);
  }

  setStatus(status: StoredStatus): void {
    this.#hasIndexChanges = true;
    this.#status = status;
  }

  setGraphHash(hash: string): void {
    this.#hasIndexChanges = true;
    this.#graphHash = hash;
  }

  /** Whether there is anything that the next checkpoint would hold. */
  get isPending(): boolean {
    return this.#parts.length > 0 || !this.#options.delta.isEmpty || this.#takeMessages.length > 0;
  }

  get partCount(): number {
    return this.#parts.length;
  }

  /** Whether pure and read work must stop running ahead (E4). */
  get isFull(): boolean {
    const { pendingCommits, pendingBytes } = this.#options.limits;
    return this.#inFlight.length >= pendingCommits || this.#inFlightBytes >= pendingBytes;
  }

  /** Calls back when commits have landed after the committer was full; at once if it is not. */
  onDrained(callback: () => void): void {
    if (this.isFull) this.#drainers.push(callback);
    else callback();
  }

  /** Resolves when all commits made so far have landed, or none will any more. */
  settled(): Promise<void> {
    const last = this.#inFlight.at(-1);
    if (last === undefined) return Promise.resolve();
    last.settled ??= Promise.withResolvers<void>();
    return last.settled.promise;
  }

  /** Makes the next checkpoint of all that gathered; see {@link settled} for when it is as durable as asked. */
  commit(durability: Durability): void {
    if (this.broken !== undefined) return;
    const { delta, clock, runKey, claim } = this.#options;
    const at = clock.now();
    const changeJson = `[${this.#parts.join(',')}]`;
    const given = this.#takeGiven();
    const seq = this.seq + 1;
    const pending = this.#options.countPending();
    const identity = { runKey, seq };
    const { body, checksum } = encodeCheckpoint(identity, this.checksum, at, changeJson, delta.take(), given, pending);
    this.seq = seq;
    this.checksum = checksum;
    this.#parts = [];
    const checkpoint = { seq, at, body, checksum };
    const commit: Commit = this.#hasIndexChanges
      ? { claim, checkpoint, durability, ...this.#takeIndexChanges() }
      : { claim, checkpoint, durability };
    this.#send({ commit, changeJson, sizeBytes: body.byteLength, settled: undefined });
  }

  #takeGiven(): string | undefined {
    const needed = this.#mustKeepGiven || this.#settles > 1;
    const given =
      needed && this.#givens.length > 0
        ? `{${this.#givens.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`
        : undefined;
    if (this.#givens.length > 0) this.#givens = [];
    this.#settles = 0;
    this.#mustKeepGiven = false;
    return given;
  }

  #takeIndexChanges(): Partial<Commit> {
    const changes: { -readonly [K in keyof Commit]?: Commit[K] } = {};
    if (this.#status !== undefined) changes.status = this.#status;
    if (this.#graphHash !== undefined) changes.graphHash = this.#graphHash;
    if (this.#openWaits.length > 0) changes.openWaits = this.#openWaits.splice(0);
    if (this.#closeWaits.length > 0) changes.closeWaits = this.#closeWaits.splice(0);
    if (this.#takeMessages.length > 0) changes.takeMessages = this.#takeMessages.splice(0);
    this.#hasIndexChanges = false;
    this.#status = undefined;
    this.#graphHash = undefined;
    return changes;
  }

  #send(flight: InFlight): void {
    this.#inFlight.push(flight);
    this.#inFlightBytes += flight.sizeBytes;
    if (this.#isRetrying) return;
    this.#options.store.commit(flight.commit).then(({ isHeld }) => this.#landed(flight, isHeld), this.#failed);
  }

  /** Acknowledgements may overtake each other; durability is in seq order, so the first in line decides. */
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
    // It landed, and somebody else has the run by now: nothing may begin because of it (P4).
    if (!isHeld) return this.#break(new CairnError('CLAIM_LOST', { runId: flight.commit.claim.runId }));
    if (this.#drainers.length > 0 && !this.isFull) for (const callback of this.#drainers.splice(0)) callback();
  }

  readonly #failed = (error: unknown): void => {
    if (this.broken !== undefined || this.#isRetrying) return;
    if (!mayLand(error)) return this.#break(error);
    this.#isRetrying = true;
    this.#retry(0, error);
  };

  /** Sends what is not acknowledged again, in order, one at a time: a store recognises what had landed (S3). */
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

/** Parses a landed change for those who listen. */
export function changeOf(landed: Landed): Change {
  return JSON.parse(landed.changeJson) as Change;
}
