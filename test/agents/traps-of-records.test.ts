/** Traps in which systems that record agents are caught, each shown not to be here: pruned histories, shared values, caches, claims, deadlines. */
import { expect, test } from 'vitest';
import { agent } from '../../src/agents/agent.ts';
import { tool, type FunctionTool } from '../../src/agents/tools/tool-box.ts';
import { createEngine } from '../../src/engine/engine.ts';
import type { Engine } from '../../src/engine/api.ts';
import { NodeFailure } from '../../src/graph/contracts/node-contract.ts';
import { createScriptedModels, type ScriptedTurn } from '../../src/models/scripted.ts';
import { agentKit, type AgentKit } from './agent-kit.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest, testIds } from '../engine-kit.ts';

const input = { type: 'object' };
const reads = (run: FunctionTool['run'], more: Partial<FunctionTool> = {}): FunctionTool =>
  tool({ description: 'Gives.', input, effect: 'read', run, ...more } as FunctionTool);
const ask = tool({ description: 'Asks.', input, composed: true, run: (_, ctx) => ctx.ask({ prompt: 'Which?' }) });
const asks: ScriptedTurn = { calls: [{ tool: 'ask' }] };

/** Another process, which has the code. */
function elsewhere({ bench, graph }: AgentKit): Engine {
  const engine = afterCrash(bench);
  engine.know(graph);
  return engine;
}

async function answered(kit: AgentKit): ReturnType<typeof resumeToRest> {
  const engine = elsewhere(kit);
  const { waits } = await engine.inspect('r');
  await engine.answer('r', waits[0]?.waitId ?? '', 'This.');
  return resumeToRest(engine, 'r', kit.graph);
}

/** Outputs of the tools that were told in a message. */
function toldIn(kit: AgentKit, request: number, message: number): readonly unknown[] {
  const content = kit.models.requests[request]?.messages[message]?.content;
  return Array.isArray(content) ? content.map((part: object) => ('output' in part ? part.output : undefined)) : [];
}

test('completed is not “has a result”: an agent whose failure its graph takes has completed, and a resume does not ask again', async () => {
  let isBroken = true;
  const models = createScriptedModels(() => new NodeFailure('down', { code: 'MODEL_REFUSED', applied: 'no' }));
  const bench = createBench({ models });
  const after = node('b', 'pure', ({ state }) => {
    if (isBroken) throw new Error('not yet');
    return state.failures['a'] === undefined ? 'unknown' : 'told';
  });
  const worker = { id: 'a', ...agent({ model: 'm', prompt: '?' }, { onFailure: 'continue' }) };
  const graph = graphOf('g', [worker, after], edges('> a', 'a > b', 'b >'));
  expect((await runToRest(bench.engine, graph, {}, 'r')).status).toBe('failed');
  isBroken = false;
  const done = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([done.status, done.state.outputs['b'], models.requests.length]).toEqual(['completed', 'told', 1]);
});

test('retention spares what waits: pruned while an agent asks, the run loses what was before it alone, goes on, and its model is not asked again', async () => {
  let looks = 0;
  const gives = reads(() => (looks += 1));
  const models = createScriptedModels([{ calls: [{ tool: 'gives' }] }, asks, 'Done.']);
  const bench = createBench({ models });
  const before = ['p', 'q', 'r'].map((id) => node(id, 'write', () => id));
  const worker = { id: 'a', ...agent({ model: 'm', prompt: '?', tools: { gives, ask } }) };
  const graph = graphOf('g', [...before, worker], edges('> p', 'p > q', 'q > r', 'r > a', 'a >'));
  const { seq } = await runToRest(bench.engine, graph, {}, 'r');
  const [pruned] = (await bench.engine.history.prune('r')).pruned;
  expect(pruned?.removed).toBeGreaterThan(1);
  expect(pruned?.oldest).toBeLessThan(seq);
  expect((await answered({ bench, models, graph })).state.outputs['a']).toBe('Done.');
  expect([models.requests.length, looks]).toEqual([3, 1]);
});

test('a configuration that was given is not changed: an agent of frozen parts works, and its parts are as they were', async () => {
  const settings = Object.freeze({ temperature: 0, provider: Object.freeze({ m: Object.freeze({ x: 1 }) }) });
  const config = Object.freeze({
    tools: Object.freeze({ gives: Object.freeze(reads(() => 1)) }),
    settings,
    budget: Object.freeze({ tokens: 9_000 }),
  });
  const kit = agentKit([{ calls: [{ tool: 'gives' }] }, 'Done.'], config);
  expect((await runToRest(kit.bench.engine, kit.graph)).state.outputs).toEqual({ a: 'Done.' });
  expect(settings).toEqual({ temperature: 0, provider: { m: { x: 1 } } });
});

