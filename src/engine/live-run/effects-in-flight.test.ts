/** Effects that run in this process, and who takes them for given up (O2, X3). */
import { expect, test } from 'vitest';
import { within } from '../../../test/support/awaited.ts';
import { CairnError } from '../../errors.ts';
import type { Store } from '../../ports/store.ts';
import { createVirtualClock } from '../../ports/virtual-clock.ts';
import { settleDown } from '../../../test/dying-engine.ts';
import { createBench, edges, graphOf, node } from '../../../test/engine-kit.ts';

test('O2 an attempt that ends after its time does not make the next one, still at work, look given up', async () => {
  const calls: PromiseWithResolvers<string>[] = [];
  const secondBegun = Promise.withResolvers<void>();
  const sibling = Promise.withResolvers<string>();
  const pay = (): Promise<string> => {
    const call = Promise.withResolvers<string>();
    if (calls.push(call) === 2) secondBegun.resolve();
    return call.promise;
  };
  const options = { idempotent: true, timeoutMs: 1_000, retry: { attempts: 3, delayMs: 1 } };
  const graph = graphOf(
    'g',
    [
      node('pay', 'write', pay, options),
      node('sibling', 'pure', () => sibling.promise),
      node('after', 'pure', () => 1),
    ],
    edges('> pay', 'pay >', '> sibling', 'sibling > after', 'after >'),
  );
  // Time stands still once the second attempt has begun: its deadline is not what lets another one begin.
  const jumping = createVirtualClock({ isAutomatic: true });
  let stoppedAt: number | undefined;
  const now = (): number => stoppedAt ?? jumping.timeMs;
  const setTimer: typeof jumping.setTimer = (delayMs, callback) =>
    jumping.setTimer(delayMs, () => (stoppedAt === undefined ? callback() : undefined));
  const clock = { ...jumping, now, monotonic: now, setTimer };
  const memory = createBench().store;
  let isLost = false;
  const commit: Store['commit'] = async (given) => {
    if (isLost) throw new CairnError('CLAIM_FENCED', { runId: 'r' });
    return memory.commit(given);
  };
  const { engine } = createBench({ clock, store: { ...memory, commit } });
  const handle = await engine.start(graph, {}, { runId: 'r' });
  await within('the second attempt', secondBegun.promise);
  stoppedAt = jumping.timeMs;
  calls[0]?.resolve('late');
  await settleDown();
  isLost = true;
  sibling.resolve('done');
  await expect(handle.result()).rejects.toMatchObject({ code: 'CLAIM_FENCED' });
  isLost = false;
  await engine.resume('r', { graph });
  await settleDown();
  expect(calls).toHaveLength(2);
});
