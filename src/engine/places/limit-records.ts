/** The records of limits in the store: read, decided about, and written if nobody wrote them meanwhile. */
import { CairnError } from '../../errors.ts';
import type { Limit, LimitKey } from '../../graph/limit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LimitChange, LimitRecord, LimitStore, LimitWrite } from '../../ports/limits.ts';
import {
  appliedOf,
  definitionOf,
  isIdle,
  stateOf,
  stateText,
  withDefinition,
  type AppliedLimit,
  type LimitEntry,
  type PlaceState,
} from './place-state.ts';

/** How long what is known of definitions and of what operators set is used without looking again. */
const definitionsMs = 1_000;
/** After this many lost races a writer waits before it tries again. */
const patientTries = 2;
/** The longest such wait, and the pause before a store that could not be reached is tried again. */
const [raceMs, retryMs] = [100, 200];
/** How often the record of a limit is tried to be changed: that happens when workers start, and by hand. */
const entryTries = 100;
/** More records are not kept in memory. */
const cachedMax = 10_000;

/** Names of records: of limits, and of their keys. */
export const entryPrefix = 'limit ';
export const placePrefix = 'place ';
const entryName = (limit: string): string => entryPrefix + limit;
const placeName = (key: string): string => placePrefix + key;

/** The states of some keys, as they were read. */
export interface PlaceView {
  readonly now: number;
  /** Whether they were read for this decision, and are not what was known before. */
  readonly isFresh: boolean;
  limitOf(key: LimitKey): AppliedLimit;
  stateOf(key: LimitKey): PlaceState;
}

/** What is to be written; the states by key. Nothing is written if there is nothing in it. */
export interface PlaceDecision<Reply> extends Pick<LimitWrite, 'park' | 'unpark'> {
  readonly states: ReadonlyMap<string, PlaceState>;
  readonly reply: Reply;
}

export interface LimitRecordsOptions {
  readonly store: LimitStore;
  readonly tenant: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'setTimer'>;
  readonly workerId: string;
  /** Called if this process defines a limit otherwise than it was defined so far. */
  readonly onRedefined?: (name: string) => void;
}

/** No two writings of this process have the same number. */
let writings = 0;

/** Parts of a second that are drawn by the writers of one record, so that they do not meet again. */
const spread = (tries: number): number => Math.min(raceMs, 2 ** tries) * (((writings * 2_654_435_761) % 1_000) / 1_000);

export class LimitRecords {
  readonly store: LimitStore;
  readonly tenant: string;
  readonly clock: LimitRecordsOptions['clock'];
  readonly #workerId: string;
  readonly #onRedefined: LimitRecordsOptions['onRedefined'];
  /** What the records were when they were last read or written here. */
  readonly #known = new Map<string, LimitRecord | undefined>();
  readonly #entries = new Map<string, { readonly limit: AppliedLimit; readonly at: number }>();
  readonly #defined = new Map<string, Promise<unknown>>();

  constructor({ store, tenant, clock, workerId, onRedefined }: LimitRecordsOptions) {
    this.#onRedefined = onRedefined;
    this.store = store;
    this.tenant = tenant;
    this.clock = clock;
    this.#workerId = workerId;
  }

  delay(ms: number): Promise<void> {
    return new Promise((resolve) => void this.clock.setTimer(ms, resolve));
  }

  /** Tells the store how this process defines a limit, once. */
  async define(limit: Limit): Promise<void> {
    const { name } = limit;
    const known = this.#defined.get(name);
    const defined = known ?? this.#tell(limit);
    if (known === undefined) {
      this.#defined.set(name, defined);
      defined.catch(() => this.#defined.delete(name));
    }
    await defined;
  }

  async #tell(limit: Limit): Promise<void> {
    const { name } = limit;
    let isOther = false;
    await changeEntry({ store: this.store, tenant: this.tenant, workerId: this.#workerId }, name, (entry) => {
      const next = withDefinition(entry, definitionOf(limit));
      isOther = entry !== undefined && next !== undefined;
      return next;
    });
    if (isOther) this.#onRedefined?.(name);
  }

