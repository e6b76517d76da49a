/** Models as nodes call them: `ctx.models`. */
import { expect, test } from 'vitest';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';
import { textOf, type ModelCall } from '../../graph/contracts/model-messages.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { loadState, readHistory } from '../../history/load/load.ts';
import { createScriptedModels } from '../../models/scripted.ts';
import type { StreamEvent } from '../api.ts';

const call: ModelCall = { model: 'a:b', messages: [{ role: 'user', content: 'Hello' }] };

const chat = (ctx: NodeContext): unknown =>
  ctx.step('call', { effect: 'external', idempotent: true }, ({ idempotencyKey, signal }) =>
    ctx.models.generate(call, { idempotencyKey, signal }),
  );

test('L1 L5 a recorded answer is not bought again, and its pieces are told once, as live events of the node', async () => {
  const models = createScriptedModels([{ reasoning: 'hm', pieces: ['Hi ', 'you'], calls: [{ tool: 'wave' }] }]);
  const bench = createBench({ models });
  const graph = graphOf(
    'g',
    [node('a', 'read', async (ctx) => [await chat(ctx), await ctx.receive('go')])],
    edges('> a', 'a >'),
  );
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  const events: StreamEvent[] = [];
  for await (const event of handle.events()) events.push(event);
  const told = events.flatMap((event) => (event.type === 'emitted' ? [event.detail] : []));
  const key = models.requests[0]?.idempotencyKey;
  const asked = { type: 'tool-arguments', id: 'call-1-1', tool: 'wave' };
  expect(told).toEqual(
    [
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'Hi ' },
      { type: 'text', text: 'you' },
      { ...asked, text: '' },
      { ...asked, text: '{}' },
    ].map((delta) => ({ type: 'model-delta', call: key, delta })),
  );
  const engine = afterCrash(bench);
  await engine.signal('r', 'go', 1);
  const again = await engine.resume('r', { graph });
  for await (const event of again.events()) expect(event.type).not.toBe('emitted');
  const { status, state } = await again.result();
  expect([status, models.requests.length]).toEqual(['completed', 1]);
  expect(state.outputs['a']).toMatchObject([{ content: [{ text: 'hm' }, { text: 'Hi you' }, { tool: 'wave' }] }, 1]);
});

test('L1 outside a step a call has the key and the signal of its activation', async () => {
  const models = createScriptedModels(['Hi']);
  const bench = createBench({ models });
  let seen: Pick<NodeContext, 'idempotencyKey' | 'signal'> | undefined;
  const graph = graphOf(
    'g',
    [
      node('a', 'external', async (ctx) => {
        seen = { idempotencyKey: ctx.idempotencyKey, signal: ctx.signal };
        return (await ctx.models.generate(call)).finishReason;
      }),
    ],
    edges('> a', 'a >'),
  );
  expect((await runToRest(bench.engine, graph, {}, 'r')).state.outputs['a']).toBe('stop');
  expect(models.requests[0]).toMatchObject({ ...call, idempotencyKey: seen?.idempotencyKey });
  expect(models.requests[0]?.signal).toBe(seen?.signal);
});

test('L1 an engine without models fails a call with MODEL_UNKNOWN, and the run goes on with them', async () => {
  const bench = createBench();
  const graph = graphOf('g', [node('a', 'read', chat)], edges('> a', 'a >'));
  const failed = await runToRest(bench.engine, graph, {}, 'r');
  expect(failed.error?.data).toMatchObject({ code: 'MODEL_UNKNOWN' });
  const models = createScriptedModels(['Hi']);
  const later = createBench({ ...bench.options, models });
  expect((await resumeToRest(later.engine, 'r', graph)).status).toBe('completed');
});

test('Q7 a call of a model is spent by the step that makes it, with its cost where prices are known', async () => {
  const answers = [{ text: 'Hi', usage: { inputTokens: 40, outputTokens: 7 }, cost: 0.002 }, 'Hello you'];
  const bench = createBench({ models: createScriptedModels(answers) });
  const graph = graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        await chat(ctx);
        // Without prices no cost is told; four characters count as a token.
        await ctx.models.generate(call);
      }),
    ],
    edges('> a', 'a >'),
  );
  const { spent } = await runToRest(bench.engine, graph, {}, 'r');
  expect(spent).toEqual({ inputTokens: 42, outputTokens: 10, cost: 0.002 });
  const { root } = await loadState(bench.options.store, bench.options.blobs, await rowOf(bench, 'r'));
  expect(root.frame.nodes['a']?.spent).toEqual(spent);
  const step = (await stepCosts(bench, 'r'))[0];
  expect(step).toEqual({ inputTokens: 40, outputTokens: 7, cost: 0.002 });
});

test('Q7 counts that are none do not lose the answer that was bought', async () => {
  const usage = { inputTokens: Number.NaN, outputTokens: -1 };
  const bench = createBench({ models: createScriptedModels([{ text: 'Hi', usage }]) });
  const graph = graphOf(
    'g',
    [node('a', 'read', async (ctx) => textOf((await ctx.models.generate(call)).content))],
    edges('> a', 'a >'),
  );
  const { state, spent } = await runToRest(bench.engine, graph);
  expect([state.outputs['a'], spent]).toEqual(['Hi', {}]);
});

async function stepCosts(bench: Bench, runId: string): Promise<readonly unknown[]> {
  const row = await rowOf(bench, runId);
  const found: unknown[] = [];
  for await (const { checkpoint } of readHistory(bench.store, row, { from: 0, to: row.head }))
    for (const { kind, spent } of checkpoint.change) if (kind === 'step') found.push(spent);
  return found;
}
