/** Limits as the engine uses them: whose places a run and its steps need, and who grants them over the store. */
import { CairnError } from '../../errors.ts';
import {
  groupOf,
  knownLimit,
  limitKeyOf,
  limitNameOf,
  limitsNamed,
  type Limit,
  type LimitKey,
  type LimitRef,
  type LimitSubject,
} from '../../graph/limit.ts';
import type { Claim, RunRow, Store } from '../../ports/store.ts';
import { LimitRecords, type LimitRecordsOptions } from './limit-records.ts';
import { RunPlaces, type QueuedAt, type RunKeyOfLimit } from './run-places.ts';
import { StepPlaces, type Permit } from './step-places.ts';

export type { Permit, QueuedAt };

/** Options of a limiter. */
export interface LimiterOptions extends Omit<LimitRecordsOptions, 'store'> {
  readonly store: Pick<Store, 'name' | 'limits'>;
  /** Called for each run that left its line and can be taken up. */
  readonly onLetIn: (runId: string) => void;
}

interface LimiterParts {
  readonly records: LimitRecords;
  readonly runs: RunPlaces;
  readonly steps: StepPlaces;
}

/** One for each engine. It writes nothing before a limit is named. */
export class Limiter {
  readonly #options: LimiterOptions;
  #parts: LimiterParts | undefined;

  constructor(options: LimiterOptions) {
    this.#options = options;
  }

  /** @throws STORE_UNSUPPORTED the store has no part for limits */
  #use(): LimiterParts {
    const { store, onLetIn, ...options } = this.#options;
    if (store.limits === undefined)
      throw new CairnError('STORE_UNSUPPORTED', { store: store.name, capability: 'limits' });
    if (this.#parts === undefined) {
      const records = new LimitRecords({ ...options, store: store.limits });
      this.#parts = { records, runs: new RunPlaces(records, onLetIn), steps: new StepPlaces(records) };
    }
    return this.#parts;
  }

  /** Tells the store of limits that this process defines. @throws CONFIG_INVALID one is not defined here */
  async #define(refs: LimitRef | readonly LimitRef[]): Promise<readonly Limit[]> {
    const limits = limitsNamed(refs);
    for (const limit of limits) await this.#use().records.define(limit);
    return limits;
  }

  /**
   * The keys of a run that is to be started, as they are recorded with it, and how long it is put off. @throws LIMIT_FULL
   *
   * @param runId - absent if there is a run of this id already, so that no place need be reserved for it
   */
  async admit(
    refs: LimitRef | readonly LimitRef[],
    subject: LimitSubject,
    runId: string | undefined,
  ): Promise<{ readonly key: string; readonly delayMs: number }> {
    const limits = await this.#define(refs);
    for (const limit of limits)
      if (limit.onFull === 'skip' && runId !== undefined)
        await this.#use().runs.reserve(limitKeyOf(limit, subject), runId);
    const keys = limits.map((limit): readonly string[] => {
      const group = groupOf(limit, subject);
      return [limitKeyOf(limit, subject).key, ...(group === undefined ? [] : [group])];
    });
    const delays = limits.map(({ delayMs = 0 }) => delayMs);
    return { key: JSON.stringify(keys), delayMs: delays.reduce((most, ms) => Math.max(most, ms), 0) };
  }

  /** The runs that are to be cancelled because this one was started: those that it replaces in line, or that have its place. */
  async supersededBy(run: RunRow): Promise<readonly string[]> {
    const found = runKeysOf(run).map(async (key): Promise<readonly string[]> => {
      const onFull = knownLimit(key.name)?.onFull;
      if (onFull === 'replace-queued') return this.#use().runs.replaceNewest(key, run.runId);
      return onFull === 'cancel-running' ? this.#use().runs.holdersOf(key, run.runId) : [];
    });
    return (await Promise.all(found)).flat();
  }

  /** Takes the places of a claimed run. @returns where it stands in line; undefined if it may begin, or is under no limit */
  async enter(claim: Claim, run: RunRow): Promise<QueuedAt | undefined> {
    const keys = runKeysOf(run);
    if (keys.length === 0) return undefined;
    return this.#use().runs.enter({ claim, keys, mayBeInLine: run.status === 'paused' });
  }

  /** Gives the places of a run back. If that cannot be done, a sweep does it. @param isOver - it has ended */
  async leave(claim: Claim, run: RunRow, isOver: boolean): Promise<void> {
    const keys = runKeysOf(run);
    if (keys.length > 0)
      await this.#use()
        .runs.leave(claim, keys, isOver)
        .catch(() => undefined);
  }

  /** Where a run stands in line; undefined if it stands in none. */
  async find(run: RunRow): Promise<QueuedAt | undefined> {
    if (run.status !== 'paused' || runKeysOf(run).length === 0) return undefined;
    const found = await this.#options.store.limits?.findInLine({ tenant: run.tenant, runId: run.runId });
    return found && { key: found.line, ahead: found.ahead };
  }

  /** Whether a run is under a limit's key, so that it has a place of it while it is advanced. */
  isUnder(run: Pick<RunRow, 'schedule'>, key: string): boolean {
    return runKeysOf(run).some((one) => one.key === key);
  }

  /** Waits for the places of a step or a node. @throws why the signal was aborted; CONFIG_INVALID, STORE_UNSUPPORTED */
  async enterStep(
    claim: Claim,
    refs: LimitRef | readonly LimitRef[],
    subject: LimitSubject,
    { tokens = 0, signal }: { readonly tokens?: number | undefined; readonly signal: AbortSignal },
  ): Promise<Permit> {
    const keys = (await this.#define(refs)).map((limit): LimitKey => limitKeyOf(limit, subject));
    return this.#use().steps.enter(claim, keys, tokens, signal);
  }

  /** Whether the store has a part for limits. */
  get isSupported(): boolean {
    return this.#options.store.limits !== undefined;
  }

  /** Lets nothing of these limits begin for a while, because the provider said so. */
  hold(refs: LimitRef | readonly LimitRef[], subject: LimitSubject, forMs: number): void {
    const keys = limitsNamed(refs).map((limit): LimitKey => limitKeyOf(limit, subject));
    this.#use().steps.hold(keys, forMs);
  }

  /** Looks after lines whose keepers are gone, also of limits that this process has not used. */
  async sweep(): Promise<void> {
    if (this.isSupported) await this.#use().runs.sweep();
  }

  /**
   * Looks after the line in which a run stands that is awaited here, since there may be no worker that does: now and then, whoever asks. If
   * it cannot be done, the next time does it.
   */
  async healIfDue(key: string): Promise<void> {
    await this.#use()
      .runs.healIfDue({ name: limitNameOf(key), key })
      .catch(() => undefined);
  }

  close(): void {
    this.#parts?.steps.close();
  }
}

/** The keys that a run was admitted under. */
function runKeysOf({ schedule: { key } }: Pick<RunRow, 'schedule'>): readonly RunKeyOfLimit[] {
  if (key === undefined || !key.startsWith('[[')) return [];
  return (JSON.parse(key) as readonly (readonly [string, string?])[]).map(([one, group]) => ({
    name: limitNameOf(one),
    key: one,
    ...(group !== undefined && { group }),
  }));
}
