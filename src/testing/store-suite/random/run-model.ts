/** A model of one run: the replies that a store may give, written as simply as possible. */

import { CairnError } from '../../../errors.ts';
import type { Claim, Message, Store } from '../../../ports/store.ts';
import { bytesOf, checksumOf, keyOf, leaseMs, tenant, wait } from '../examples.ts';

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
    case 'renew':
      return `renewed, messages ${(await store.renewClaim(claimOf(call.token))).hasMessages}`;
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
