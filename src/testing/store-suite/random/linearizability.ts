/**
 * Checks linearizability: parallel calls must be answered as if they had been made one after another, each at some moment between its call
 * and its reply. A search over the possible orders finds one or shows that there is none.
 *
 * @see Wing and Gong, "Testing and Verifying Concurrent Objects" (1993)
 */
import { CairnError } from '../../../errors.ts';
import type { Claim, Message, Store } from '../../../ports/store.ts';
import { bytesOf, checksumOf, keyOf, leaseMs, tenant, wait, admission, type SuitePart } from '../examples.ts';
import { type SeededRandom, createSeededRandom } from '../../../ports/seeded-random.ts';
import assert from 'node:assert/strict';

// A model of one run: the replies that a store may give, written as simply as possible.

export type RunCall =
  | { readonly kind: 'claim'; readonly workerId: string; readonly takeFrom?: string }
  | {
      readonly kind: 'commit';
      readonly token: number;
      readonly seq: number;
      /** Text from which the body and the checksum are made. */
      readonly text: string;
      readonly open: readonly string[];
      readonly close: readonly string[];
      /** Names of signals and answers, with their ids. */
      readonly take: readonly (readonly [name: string, id: number])[];
    }
  | { readonly kind: 'renew' | 'release'; readonly token: number }
  | { readonly kind: 'post'; readonly type: Message['kind']; readonly name: string; readonly text: string }
  | { readonly kind: 'read' };

/** A reply as text, so that replies can be compared. A granted token comes after `granted `. */
export type RunReply = string;

interface ModelMessage {
  readonly type: Message['kind'];
  readonly name: string;
  readonly text: string;
  readonly isTaken: boolean;
}

export interface RunState {
  readonly token: number;
  readonly owner: string | undefined;
  /** Text of each checkpoint, by seq. */
  readonly texts: readonly string[];
  readonly waits: readonly string[];
  readonly messages: readonly ModelMessage[];
}

/** The state of a run just admitted by `examples.admission`: unclaimed, and its token not known. */
export const freshRun: RunState = { token: 0, owner: undefined, texts: ['body 0'], waits: [], messages: [] };

/** Makes the call on the store's run. */
export async function makeCall(store: Store, runId: string, call: RunCall): Promise<RunReply> {
  try {
    return await callStore(store, runId, call);
  } catch (error) {
    if (CairnError.is(error)) return error.code;
    throw error;
  }
}

async function callStore(store: Store, runId: string, call: RunCall): Promise<RunReply> {
  const claimOf = (token: number): Claim => ({ tenant, runId, workerId: 'any', token, leaseMs });
  switch (call.kind) {
    case 'claim': {
      const { workerId, takeFrom } = call;
      const request = { tenant, runId, workerId, leaseMs, ...(takeFrom === undefined ? {} : { takeFrom }) };
      const reply = await store.claimRun(request);
      return reply.claim === undefined ? `held by ${reply.owner}` : `granted ${reply.claim.token}`;
    }
    case 'commit': {
      const { token, seq, text, open, close, take } = call;
      const { isHeld } = await store.commit({
        claim: claimOf(token),
        checkpoint: { seq, at: seq, body: bytesOf(text), checksum: checksumOf(text) },
        openWaits: open.map((name) => wait(name)),
        closeWaits: close,
        takeMessages: take.map(([, id]) => id),
        durability: 'process',
      });
      return `landed, held ${isHeld}`;
    }
    case 'renew': {
      const [renewal] = await store.renewClaims([claimOf(call.token)]);
      return renewal?.isHeld === true ? `renewed, messages ${renewal.hasMessages}` : 'CLAIM_FENCED';
    }
    case 'release':
      await store.releaseClaim(claimOf(call.token));
      return 'released';
    case 'post': {
      const { type: kind, name, text } = call;
      const reply = await store.postMessage({ tenant, runId, kind, name, body: bytesOf(text), at: 1 });
      return reply.status === 'taken' ? `taken by ${new TextDecoder().decode(reply.first)}` : reply.status;
    }
    default: {
      const run = await store.readRun(keyOf(runId));
      return `head ${run?.head}, owner ${run?.claim?.workerId}, messages ${run?.hasMessages}`;
    }
  }
}

const hasMessages = ({ messages }: RunState): boolean => messages.some(({ isTaken }) => !isTaken);

