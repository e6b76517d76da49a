/** Places and times of steps: requested together, granted in batches, in the order in which they came. */
import { CairnError } from '../../errors.ts';
import type { LimitKey } from '../../graph/limit.ts';
import { isOfExperiment } from '../../history/stored/run-ids.ts';
import type { Claim } from '../../ports/store.ts';
import { withoutGone, type LimitRecords, type PlaceDecision, type PlaceView } from './limit-records.ts';
import {
  aheadOf,
  compareTickets,
  roomForExperiments,
  dueOf,
  roomOf,
  withRequest,
  withSteps,
  withTicket,
  withUsage,
  type AppliedLimit,
  type PlaceState,
  type Ticket,
} from './place-state.ts';

/** How long a look at a full limit is away from the next one, in ms: the shortest, and the longest. */
const [soonMs, laterMs] = [20, 250];
/** The longest sleep until a time comes: meanwhile an operator may have changed the limit. */
const sleepMs = 1_000;
/** Whether those who have places are still there is looked at this often. */
const checkEveryMs = 1_000;
/** For so long a run uses a place again without asking whether others wait by now. */
const handOnMs = 1_000;
/** What begins later than this after its time was granted, because the store could not be reached, waits for another one. */
const staleMs = 1_000;
/** Before a store that could not be reached is asked again. */
const retryMs = 500;

const ignore = (): void => undefined;

/** Places that were granted to one call. */
export interface Permit {
  /** Whether they were granted for a time that has passed: then another one must be waited for. */
  isStale(): boolean;
  /** Gives them back; a second call does nothing. @param used - the tokens that were used, where some were reserved */
  leave(used?: number): void;
}

interface PlaceRequest {
  readonly claim: Claim;
  readonly tokens: number;
  readonly since: number;
  readonly grant: (permit: Permit) => void;
  readonly fail: (error: unknown) => void;
}

/** What a call gives back. */
interface Return {
  readonly claim: Claim;
  readonly reserved: number;
  readonly used: number | undefined;
}

/** Calls of this process that want places of the same keys. */
interface Lane {
  readonly name: string;
  readonly keys: readonly LimitKey[];
  /** In the order in which they came. */
  readonly requests: Set<PlaceRequest>;
  /** How many requests there have ever been. */
  arrived: number;
  returns: Return[];
  /** Until when the provider wants nothing to begin, in epoch ms. */
  heldUntil: number;
  isRunning: boolean;
  /** Places that are out. */
  out: number;
  /** The claims of which tickets are on record. */
  ticketed: readonly Claim[];
  /** Until when a place may be handed on here, in monotonic ms: nobody else waits, and no rate says when the next may begin. */
  handsOnUntil: number;
  isRated: boolean;
  wake: () => void;
}

/** What a look came to. */
interface Look {
  readonly granted: readonly PlaceRequest[];
  readonly ticketed: readonly Claim[];
  readonly waitMs: number;
  /** How many requests there had been when it was decided. */
  readonly arrived: number;
}

export class StepPlaces {
  readonly #records: LimitRecords;
  readonly #lanes = new Map<string, Lane>();
  readonly #checkedAt = new Map<string, number>();
  #isClosed = false;

  constructor(records: LimitRecords) {
    this.#records = records;
  }