  /** Reads, decides and writes until nobody came between. What was decided on old knowledge counts only if it was written. */
  async change<Reply>(
    keys: readonly LimitKey[],
    decide: (view: PlaceView) => PlaceDecision<Reply> | Promise<PlaceDecision<Reply>>,
  ): Promise<Reply> {
    for (let tries = 0; ; tries += 1) {
      const isKnown = tries === 0 && this.#isKnown(keys);
      if (!isKnown) await this.#read(keys);
      const decision = await decide(this.#view(keys, !isKnown));
      const changes = this.#changesOf(decision.states);
      const isNothing = changes.length + (decision.park ?? []).length + (decision.unpark ?? []).length === 0;
      if (isNothing && isKnown) continue;
      if (isNothing) return decision.reply;
      const { park, unpark } = decision;
      if (await this.#write({ tenant: this.tenant, changes, ...(park && { park }), ...(unpark && { unpark }) }))
        return decision.reply;
      if (tries >= patientTries) await this.delay(spread(tries));
    }
  }

  #isKnown(keys: readonly LimitKey[]): boolean {
    const since = this.clock.monotonic() - definitionsMs;
    return keys.every(
      ({ name, key }) => this.#known.has(placeName(key)) && (this.#entries.get(name)?.at ?? -Infinity) >= since,
    );
  }

  async #read(keys: readonly LimitKey[]): Promise<void> {
    const names = [...new Set(keys.flatMap(({ name, key }) => [entryName(name), placeName(key)]))];
    const at = this.clock.monotonic();
    const records = new Map((await this.store.read(this.tenant, names)).map((record) => [record.name, record]));
    if (this.#known.size > cachedMax) this.#known.clear();
    for (const { name, key } of keys) {
      const entry = records.get(entryName(name));
      if (entry !== undefined) this.#entries.set(name, { limit: appliedOf(JSON.parse(entry.body) as LimitEntry), at });
      else if (!this.#entries.has(name))
        throw new CairnError('CONFIG_INVALID', { path: `limit ${name}`, reason: 'it is defined nowhere' });
      this.#known.set(placeName(key), records.get(placeName(key)));
    }
  }

  #view(keys: readonly LimitKey[], isFresh: boolean): PlaceView {
    const states = new Map(keys.map(({ key }) => [key, stateOf(this.#known.get(placeName(key))?.body)]));
    return {
      now: this.clock.now(),
      isFresh,
      limitOf: ({ name }) => this.#entries.get(name)?.limit ?? {},
      stateOf: ({ key }) => states.get(key) ?? stateOf(undefined),
    };
  }

  #changesOf(states: ReadonlyMap<string, PlaceState>): readonly LimitChange[] {
    const now = this.clock.now();
    return [...states].flatMap(([key, state]) => {
      const before = this.#known.get(placeName(key));
      const body = isIdle(state, now) ? undefined : stateText(state);
      return before?.body === body ? [] : changeOf(this.#workerId, placeName(key), before, body);
    });
  }

  /** Writes. If a reply is lost, the records tell whether it was written. */
  async #write(write: LimitWrite): Promise<boolean> {
    try {
      const isWritten = await this.store.write(write);
      for (const { name, version, body } of write.changes)
        if (!isWritten) this.#known.delete(name);
        else this.#known.set(name, body === undefined ? undefined : { name, version, body });
      return isWritten;
    } catch (error) {
      for (const { name } of write.changes) this.#known.delete(name);
      if (!CairnError.is(error, 'STORE_UNAVAILABLE', 'STORE_BUSY')) throw error;
      const change = write.changes.find(({ body }) => body !== undefined);
      await this.delay(retryMs);
      if (change === undefined) throw error;
      const [found] = await this.store.read(this.tenant, [change.name]);
      if (found?.version === change.version) return true;
      throw error;
    }
  }
}

/** A record as it shall be, under a version that no other writing has. */
function changeOf(
  workerId: string,
  name: string,
  before: LimitRecord | undefined,
  body: string | undefined,
): LimitChange {
  writings += 1;
  const version = `${workerId} ${writings}`;
  return { name, version, ...(before && { expected: before.version }), ...(body !== undefined && { body }) };
}

/**
 * Changes the record of a limit. @param edit - undefined leaves it as it is
 * @throws STORE_BUSY others change it all the time
 */
export async function changeEntry(
  { store, tenant, workerId }: Pick<LimitRecordsOptions, 'store' | 'tenant' | 'workerId'>,
  name: string,
  edit: (entry: LimitEntry | undefined) => LimitEntry | undefined,
): Promise<void> {
  for (let tries = 0; tries < entryTries; tries += 1) {
    const [record] = await store.read(tenant, [entryName(name)]);
    const next = edit(record && (JSON.parse(record.body) as LimitEntry));
    if (next === undefined) return;
    if (await store.write({ tenant, changes: [changeOf(workerId, entryName(name), record, JSON.stringify(next))] }))
      return;
  }
  throw new CairnError('STORE_BUSY', { store: `limit ${name}`, reason: 'others change it all the time' });
}

/** The state without those who hold places or wait for some under claims that are gone. What lapsed is revoked first. */
export async function withoutGone({ store, tenant }: LimitRecords, state: PlaceState): Promise<PlaceState> {
  const all = [...state.holders, ...state.tickets];
  if (all.length === 0) return state;
  const holding = await store.check(
    tenant,
    all.map(({ runId, token }) => ({ runId, ...(token !== undefined && { token }) })),
  );
  return {
    ...state,
    holders: state.holders.filter((_, i) => holding[i] === true),
    tickets: state.tickets.filter((_, i) => holding[state.holders.length + i] === true),
  };
}
