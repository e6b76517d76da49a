/** What a provider lets a process ask, on virtual time. */
import { expect, test, vi } from 'vitest';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { ModelRequest, Models } from '../../ports/model.ts';
import { createVirtualClock, type VirtualClock } from '../../ports/virtual-clock.ts';
import { createScriptedModels } from '../scripted.ts';
import { limitModels, type LimitsByProvider } from './limit-models.ts';

interface Kit {
  readonly clock: VirtualClock;
  /** When each call reached the provider, in seconds from the start: `openai:a@0`. */
  readonly begun: string[];
  readonly ask: (model: string, more?: Partial<ModelRequest>) => Promise<unknown>;
  /** Another set of models of the same process. */
  readonly other: (limits?: LimitsByProvider) => Models;
}

/** A provider that takes a second for each call, and refuses calls by name `busy` with word to come again in 30 s. */
function kit(limits: LimitsByProvider): Kit {
  const clock = createVirtualClock();
  const startMs = clock.now();
  const begun: string[] = [];
  const scripted = createScriptedModels(async ({ model }) => {
    begun.push(`${model}@${(clock.now() - startMs) / 1_000}`);
    await clock.sleep(1_000);
    if (model.endsWith(':busy')) return new NodeFailure('busy', { code: 'MODEL_UNAVAILABLE', retryAfterMs: 30_000 });
    return { text: 'yes', usage: { inputTokens: 10, outputTokens: 10 } };
  });
  const other = (own: LimitsByProvider = {}): Models => limitModels(scripted, own, { clock });
  const models = other(limits);
  const ask: Kit['ask'] = (model, more = {}) =>
    models.generate({ model, messages: [], idempotencyKey: 'k', signal: new AbortController().signal, ...more }).then(
      () => 'yes',
      (error: unknown) => error,
    );
  return { clock, begun, ask, other };
}

test('L9 no more calls run at once than a provider allows, in the order in which they came, whichever models make them', async () => {
  const { clock, begun, ask, other } = kit({ openai: { concurrency: 2 } });
  const beside = other();
  const signal = new AbortController().signal;
  const asked = [
    ask('openai:a'),
    ask('openai:b'),
    beside.generate({ model: 'openai:c', messages: [], idempotencyKey: 'k', signal }),
    ask('openai:d'),
    ask('anthropic:e'),
  ];
  await clock.runUntilIdle();
  await Promise.all(asked);
  expect(begun).toEqual(['openai:a@0', 'openai:b@0', 'anthropic:e@0', 'openai:c@1', 'openai:d@1']);
});

test('L9 requests a minute are those of the last minute', async () => {
  const { clock, begun, ask } = kit({ openai: { requestsPerMinute: 2 } });
  const asked = [ask('openai:a')];
  await clock.advance(10_000);
  asked.push(ask('openai:b'), ask('openai:c'), ask('openai:d'));
  await clock.runUntilIdle();
  await Promise.all(asked);
  expect(begun).toEqual(['openai:a@0', 'openai:b@10', 'openai:c@60', 'openai:d@70']);
});

test('L9 tokens a minute count what a call may take until it is known what it took', async () => {
  const { clock, begun, ask } = kit({ openai: { tokensPerMinute: 100 } });
  // 70 may be taken, 20 are: so 20 + 70 fit when the first is over, and 20 + 20 + 70 do not before the minute is.
  const asked = ['a', 'b', 'c'].map((name) => ask(`openai:${name}`, { tokensMax: 69 }));
  await clock.runUntilIdle();
  await Promise.all(asked);
  expect(begun).toEqual(['openai:a@0', 'openai:b@1', 'openai:c@60']);
});

test('L9 a call that never fits is made when it is alone', async () => {
  const { clock, begun, ask } = kit({ openai: { tokensPerMinute: 100 } });
  const asked = [ask('openai:a'), ask('openai:b', { tokensMax: 5_000 })];
  await clock.runUntilIdle();
  await Promise.all(asked);
  expect(begun).toEqual(['openai:a@0', 'openai:b@60']);
});

test('L9 when a provider says when to come again, all its callers wait, and nobody else does', async () => {
  const { clock, begun, ask } = kit({ openai: { concurrency: 1 } });
  const asked = [ask('openai:busy'), ask('openai:b'), ask('anthropic:c')];
  await clock.runUntilIdle();
  const [first] = await Promise.all(asked);
  expect(first).toMatchObject({ code: 'MODEL_UNAVAILABLE', retryAfterMs: 30_000 });
  expect(begun).toEqual(['openai:busy@0', 'anthropic:c@0', 'openai:b@31']);
});

test('L9 a call that is cancelled while it waits leaves its place, and takes none', async () => {
  const { clock, begun, ask } = kit({ openai: { concurrency: 1 } });
  const cancel = new AbortController();
  const asked = [ask('openai:a'), ask('openai:b', { signal: cancel.signal }), ask('openai:c')];
  cancel.abort(new Error('no more'));
  await clock.runUntilIdle();
  expect((await Promise.all(asked)).map(String)).toEqual(['yes', 'Error: no more', 'yes']);
  expect(begun).toEqual(['openai:a@0', 'openai:c@1']);
});

test('L9 a provider that said when to come again is called then, also if the time of day was set back meanwhile', async () => {
  const models = limitModels(
    createScriptedModels([new NodeFailure('busy', { code: 'MODEL_UNAVAILABLE', retryAfterMs: 20 }), 'Back.']),
  );
  const signal = new AbortController().signal;
  const call = { model: 'set-back:a', messages: [], idempotencyKey: 'k', signal };
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    await expect(models.generate(call)).rejects.toMatchObject({ retryAfterMs: 20 });
    vi.setSystemTime(Date.now() - 60 * 60_000);
    expect(await models.generate(call)).toMatchObject({ content: [{ type: 'text', text: 'Back.' }] });
  } finally {
    vi.useRealTimers();
  }
});