/** The state after a call with this reply; undefined if a correct store cannot give this reply. */
export function followCall(state: RunState, call: RunCall, reply: RunReply): RunState | undefined {
  const whenReply = (expected: RunReply, next: RunState): RunState | undefined =>
    reply === expected ? next : undefined;
  switch (call.kind) {
    case 'claim': {
      if (state.owner !== undefined && state.owner !== call.takeFrom) return whenReply(`held by ${state.owner}`, state);
      const token = Number(/^granted (\d+)$/.exec(reply)?.[1] ?? Number.NaN);
      return token > state.token ? { ...state, token, owner: call.workerId } : undefined;
    }
    case 'commit':
      return followCommit(state, call, whenReply);
    case 'renew':
      return isNewest(state, call.token)
        ? whenReply(`renewed, messages ${hasMessages(state)}`, state)
        : whenReply('CLAIM_FENCED', state);
    case 'release':
      return whenReply('released', isNewest(state, call.token) ? { ...state, owner: undefined } : state);
    case 'post':
      return followPost(state, call, whenReply);
    default: {
      const { texts, owner } = state;
      return whenReply(`head ${texts.length - 1}, owner ${owner}, messages ${hasMessages(state)}`, state);
    }
  }
}

/** Whether a token is valid. A claim that was released is no longer the newest. */
const isNewest = (state: RunState, token: number): boolean => state.owner !== undefined && state.token === token;

type WhenReply = (expected: RunReply, next: RunState) => RunState | undefined;

function followCommit(
  state: RunState,
  { token, seq, text, open, close, take }: Extract<RunCall, { kind: 'commit' }>,
  whenReply: WhenReply,
): RunState | undefined {
  const { texts, waits, messages } = state;
  if (texts[seq] === text) return whenReply(`landed, held ${isNewest(state, token)}`, state);
  if (!isNewest(state, token)) return whenReply('CLAIM_FENCED', state);
  if (seq !== texts.length) return whenReply('COMMIT_CONFLICT', state);
  const taken = new Set(take.map(([name]) => name));
  // If the caller repeats lost calls, the claim may be gone at the time of the reply.
  const landed = whenReply('landed, held false', state) === undefined ? 'landed, held true' : 'landed, held false';
  return whenReply(landed, {
    ...state,
    texts: [...texts, text],
    waits: [...waits.filter((name) => !close.includes(name) && !open.includes(name)), ...open],
    messages: messages.map((message) => (taken.has(message.name) ? { ...message, isTaken: true } : message)),
  });
}

function followPost(
  state: RunState,
  { type, name, text }: Extract<RunCall, { kind: 'post' }>,
  whenReply: WhenReply,
): RunState | undefined {
  const isOpen = type === 'answer' && state.waits.includes(name);
  const first = state.messages.find((message) => message.type === type && message.name === name);
  if (first !== undefined && !(first.isTaken && isOpen)) {
    return whenReply(first.text === text ? 'equal' : `taken by ${first.text}`, state);
  }
  if (type === 'answer' && !isOpen) return whenReply('closed', state);
  const others = state.messages.filter((message) => message !== first);
  return whenReply('accepted', { ...state, messages: [...others, { type, name, text, isTaken: false }] });
}

// Random calls on one run, as workers and people make them; some are outdated or make no sense.

const workers = ['one', 'two', 'three'];
const waitNames = ['a', 'b', 'c'];
const texts = ['yes', 'no'];

/** Makes random calls from what one caller has seen so far. */
export class RandomCaller {
  readonly #random: SeededRandom;
  readonly #store: Store;
  readonly #runId: string;
  readonly #workerId: string;
  readonly #tokens: number[] = [];
  readonly #commits: Extract<RunCall, { kind: 'commit' }>[] = [];
  #head = 0;

  constructor(random: SeededRandom, store: Store, runId: string, workerId: string = random.pick(workers)) {
    this.#random = random;
    this.#store = store;
    this.#runId = runId;
    this.#workerId = workerId;
  }

