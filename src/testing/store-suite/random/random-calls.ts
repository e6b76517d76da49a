/** Random calls on one run, as workers and people make them; some are outdated or make no sense. */

import type { Store } from '../../../ports/store.ts';
import type { SeededRandom } from '../../seeded-random.ts';
import { keyOf } from '../examples.ts';
import type { RunCall, RunReply } from './run-model.ts';

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