  /**
   * Waits for a place of each key. @param tokens - what the call uses, as far as is known; they are reserved
   * @throws why the signal was aborted; CONFIG_INVALID a limit is defined nowhere
   */
  enter(claim: Claim, keys: readonly LimitKey[], tokens: number, signal: AbortSignal): Promise<Permit> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const lane = this.#laneOf(keys, isOfExperiment(claim.runId));
    const { promise, resolve, reject } = Promise.withResolvers<Permit>();
    const stop = (): void => {
      lane.requests.delete(request);
      reject(signal.reason as Error);
      this.#start(lane);
    };
    const request: PlaceRequest = {
      claim,
      tokens,
      since: this.#records.clock.now(),
      grant: (permit) => {
        signal.removeEventListener('abort', stop);
        resolve(permit);
      },
      fail: (error) => {
        signal.removeEventListener('abort', stop);
        reject(error);
      },
    };
    signal.addEventListener('abort', stop, { once: true });
    lane.requests.add(request);
    lane.arrived += 1;
    this.#start(lane);
    return promise;
  }

  /** Lets nothing of these keys begin for a while, because the provider said so. */
  hold(keys: readonly LimitKey[], forMs: number): void {
    const lane = this.#laneOf(keys);
    lane.heldUntil = Math.max(lane.heldUntil, this.#records.clock.now() + forMs);
    this.#start(lane);
  }

  /** Gives nothing more, and writes nothing more: what is held goes back with the claims. */
  close(): void {
    this.#isClosed = true;
    for (const lane of this.#lanes.values()) lane.wake();
  }

  /** @param isLast - of experiments, so that none of theirs stands before another in it */
  #laneOf(keys: readonly LimitKey[], isLast = false): Lane {
    const sorted = [...keys].sort((a, b) => (a.key < b.key ? -1 : 1));
    const name = JSON.stringify([...sorted.map(({ key }) => key), ...(isLast ? [{ isLast }] : [])]);
    const lane: Lane = this.#lanes.get(name) ?? {
      name,
      keys: sorted,
      requests: new Set(),
      arrived: 0,
      returns: [],
      heldUntil: 0,
      isRunning: false,
      out: 0,
      ticketed: [],
      handsOnUntil: 0,
      isRated: false,
      wake: ignore,
    };
    this.#lanes.set(name, lane);
    return lane;
  }

  #start(lane: Lane): void {
    lane.wake();
    if (lane.isRunning || this.#isClosed) return;
    lane.isRunning = true;
    void this.#run(lane).finally(() => {
      lane.isRunning = false;
      if (this.#isBusy(lane)) this.#start(lane);
      else if (lane.out === 0) this.#lanes.delete(lane.name);
    });
  }

  #isBusy({ requests, returns, heldUntil, ticketed }: Lane): boolean {
    return !this.#isClosed && (requests.size > 0 || returns.length > 0 || heldUntil > 0 || ticketed.length > 0);
  }

  async #run(lane: Lane): Promise<void> {
    let pauseMs = soonMs;
    // Calls of the same turn are looked at together.
    await Promise.resolve();
    while (this.#isBusy(lane)) {
      const { waitMs, granted, arrived } = await this.#look(lane);
      pauseMs = granted.length > 0 ? soonMs : Math.min(laterMs, pauseMs * 2);
      const isSeen = lane.arrived === arrived && lane.returns.length === 0;
      if (lane.requests.size > 0 && isSeen) await this.#pause(lane, waitMs > 0 ? Math.min(waitMs, sleepMs) : pauseMs);
    }
  }

  /** Waits, or until something comes. */
  #pause(lane: Lane, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#records.clock.setTimer(ms, () => lane.wake());
      const wake = (): void => {
        lane.wake = ignore;
        cancel();
        resolve();
      };
      lane.wake = wake;
    });
  }

  /** Writes what came back and who begins, and lets them begin. */
  async #look(lane: Lane): Promise<Look> {
    const returned = lane.returns.splice(0);
    const { heldUntil } = lane;
    try {
      const look = await this.#records.change(lane.keys, (view) => this.#decide(lane, returned, view));
      if (lane.heldUntil === heldUntil) lane.heldUntil = 0;
      lane.ticketed = look.ticketed;
      for (const request of look.granted) this.#grant(lane, request);
      if (returned.length > 0) this.#wakeOthers(lane);
      return look;
    } catch (error) {
      lane.returns.unshift(...returned);
      if (CairnError.is(error, 'STORE_UNAVAILABLE', 'STORE_BUSY')) await this.#records.delay(retryMs);
      else {
        Object.assign(lane, { returns: [], heldUntil: 0, ticketed: [] });
        for (const request of lane.requests) request.fail(error);
        lane.requests.clear();
      }
      return { granted: [], ticketed: [], waitMs: 0, arrived: lane.arrived };
    }
  }

  #wakeOthers(lane: Lane): void {
    const own = new Set(lane.keys.map(({ key }) => key));
    for (const other of this.#lanes.values())
      if (other !== lane && other.keys.some(({ key }) => own.has(key))) other.wake();
  }

  /** Lets a call begin, unless it was called off while its places were written: then they go back. */
  #grant(lane: Lane, request: PlaceRequest): void {
    const permit = this.#permit(lane, request);
    if (lane.requests.delete(request)) request.grant(permit);
    else permit.leave();
  }

  #permit(lane: Lane, { claim, tokens }: PlaceRequest): Permit {
    const { clock } = this.#records;
    const at = clock.monotonic();
    let isReleased = false;
    lane.out += 1;
    return {
      isStale: () => lane.isRated && clock.monotonic() - at > staleMs,
      leave: (used) => {
        if (isReleased) return;
        isReleased = true;
        lane.out -= 1;
        const [next] = lane.handsOnUntil > this.#records.clock.monotonic() ? lane.requests : [];
        if (next === undefined || !isSame(next.claim, claim)) {
          lane.returns.push({ claim, reserved: tokens, used });
          return this.#start(lane);
        }
        // The run has other work for the place: nothing is written.
        this.#grant(lane, next);
      },
    };
  }

  async #decide(lane: Lane, returned: readonly Return[], view: PlaceView): Promise<PlaceDecision<Look>> {
    const { keys, heldUntil } = lane;
    const states = new Map(keys.map((key): [string, PlaceState] => [key.key, view.stateOf(key)]));
    const update = (key: LimitKey, next: (state: PlaceState) => PlaceState): void =>
      void states.set(key.key, next(states.get(key.key) as PlaceState));
    for (const key of keys) {
      for (const { claim, reserved, used } of returned) {
        update(key, (state) => withSteps(state, claim.runId, claim.token, -1));
        if (used !== undefined) update(key, (state) => withUsage(view.limitOf(key), state, reserved, used));
      }
      if (heldUntil > view.now) update(key, (state) => ({ ...state, heldUntil: Math.max(state.heldUntil, heldUntil) }));
    }
    const granted: PlaceRequest[] = [];
    let dueAt = 0;
    // In the order of the tickets, which is another one for requests of the same millisecond. Else the first could wait for those behind it,
    // which are not looked at before it has begun: nobody would begin any more.
    const requests = [...lane.requests].sort((a, b) =>
      a.claim === b.claim ? a.since - b.since : compareTickets(ticketOf(lane, a), ticketOf(lane, b)),
    );
    for (const request of requests) {
      const due = Math.max(...keys.map((key) => dueOf(view.limitOf(key), states.get(key.key) as PlaceState, view.now)));
      dueAt = Math.max(dueAt, due);
      if (due > 0 || !keys.every((key) => this.#hasRoom(view, key, states.get(key.key) as PlaceState, lane, request)))
        break;
      granted.push(request);
      for (const key of keys) {
        update(key, (state) => withSteps(state, request.claim.runId, request.claim.token, 1));
        update(key, (state) => withRequest(view.limitOf(key), state, view.now, request.tokens));
      }
    }
    const begun = new Set(granted);
    const waiting = requests.filter((request) => !begun.has(request));
    if (waiting.length > 0 && dueAt === 0 && view.isFresh)
      for (const key of keys) states.set(key.key, await this.#withoutGone(key, states.get(key.key) as PlaceState));
    const ticketed = ticketsOf(lane, waiting, states);
    lane.isRated = keys.some((key) => isRated(view.limitOf(key)));
    const isAlone = handsOn(lane, view, states, ticketed);
    lane.handsOnUntil = isAlone ? this.#records.clock.monotonic() + handOnMs : 0;
    return { states, reply: { granted, ticketed, arrived: lane.arrived, waitMs: dueAt === 0 ? 0 : dueAt - view.now } };
  }

  #hasRoom(view: PlaceView, key: LimitKey, state: PlaceState, lane: Lane, request: PlaceRequest): boolean {
    const { runId } = request.claim;
    const ahead = aheadOf(state, ticketOf(lane, request));
    const limit = view.limitOf(key);
    if (isOfExperiment(runId) && roomForExperiments(limit, state) <= 0) return false;
    return roomOf(limit, state, view.now) - ahead > 0;
  }

  /** The state without those whose claims are gone. What lapsed is revoked first. */
  async #withoutGone({ key }: LimitKey, state: PlaceState): Promise<PlaceState> {
    const now = this.#records.clock.monotonic();
    if ((this.#checkedAt.get(key) ?? -Infinity) + checkEveryMs > now) return state;
    this.#checkedAt.set(key, now);
    return withoutGone(this.#records, state);
  }
}

const ticketOf = ({ name }: Lane, { claim: { runId, token }, since }: PlaceRequest): Omit<Ticket, 'count'> => ({
  runId,
  token,
  by: name,
  since,
});

const isSame = (a: Pick<Claim, 'runId' | 'token'>, b: Pick<Claim, 'runId' | 'token'>): boolean =>
  a.runId === b.runId && a.token === b.token;

/** Notes how many of each run wait, in all keys alike, so that nobody who comes later begins before. @returns whose tickets there are */
function ticketsOf(lane: Lane, waiting: readonly PlaceRequest[], states: Map<string, PlaceState>): readonly Claim[] {
  const tickets = new Map<string, { readonly claim: Claim; readonly since: number; readonly count: number }>();
  for (const claim of lane.ticketed) tickets.set(nameOf(claim), { claim, since: 0, count: 0 });
  for (const { claim, since } of waiting) {
    const { count = 0, since: first = since } = tickets.get(nameOf(claim)) ?? {};
    tickets.set(nameOf(claim), { claim, since: count === 0 ? since : first, count: count + 1 });
  }
  for (const { key } of lane.keys) {
    let state = states.get(key) as PlaceState;
    for (const { claim, since, count } of tickets.values())
      state = withTicket(state, { runId: claim.runId, token: claim.token, by: lane.name, since, count });
    states.set(key, state);
  }
  return [...tickets.values()].flatMap(({ claim, count }) => (count > 0 ? [claim] : []));
}

const nameOf = ({ runId, token }: Claim): string => `${token} ${runId}`;

/** Whether a run may use a place again without a word to the store. */
function handsOn(
  { keys, name, isRated: hasRate }: Lane,
  view: PlaceView,
  states: ReadonlyMap<string, PlaceState>,
  own: readonly Claim[],
): boolean {
  if (hasRate) return false;
  const isOwn = (ticket: PlaceState['tickets'][number]): boolean =>
    ticket.by === name && own.some((claim) => isSame(claim, ticket));
  return keys.every((key) => {
    const { isLined, tickets } = states.get(key.key) as PlaceState;
    return view.limitOf(key).isPaused !== true && !isLined && tickets.every(isOwn);
  });
}

const isRated = ({ requestsPerMinute, tokensPerMinute }: AppliedLimit): boolean =>
  (requestsPerMinute ?? tokensPerMinute) !== undefined;
