/** Places of runs: taken when a run is claimed, reserved for the first of the line, and healed where whoever had to hand them on is gone. */
import { CairnError } from '../../errors.ts';
import { limitNameOf, type LimitKey } from '../../graph/limit.ts';
import type { ParkedRun } from '../../ports/limits.ts';
import type { Claim } from '../../ports/store.ts';
import { withoutGone, type LimitRecords, type PlaceDecision, type PlaceView } from './limit-records.ts';
import {
  hasRunPlace,
  roomOf,
  withReservations,
  withoutRun,
  withRun,
  type AppliedLimit,
  type PlaceState,
} from './place-state.ts';

/** No more runs than this leave a line in one write. */
const letInMax = 16;
/** How long a place is reserved for a run that left the line, until a worker takes it up. */
const reservedMs = 10_000;
/** The same for one that was just started. */
const reservedNewMs = 60_000;
/** Whether the holders of a full key are still there is looked at this often. */
const checkEveryMs = 1_000;
/** A line in which a run stands that is awaited is looked after this often: about as often as a worker sweeps. */
const healEveryMs = 3_000;
/** Lines that a sweep looks at. */
const sweptLines = 50;

/** A limit that a run is under, and who shares its line fairly. */
export interface RunKeyOfLimit extends LimitKey {
  readonly group?: string;
}

/** Where a run stands that found no place. */
export interface QueuedAt {
  readonly key: string;
  /** How many runs are before it; no more than 1,000 are counted. */
  readonly ahead: number;
}

/** The claim of a run that is to begin, and whether it may stand in a line. */
interface Entering {
  readonly claim: Claim;
  readonly keys: readonly RunKeyOfLimit[];
  readonly mayBeInLine: boolean;
}

/** What a look at a line came to: the state after it, and the runs that leave it. */
interface LetIn {
  readonly state: PlaceState;
  readonly unpark: readonly string[];
}

export class RunPlaces {
  readonly #records: LimitRecords;
  /** Called for each run that left its line. */
  readonly #onLetIn: (runId: string) => void;
  /** When the holders of a key were last looked at, in monotonic ms. */
  readonly #checkedAt = new Map<string, number>();
  /** When lines of awaited runs were last looked after, in monotonic ms. */
  readonly #healedAt = new Map<string, number>();
  /** The end of what this process does to a key; what comes next waits for it. */
  readonly #turns = new Map<string, Promise<unknown>>();
  #sweptUpTo: string | undefined;

  constructor(records: LimitRecords, onLetIn: (runId: string) => void) {
    this.#records = records;
    this.#onLetIn = onLetIn;
  }

