/** Errors of providers under `durable`: tried again where that may help, and the SDK's own when they come from the record. */
import { APICallError, generateText, streamText } from 'ai';
import { describe, expect, test } from 'vitest';
import { scriptedSdkModel } from '../../test/agents/scripted-sdk-model.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../test/engine-kit.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import type { Graph } from '../graph/graph.ts';
import { durable } from './index.ts';

const single = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));

describe('U3 errors of providers', () => {
  const limited = (isRetryable: boolean): APICallError =>
    new APICallError({
      message: 'slow down',
      url: 'https://api.example/v1?key=planted',
      requestBodyValues: { prompt: 'planted' },
      statusCode: isRetryable ? 429 : 400,
      responseHeaders: { 'retry-after': '7', 'set-cookie': 'planted' },
      responseBody: 'planted',
    });

  test('U3 a call that may pass is made again inside its step, after the time that the provider named', async () => {
    const model = scriptedSdkModel((_, count) => (count === 0 ? limited(true) : 'Hello.'));
    const { engine, clock } = createBench();
    const began = clock.now();
    const graph = single(async (ctx) => {
      const d = durable(ctx, { name: 'support' });
      return (await generateText({ model: d.model(model), prompt: 'Go.', ...d.settings })).text;
    });
    expect((await runToRest(engine, graph)).state.outputs).toEqual({ a: 'Hello.' });
    expect([model.requests.length, clock.now() - began >= 7_000]).toEqual([2, true]);
  });

  test.each(['generateText', 'streamText'])(
    'U3 %s: what fails for good has the marks of the SDK, also after a restart, and nothing of the transport is kept',
    async (way) => {
      const found: unknown[] = [];
      const model = scriptedSdkModel(() => limited(false));
      const bench = createBench();
      const graph = single(async (ctx) => {
        const d = durable(ctx, { name: 'support' });
        const options = { model: d.model(model), prompt: 'Go.', ...d.settings };
        const errors: unknown[] = [];
        if (way === 'generateText') await generateText(options).catch((error: unknown) => errors.push(error));
        else await streamText({ ...options, onError: ({ error }) => void errors.push(error) }).consumeStream();
        const error = errors[0] as APICallError;
        found.push([
          APICallError.isInstance(error),
          error.name,
          error.message,
          error.statusCode,
          error.isRetryable,
          error.url,
        ]);
        await ctx.ask({ prompt: 'Fine?' });
        return 'handled';
      });
      const paused = await runToRest(bench.engine, graph, {}, 'r');
      const engine = afterCrash(bench);
      await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
      expect((await resumeToRest(engine, 'r', graph)).status).toBe('completed');
      const expected = [true, 'AI_APICallError', 'slow down', 400, false, 'https://api.example/v1'];
      expect([found, model.requests.length]).toEqual([[expected, expected], 1]);
      expect(await textOfStore(bench)).not.toContain('planted');
    },
  );

  test('U2 of an answer no request, body or header is kept', async () => {
    const model = scriptedSdkModel(['Hello.']);
    const bench = createBench();
    const graph = single(async (ctx) => {
      const d = durable(ctx, { name: 'support' });
      const { text, response, usage } = await generateText({ model: d.model(model), prompt: 'Go.', ...d.settings });
      return [text, response.modelId, response.id.length > 0, response.headers ?? 'none', usage.totalTokens];
    });
    expect((await runToRest(bench.engine, graph, {}, 'r')).state.outputs).toEqual({
      a: ['Hello.', 'scripted', true, 'none', 15],
    });
    expect(await textOfStore(bench)).toContain('Hello.');
    expect(await textOfStore(bench)).not.toContain('planted');
  });
});

/** All that the store holds of the run's checkpoints, as text. */
async function textOfStore({ store }: ReturnType<typeof createBench>): Promise<string> {
  const rows = await store.readCheckpoints({ tenant: 'default', runId: 'r' }, { from: 0, to: 99 });
  return rows.map(({ body }) => Buffer.from(body).toString()).join('\n');
}
