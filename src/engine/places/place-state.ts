/** What is known of a limit and of each of its keys, and what may begin by it. Pure: the limiter reads and writes it. */
import type { Limit } from '../../graph/limit.ts';
import { isOfExperiment } from '../../history/stored/run-ids.ts';

/** The amounts of a limit. What is absent is not limited. */
export interface LimitAmounts {
  readonly concurrency?: number;
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly burst?: number;
}

/** A definition, as data. */
export interface LimitDefinition extends LimitAmounts {
  readonly counts?: 'open';
  readonly onFull?: Limit['onFull'];
  /** Whether it is another one for each value of `per`. */
  readonly isPer?: true;
}

/** What an operator set. It goes before the definition until it is reset. */
export interface LimitOverride extends LimitAmounts {
  readonly isPaused?: true;
  /** Epoch ms. */
  readonly at: number;
}

/** The record of a limit. */
export interface LimitEntry {
  readonly definition: LimitDefinition;
  /** The definitions that were seen, oldest first, as text. The one that was first seen last applies. */
  readonly seen: readonly string[];
  readonly override?: LimitOverride;
}

/** A limit as it applies. */
export type AppliedLimit = LimitDefinition & { readonly isPaused?: true };

const seenMax = 20;

export function definitionOf({
  concurrency,
  requestsPerMinute,
  tokensPerMinute,
  burst,
  counts,
  onFull,
  per,
}: Limit): LimitDefinition {
  return {
    ...(concurrency !== undefined && { concurrency }),
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute }),
    ...(burst !== undefined && { burst }),
    ...(counts === 'open' && { counts }),
    ...(onFull !== undefined && onFull !== 'queue' && { onFull }),
    ...(per !== undefined && { isPer: true as const }),
  };
}

/** The record after a process has named its definition; undefined if that changes nothing. */
export function withDefinition(entry: LimitEntry | undefined, definition: LimitDefinition): LimitEntry | undefined {
  const text = JSON.stringify(definition);
  if (entry?.seen.includes(text) === true) return undefined;
  return { ...entry, definition, seen: [...(entry?.seen ?? []), text].slice(-seenMax) };
}

export function appliedOf({ definition, override }: LimitEntry): AppliedLimit {
  if (override === undefined) return definition;
  const { at: _, ...set } = override;
  return { ...definition, ...set };
}

/** Who has places of a key: a run while its claim holds, a run until it ends (no token), or the steps under a claim. */
export interface Holder {
  readonly runId: string;
  readonly token?: number;
  readonly of: 'run' | 'steps';
  readonly count: number;
}

/** A run that was let out of the line and has yet to be taken up. Until then its place is reserved for it. */
export interface Reservation {
  readonly runId: string;
  /** Epoch ms. */
  readonly until: number;
}

/** Steps that wait for places, in the order in which they came. */
export interface Ticket {
  readonly runId: string;
  readonly token: number;
  /** The keys that they wait for together. */
  readonly by: string;
  readonly count: number;
  /** When they began to wait, in epoch ms: the order over all keys. */
  readonly since: number;
}

/** The record of a key. */
export interface PlaceState {
  readonly holders: readonly Holder[];
  readonly reservations: readonly Reservation[];
  readonly tickets: readonly Ticket[];
  /** Whether runs may wait in its line. */
  readonly isLined: boolean;
  /** The rank of the run that was let in last: who joins the line comes behind it. */
  readonly rank: number;
  /** When the requests and the tokens so far will have come at an even rate, in epoch ms. */
  readonly requestsUntil: number;
  readonly tokensUntil: number;
  /** Nothing begins before, because the provider said so. Epoch ms. */
  readonly heldUntil: number;
  /** The run that takes the place in line of those that wait, where a limit says so. */
  readonly newest?: string;
}

const emptyState: PlaceState = {
  holders: [],
  reservations: [],
  tickets: [],
  isLined: false,
  rank: 0,
  requestsUntil: 0,
  tokensUntil: 0,
  heldUntil: 0,
};

/** Whether a record says nothing any more, so that it can be removed. */
export function isIdle(state: PlaceState, now: number): boolean {
  const { holders, reservations, tickets, isLined, requestsUntil, tokensUntil, heldUntil, newest } = state;
  const isOpen = holders.length + reservations.length + tickets.length > 0 || isLined || newest !== undefined;
  return !isOpen && Math.max(requestsUntil, tokensUntil, heldUntil) <= now;
}

/** The state as text: what is as in an empty one is left out. */
export function stateText(state: PlaceState): string {
  const parts = Object.entries(state).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(emptyState[name as keyof PlaceState]),
  );
  return JSON.stringify(Object.fromEntries(parts));
}

export const stateOf = (text: string | undefined): PlaceState =>
  text === undefined ? emptyState : { ...emptyState, ...(JSON.parse(text) as Partial<PlaceState>) };

/** How many places are taken or reserved, but for a run of one's own. */
function takenOf({ holders, reservations }: PlaceState, now: number, but?: string): number {
  const taken = holders.reduce((sum, { runId, of, count }) => (of === 'run' && runId === but ? sum : sum + count), 0);
  return taken + reservations.filter(({ runId, until }) => until > now && runId !== but).length;
}

/** How many places are free; Infinity without a limit of places. */
export function roomOf(limit: AppliedLimit, state: PlaceState, now: number, but?: string): number {
  if (limit.isPaused === true) return 0;
  return Math.max(0, (limit.concurrency ?? Infinity) - takenOf(state, now, but));
}

export const hasRunPlace = ({ holders }: PlaceState, runId: string): boolean =>
  holders.some((holder) => holder.of === 'run' && holder.runId === runId);

