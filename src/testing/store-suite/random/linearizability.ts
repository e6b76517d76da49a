/**
 * Checks linearizability: parallel calls must be answered as if they had been made one after another, each at some moment between its call
 * and its reply. A search over the possible orders finds one or shows that there is none.
 *
 * @see Wing and Gong, "Testing and Verifying Concurrent Objects" (1993)
 */

import assert from 'node:assert/strict';
import { createSeededRandom } from '../../seeded-random.ts';
import { admission } from '../examples.ts';
import { RandomCaller } from './random-calls.ts';
import { followCall, freshRun, makeCall, type RunCall, type RunReply, type RunState } from './run-model.ts';
import type { SuitePart } from '../suite.ts';

interface Made {
  readonly call: RunCall;
  readonly reply: RunReply;
  /** Moments as counted events, not as time. */
  readonly calledAt: number;
  readonly repliedAt: number;
}

const histories = 30;
const callsEach = 6;

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
function findOrder(made: readonly Made[]): boolean {
  const seen = new Set<string>();
  const search = (state: RunState, left: readonly Made[]): boolean => {
    if (left.length === 0) return true;
    const memo = `${left.map(({ calledAt }) => calledAt).join()} ${JSON.stringify(state)}`;
    if (seen.has(memo)) return false;
    seen.add(memo);
    const firstReply = Math.min(...left.map(({ repliedAt }) => repliedAt));
    return left.some((one) => {
      if (one.calledAt > firstReply) return false;
      const next = followCall(state, one.call, one.reply);
      return (
        next !== undefined &&
        search(
          next,
          left.filter((other) => other !== one),
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