  async next(): Promise<RunCall> {
    const random = this.#random;
    const roll = random.integer(20);
    if (roll < 3 || this.#tokens.length === 0) {
      const { workerId } = this.#workerId === '' ? { workerId: random.pick(workers) } : { workerId: this.#workerId };
      return { kind: 'claim', workerId, ...(random.chance(0.6) ? { takeFrom: random.pick(workers) } : {}) };
    }
    if (roll < 11) return this.#commit();
    if (roll < 12) return { kind: 'renew', token: this.#token() };
    if (roll < 13) return { kind: 'release', token: this.#token() };
    if (roll < 18) return this.#post();
    return { kind: 'read' };
  }

  /** Learns from a reply. */
  hear(call: RunCall, reply: RunReply): void {
    const token = /^granted (\d+)$/.exec(reply)?.[1];
    if (token !== undefined) this.#tokens.push(Number(token));
    const head = /^head (\d+)/.exec(reply)?.[1];
    if (head !== undefined) this.#head = Number(head);
    if (call.kind !== 'commit') return;
    this.#commits.push(call);
    if (reply.startsWith('landed')) this.#head = Math.max(this.#head, call.seq);
  }

  #token(): number {
    const newest = this.#tokens.at(-1) ?? 1;
    return this.#random.chance(0.8) ? newest : this.#random.pick([...this.#tokens, 1]);
  }

  async #commit(): Promise<RunCall> {
    const random = this.#random;
    if (this.#commits.length > 0 && random.chance(0.2)) return random.pick(this.#commits);
    const seq = random.chance(0.8) ? this.#head + 1 : random.integer(this.#head + 3);
    // Messages are read just before they are taken, as the owner of a run does.
    const posted = random.chance(0.5) ? await this.#store.readMessages(keyOf(this.#runId)) : [];
    return {
      kind: 'commit',
      token: this.#token(),
      seq,
      text: `${seq} by ${this.#workerId} ${random.integer(3)}`,
      open: waitNames.filter(() => random.chance(0.2)),
      close: waitNames.filter(() => random.chance(0.2)),
      take: posted.filter(() => random.chance(0.7)).map(({ name, id }) => [name, id] as const),
    };
  }

  #post(): RunCall {
    const random = this.#random;
    const text = random.pick(texts);
    if (random.chance(0.6)) return { kind: 'post', type: 'answer', name: random.pick(waitNames), text };
    return { kind: 'post', type: 'signal', name: `signal ${random.integer(4)}`, text };
  }
}

/** A call that was made, and when. */
export interface Made {
  readonly call: RunCall;
  readonly reply: RunReply;
  /** Moments: counted events in one process; among several, times of the machine's one clock. */
  readonly calledAt: number;
  readonly repliedAt: number;
}

const histories = 30;
/** How many calls each of those who call at once makes. */
export const callsEach = 6;

export const linearizabilityTests: SuitePart = {
  tests: {
    'P4 calls made at once are answered as if made in some order': async ({ store, reopen, seed }) => {
      const other = (await reopen()) ?? store;
      for (let index = 0; index < histories; index += 1) {
        const random = createSeededRandom(seed * 10_000 + index);
        const runId = `run ${index}`;
        await store.admitRun(admission(runId));
        const made: Made[] = [];
        let moment = 0;
        const callAtOnce = async (workerId: string): Promise<void> => {
          const through = random.chance(0.5) ? store : other;
          const caller = new RandomCaller(random.fork(), through, runId, workerId);
          for (let turn = 0; turn < callsEach; turn += 1) {
            const call = await caller.next();
            const calledAt = (moment += 1);
            const reply = await makeCall(through, runId, call);
            made.push({ call, reply, calledAt, repliedAt: (moment += 1) });
            caller.hear(call, reply);
          }
        };
        await Promise.all(['one', 'two', 'three'].map(callAtOnce));
        assert.ok(findOrder(made), `seed ${seed}, history ${index} has no order\n${describe(made)}`);
      }
    },
  },
};

/** Whether some order explains all replies. Calls that did not overlap keep their order. */
export function findOrder(made: readonly Made[]): boolean {
  const seen = new Set<string>();
  const search = (state: RunState, remaining: readonly Made[]): boolean => {
    if (remaining.length === 0) return true;
    const memo = `${remaining.map(({ calledAt }) => calledAt).join()} ${JSON.stringify(state)}`;
    if (seen.has(memo)) return false;
    seen.add(memo);
    const firstReply = Math.min(...remaining.map(({ repliedAt }) => repliedAt));
    return remaining.some((one) => {
      if (one.calledAt > firstReply) return false;
      const next = followCall(state, one.call, one.reply);
      return (
        next !== undefined &&
        search(
          next,
          remaining.filter((other) => other !== one),
        )
      );
    });
  };
  return search(freshRun, made);
}

function describe(made: readonly Made[]): string {
  return made
    .map(({ call, reply, calledAt, repliedAt }) => `${calledAt}-${repliedAt} ${JSON.stringify(call)} -> ${reply}`)
    .join('\n');
}