  /** What this process does to one key is done in turn, so that it is no rival of itself. */
  async #inTurn<Reply>(key: string, work: () => Promise<Reply>): Promise<Reply> {
    const before = this.#turns.get(key);
    const turn = (before ?? Promise.resolve()).then(work, work);
    const end = turn.catch(() => undefined);
    this.#turns.set(key, end);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(key) === end) this.#turns.delete(key);
    }
  }

  async #change<Reply>(
    keys: readonly LimitKey[],
    decide: (view: PlaceView) => PlaceDecision<Reply> | Promise<PlaceDecision<Reply>>,
  ): Promise<Reply> {
    let unparked: readonly string[] = [];
    const reply = await this.#inTurn(keys[0]?.key ?? '', () =>
      this.#records.change(keys, async (view) => {
        const decision = await decide(view);
        unparked = decision.unpark ?? [];
        return decision;
      }),
    );
    for (const runId of unparked) this.#onLetIn(runId);
    return reply;
  }

  /**
   * Takes the places of a claimed run, all of them or none. Without room the claim is given up and the run stands in line, in the same write.
   *
   * @returns where it stands in line; undefined if it may begin
   */
  async enter(entering: Entering): Promise<QueuedAt | undefined> {
    const { claim, keys, mayBeInLine } = entering;
    const { runId, token } = claim;
    const full = await this.#change(keys, async (view): Promise<PlaceDecision<LimitKey | undefined>> => {
      const entered = new Map<string, PlaceState>();
      const parkedStates = new Map<string, PlaceState>();
      const unpark: string[] = [];
      let full: RunKeyOfLimit | undefined;
      for (const key of keys) {
        const limit = view.limitOf(key);
        const { state, isFree, ...looked } = await this.#look(view, key, limit, runId);
        unpark.push(...looked.unpark);
        entered.set(key.key, withRun(state, limit, runId, token));
        parkedStates.set(
          key.key,
          limit.counts === 'open' && hasRunPlace(state, runId) ? state : withoutRun(state, runId),
        );
        if (!isFree) full ??= key;
      }
      const leaving = mayBeInLine ? [runId] : [];
      if (full === undefined) return { states: entered, unpark: [...unpark, ...leaving], reply: undefined };
      if (!view.isFresh) return { states: new Map(), reply: full };
      const parked = await this.#parked(claim, full, parkedStates);
      return { states: parkedStates, park: [parked], unpark, reply: full };
    });
    if (full === undefined) return undefined;
    const { tenant } = this.#records;
    return { key: full.key, ahead: (await this.#records.store.findInLine({ tenant, runId }))?.ahead ?? 0 };
  }

  /** Whether a run may take a place of a key now; who waits in line goes first. */
  async #look(
    view: PlaceView,
    key: LimitKey,
    limit: AppliedLimit,
    runId: string,
  ): Promise<LetIn & { readonly isFree: boolean }> {
    let state = view.stateOf(key);
    if (hasRunPlace(state, runId)) return { state, unpark: [], isFree: true };
    if (view.isFresh && roomOf(limit, state, view.now, runId) <= 0) state = await this.#withoutGone(key, state);
    if (roomOf(limit, state, view.now, runId) <= 0) return { state, unpark: [], isFree: false };
    const isReserved = state.reservations.some((one) => one.runId === runId);
    if (isReserved || !state.isLined) return { state, unpark: [], isFree: true };
    const letIn = await this.#letIn(view, key, limit, state);
    const isFirst = letIn.unpark.includes(runId);
    const isFree = isFirst || (!letIn.state.isLined && roomOf(limit, letIn.state, view.now, runId) > 0);
    return { state: letIn.state, unpark: letIn.unpark.filter((one) => one !== runId), isFree };
  }

  /** Reserves places for the first of the line, as many as are free. */
  async #letIn(view: PlaceView, { key }: LimitKey, limit: AppliedLimit, state: PlaceState): Promise<LetIn> {
    const room = Math.min(letInMax, roomOf(limit, state, view.now));
    if (!state.isLined || room <= 0) return { state, unpark: [] };
    const { first } = await this.#records.store.readLine(this.#records.tenant, key, { limit: room });
    const unpark = first.map(({ runId }) => runId);
    const ranks = first.map(({ rank }) => rank);
    const reserved = withReservations(state, unpark, ranks, view.now, reservedMs);
    return { state: { ...reserved, isLined: first.length === room }, unpark };
  }

  /** Who shares a line fairly comes behind as many of each of the others as it has in the line itself. */
  async #parked(claim: Claim, { key, group }: RunKeyOfLimit, states: Map<string, PlaceState>): Promise<ParkedRun> {
    const state = states.get(key);
    if (state !== undefined) states.set(key, { ...state, isLined: true });
    if (group === undefined) return { claim, line: key, rank: 0 };
    const { lastRank = 0 } = await this.#records.store.readLine(this.#records.tenant, key, { limit: 1, group });
    return { claim, line: key, group, rank: Math.max(state?.rank ?? 0, lastRank) + 1 };
  }

  async #withoutGone({ key }: LimitKey, state: PlaceState): Promise<PlaceState> {
    const now = this.#records.clock.monotonic();
    if ((this.#checkedAt.get(key) ?? -Infinity) + checkEveryMs > now) return state;
    const present = await withoutGone(this.#records, state);
    // What was gone before may be read again in the next try, so the time is noted only where all are there.
    if (present.holders.length === state.holders.length) this.#checkedAt.set(key, now);
    return present;
  }

  /** Reserves a place for a run that is to be admitted. @throws LIMIT_FULL */
  async reserve(key: LimitKey, runId: string): Promise<void> {
    const isReserved = await this.#change([key], async (view): Promise<PlaceDecision<boolean>> => {
      const limit = view.limitOf(key);
      const looked = await this.#look(view, key, limit, runId);
      const states = (state: PlaceState): ReadonlyMap<string, PlaceState> => new Map([[key.key, state]]);
      const { unpark } = looked;
      if (!looked.isFree) return { states: states(looked.state), unpark, reply: false };
      return {
        states: states(withReservations(looked.state, [runId], [], view.now, reservedNewMs)),
        unpark,
        reply: true,
      };
    });
    if (!isReserved) throw new CairnError('LIMIT_FULL', { key: key.key });
  }

  /** Notes that a run takes the place in line of the one that was started before. @returns that one, if it has not begun */
  async replaceNewest(key: LimitKey, runId: string): Promise<readonly string[]> {
    const before = await this.#change([key], (view): PlaceDecision<string | undefined> => {
      const state = view.stateOf(key);
      return { states: new Map([[key.key, { ...state, newest: runId }]]), reply: state.newest };
    });
    return before === undefined || before === runId ? [] : [before];
  }

  /** The runs that have places of a key, but for one. */
  async holdersOf(key: LimitKey, but: string): Promise<readonly string[]> {
    return this.#change([key], (view): PlaceDecision<readonly string[]> => {
      const runs = view.stateOf(key).holders.filter(({ of, runId }) => of === 'run' && runId !== but);
      return { states: new Map(), reply: runs.map(({ runId }) => runId) };
    });
  }

  /** Gives the places of a run back, and lets the first of the line in. @param isOver - the run has ended: places from first step to end, too */
  async leave({ runId, token }: Claim, keys: readonly LimitKey[], isOver: boolean): Promise<void> {
    await this.#change(keys, async (view): Promise<PlaceDecision<undefined>> => {
      const states = new Map<string, PlaceState>();
      const unpark: string[] = [];
      for (const key of keys) {
        const limit = view.limitOf(key);
        if (limit.counts === 'open' && !isOver) continue;
        const letIn = await this.#letIn(view, key, limit, withoutRun(view.stateOf(key), runId, token));
        states.set(key.key, letIn.state);
        unpark.push(...letIn.unpark);
      }
      return { states, unpark, reply: undefined };
    });
  }

  /** Looks after a key: takes places from those who are gone, and lets the first of the line in. */
  async heal(key: LimitKey): Promise<void> {
    await this.#change([key], async (view): Promise<PlaceDecision<undefined>> => {
      if (!view.isFresh) return { states: new Map(), reply: undefined };
      const state = await withoutGone(this.#records, view.stateOf(key));
      const letIn = await this.#letIn(view, key, view.limitOf(key), { ...state, isLined: true });
      return { states: new Map([[key.key, letIn.state]]), unpark: letIn.unpark, reply: undefined };
    });
  }

  /** Heals a key, unless it was healed here a moment ago for another run of its line. */
  async healIfDue(key: LimitKey): Promise<void> {
    const now = this.#records.clock.monotonic();
    for (const [other, at] of this.#healedAt) if (at + healEveryMs <= now) this.#healedAt.delete(other);
    if (this.#healedAt.has(key.key)) return;
    this.#healedAt.set(key.key, now);
    await this.heal(key);
  }

  /** Heals some lines, and the next ones the next time. */
  async sweep(): Promise<void> {
    const after = this.#sweptUpTo;
    const { store, tenant } = this.#records;
    const lines = await store.listLines(tenant, { limit: sweptLines, ...(after !== undefined && { after }) });
    this.#sweptUpTo = lines.length < sweptLines ? undefined : lines.at(-1);
    for (const key of lines) await this.heal({ name: limitNameOf(key), key });
  }
}
