/** What an agent gets from a provider that is down, limits its rate, or cuts its answer off: nothing is lost, the reason is named, the run goes on. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agent } from '../../src/agents/agent.ts';
import { tool } from '../../src/agents/tools/tool-box.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { createAiSdkModels } from '../../src/models/ai-sdk.ts';
import { startProviderServer, type ProviderServer, type ServerTurn } from '../agents/provider-server.ts';
import { afterCrash, createBench, edges, graphOf, resumeToRest, runToRest, type Bench } from '../engine-kit.ts';

let server: ProviderServer;
beforeAll(async () => {
  server = await startProviderServer();
});
afterAll(() => server.close());

const names = ['openai:gpt-5', 'anthropic:claude-opus-5', 'local:small'];
const looking: ServerTurn = { calls: [{ id: 'c1', tool: 'look', input: {} }] };

interface Kit {
  readonly bench: Bench;
  readonly graph: Graph;
  readonly looks: () => number;
}

function kit(model: string, ...turns: readonly ServerTurn[]): Kit {
  server.answer(...turns);
  const baseURL = server.url;
  const local = { package: '@ai-sdk/openai-compatible', baseURL, apiKey: 'k' };
  const models = createAiSdkModels({
    providers: { openai: { baseURL, apiKey: 'k' }, anthropic: { baseURL, apiKey: 'k' }, local },
  });
  let looks = 0;
  const look = tool({ description: 'Looks.', input: { type: 'object' }, effect: 'read', run: () => (looks += 1) });
  const worker = { id: 'a', ...agent({ model, prompt: 'Go.', tools: { look } }) };
  return { bench: createBench({ models }), graph: graphOf('g', [worker], edges('> a', 'a >')), looks: () => looks };
}

test.each(names)(
  'L6 A5 %s is down: after three attempts the node fails with its name, and a resume goes on behind what was bought and done',
  async (model) => {
    const one = kit(model, looking, { status: 503 });
    const failed = await runToRest(one.bench.engine, one.graph, {}, 'r');
    const cause = { code: 'MODEL_UNAVAILABLE', message: expect.stringContaining(model) as string };
    expect(failed).toMatchObject({ status: 'failed', error: { cause } });
    expect(server.calls).toHaveLength(1 + 3);
    server.answer({ text: 'Back.' });
    const done = await resumeToRest(afterCrash(one.bench), 'r', one.graph);
    expect([done.state.outputs, one.looks(), server.calls.length]).toEqual([{ a: 'Back.' }, 1, 1]);
  },
);

test.each(names)('L6 A5 %s limits its rate: the agent comes again when it is told to', async (model) => {
  const one = kit(model, looking, { status: 429, retryAfter: '1' }, { text: 'Done.' });
  const beganAt = one.bench.clock.now();
  const done = await runToRest(one.bench.engine, one.graph, {}, 'r');
  expect([done.state.outputs, one.looks(), server.calls.length]).toEqual([{ a: 'Done.' }, 1, 3]);
  expect(one.bench.clock.now() - beganAt).toBeGreaterThanOrEqual(1_000);
});

test.each(names.flatMap((name) => [[name, 'cut'] as const, [name, 'error'] as const]))(
  'L6 A9 %s ends its stream by %s: the call is made again, and whoever follows is told which pieces are void',
  async (model, breaks) => {
    const one = kit(model, looking, { text: 'One two three.', breaks }, { text: 'Four.' });
    const handle = await one.bench.engine.start(one.graph, {}, { runId: 'r' });
    const told: unknown[] = [];
    for await (const event of handle.events()) {
      const { type, delta } = ('detail' in event ? (event.detail ?? {}) : {}) as {
        readonly type?: string;
        readonly delta?: { readonly type: string; readonly text: string };
      };
      if (type === 'model-restarted') told.push(type);
      if (delta?.type === 'text') told.push(delta.text);
    }
    expect((await handle.result()).state.outputs).toEqual({ a: 'Four.' });
    expect(told.join('')).toBe('One model-restartedFour.');
    expect([one.looks(), server.calls.length]).toEqual([1, 3]);
  },
);