test('what is on record is a copy: a tool that changes its result, or its arguments, later changes nothing of what was told', async () => {
  const page = { text: 'first', lines: [1] };
  const tools = {
    gives: reads(() => page),
    changes: reads((args) => {
      page.text = 'second';
      page.lines.push(2);
      (args as { n: number }).n = 9;
      return 'changed';
    }),
    ask,
  };
  const call = { calls: [{ tool: 'gives' }] };
  const kit = agentKit([call, { calls: [{ tool: 'changes', input: { n: 1 } }] }, asks, 'Done.'], { tools });
  await runToRest(kit.bench.engine, kit.graph, {}, 'r');
  expect((await answered(kit)).status).toBe('completed');
  expect(page.text).toBe('second');
  for (const request of [1, 2, 3]) expect(toldIn(kit, request, 2)).toEqual([{ text: 'first', lines: [1] }]);
  expect(kit.models.requests.at(-1)?.messages[3]?.content).toMatchObject([{ tool: 'changes', input: { n: 1 } }]);
});

test('a result that was cut for the model is no whole one in the cache: an equal call is told the same, with what is left out and where it is', async () => {
  let looks = 0;
  const long = 'x'.repeat(100_000);
  const gives = reads(
    () => {
      looks += 1;
      return long;
    },
    { cacheable: true },
  );
  const call = { calls: [{ tool: 'gives' }] };
  const kit = agentKit([call, asks, call, 'Done.'], { tools: { gives, ask } });
  await runToRest(kit.bench.engine, kit.graph, {}, 'r');
  expect((await answered(kit)).status).toBe('completed');
  const [first] = toldIn(kit, 1, 2);
  expect(first).toMatch(
    /^x{8192}\n\[… 83616 bytes are left out here; the whole is on record as tool gives \S+ …\]\nx{8192}$/u,
  );
  expect([toldIn(kit, 3, 6), looks]).toEqual([[first], 1]);
  const { record } = await kit.bench.engine.history.visit('r', 'a');
  expect(Object.values(record.steps ?? {}).filter(({ output }) => output === long)).toHaveLength(1);
});

test('a re-resume while it is claimed: another process is told who has the agent, and asks and calls nothing', async () => {
  const working = Promise.withResolvers<void>();
  const release = Promise.withResolvers<string>();
  const gives = reads(() => {
    working.resolve();
    return release.promise;
  });
  const kit = agentKit([{ calls: [{ tool: 'gives' }] }, 'Done.'], { tools: { gives } });
  const handle = await kit.bench.engine.start(kit.graph, {}, { runId: 'r' });
  await working.promise;
  const other = createEngine({ ...kit.bench.options, ids: testIds('worker-2') });
  await expect(other.resume('r', { graph: kit.graph })).rejects.toMatchObject({ code: 'CLAIM_TAKEN' });
  expect(kit.models.requests).toHaveLength(1);
  release.resolve('given');
  expect((await handle.result()).state.outputs).toEqual({ a: 'Done.' });
  expect(kit.models.requests).toHaveLength(2);
});

test('time-outs count the clock: what is sent to another wait, or does not fit, does not put a tool’s deadline off', async () => {
  const hour = 3_600_000;
  const late = tool({
    description: 'Asks.',
    input,
    composed: true,
    run: (_, ctx) =>
      ctx.ask({ prompt: '?', choices: ['yes', 'no'], deadlineAt: 1_700_000_000_000 + hour, defaultAnswer: 'no' }),
  });
  const kit = agentKit([{ calls: [{ tool: 'late' }] }, 'Done.'], { tools: { late } }, { bounds: { holdTimersMs: 0 } });
  const paused = await runToRest(kit.bench.engine, kit.graph, {}, 'r');
  const [wait] = paused.waits;
  const engine = elsewhere(kit);
  for (const [name, value, code] of [
    ['w_other', 'yes', 'WAIT_NOT_FOUND'],
    [wait?.waitId ?? '', 'perhaps', 'ANSWER_INVALID'],
  ] as const)
    await expect(engine.answer('r', name, value)).rejects.toMatchObject({ code });
  expect((await engine.inspect('r')).waits).toMatchObject([{ waitId: wait?.waitId, dueAt: wait?.dueAt }]);
  await kit.bench.clock.advance(2 * hour);
  expect((await resumeToRest(engine, 'r', kit.graph)).state.outputs).toEqual({ a: 'Done.' });
  expect(toldIn(kit, 1, 2)).toEqual(['no']);
});