/** Gives a run its place. */
export function withRun(state: PlaceState, limit: AppliedLimit, runId: string, token: number): PlaceState {
  const own: Holder = { runId, of: 'run', count: 1, ...(limit.counts !== 'open' && { token }) };
  return { ...withoutRun(state, runId), holders: [...withoutRun(state, runId).holders, own] };
}

/** Takes a run's place, or the one that is reserved for it. @param token - only the place under this claim */
export function withoutRun(state: PlaceState, runId: string, token?: number): PlaceState {
  const isOwn = (holder: Holder): boolean =>
    holder.of === 'run' &&
    holder.runId === runId &&
    (token === undefined || holder.token === undefined || holder.token === token);
  const { newest, ...rest } = state;
  return {
    ...rest,
    ...(newest !== undefined && newest !== runId && { newest }),
    holders: state.holders.filter((holder) => !isOwn(holder)),
    reservations: state.reservations.filter((one) => one.runId !== runId),
  };
}

/** Reserves places for runs that leave the line, and forgets those that nobody took up in time. */
export function withReservations(
  state: PlaceState,
  runIds: readonly string[],
  ranks: readonly number[],
  now: number,
  reservedMs: number,
): PlaceState {
  const live = state.reservations.filter(({ until }) => until > now);
  const reservations = [...live, ...runIds.map((runId) => ({ runId, until: now + reservedMs }))];
  return { ...state, reservations, rank: Math.max(state.rank, ...ranks) };
}

/** Gives steps under a claim more places, or takes some back. */
export function withSteps(state: PlaceState, runId: string, token: number, more: number): PlaceState {
  const isOwn = (holder: Holder): boolean => holder.of === 'steps' && holder.runId === runId && holder.token === token;
  const count = (state.holders.find(isOwn)?.count ?? 0) + more;
  const others = state.holders.filter((holder) => !isOwn(holder));
  return { ...state, holders: count > 0 ? [...others, { runId, token, of: 'steps', count }] : others };
}

const isSameTicket = (a: Omit<Ticket, 'count' | 'since'>, b: Omit<Ticket, 'count' | 'since'>): boolean =>
  a.runId === b.runId && a.token === b.token && a.by === b.by;

/** Sets how many steps under a claim wait; in its place, if it has one. */
export function withTicket(state: PlaceState, ticket: Ticket): PlaceState {
  const known = state.tickets.find((one) => isSameTicket(one, ticket));
  if (known?.count === ticket.count && known.since === ticket.since) return state;
  const others = state.tickets.filter((one) => one !== known);
  return { ...state, tickets: ticket.count > 0 ? [...others, ticket] : others };
}

/** How many steps wait that go first: those that came before, and before an experiment's all others. */
export function aheadOf({ tickets }: PlaceState, own: Omit<Ticket, 'count'>): number {
  const isBefore = (one: Ticket): boolean => {
    if (isSameTicket(one, own)) return false;
    if (isOfExperiment(one.runId) !== isOfExperiment(own.runId)) return isOfExperiment(own.runId);
    return compareTickets(one, own) < 0;
  };
  return tickets.filter(isBefore).reduce((sum, { count }) => sum + count, 0);
}

/** How many more places an experiment's steps may have: a quarter of all is for them, and one at least. */
export function roomForExperiments({ concurrency = Infinity }: AppliedLimit, { holders }: PlaceState): number {
  const own = holders.filter(({ runId, of }) => of === 'steps' && isOfExperiment(runId));
  return Math.max(1, Math.floor(concurrency / 4)) - own.reduce((sum, { count }) => sum + count, 0);
}

/** The order of tickets: by time, and within a millisecond by who they are of. */
export function compareTickets(a: Omit<Ticket, 'count'>, b: Omit<Ticket, 'count'>): number {
  if (a.since !== b.since) return a.since - b.since;
  const [first, second] = [orderOf(a), orderOf(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}

const orderOf = ({ runId, token, by }: Omit<Ticket, 'count' | 'since'>): string => `${runId} ${token} ${by}`;

const minuteMs = 60_000;

/** When one more may begin, in epoch ms; 0 if now. */
export function dueOf(limit: AppliedLimit, state: PlaceState, now: number): number {
  const waitOf = (until: number, perMinute: number | undefined, burst: number): number =>
    perMinute === undefined ? 0 : until - Math.max(0, burst - 1) * (minuteMs / perMinute);
  const { requestsPerMinute, tokensPerMinute, burst } = limit;
  const due = Math.max(
    state.heldUntil,
    waitOf(state.requestsUntil, requestsPerMinute, burst ?? Math.max(1, Math.floor((requestsPerMinute ?? 0) / 60))),
    // A minute's tokens may be used at once; who needs more than that begins when none are owed.
    waitOf(state.tokensUntil, tokensPerMinute, tokensPerMinute ?? 0),
  );
  return due > now ? due : 0;
}

/** Reserves a time now, and tokens. */
export function withRequest(limit: AppliedLimit, state: PlaceState, now: number, tokens: number): PlaceState {
  const { requestsPerMinute, tokensPerMinute } = limit;
  const after = (until: number, perMinute: number | undefined, amount: number): number =>
    perMinute === undefined ? 0 : Math.max(until, now) + (amount * minuteMs) / perMinute;
  return {
    ...state,
    requestsUntil: after(state.requestsUntil, requestsPerMinute, 1),
    tokensUntil: after(state.tokensUntil, tokensPerMinute, tokens),
  };
}

/** Corrects the tokens that were reserved by what was used. */
export function withUsage(limit: AppliedLimit, state: PlaceState, reserved: number, used: number): PlaceState {
  const { tokensPerMinute } = limit;
  if (tokensPerMinute === undefined) return state;
  return { ...state, tokensUntil: Math.max(0, state.tokensUntil + ((used - reserved) * minuteMs) / tokensPerMinute) };
}
