/** What bad input an agent gets from its model and its tools: nothing is lost, the reason is named, the run can go on. */
import { describe, expect, test } from 'vitest';
import { agent, type AgentConfig } from '../../src/agents/agent.ts';
import { tool, type FunctionTool } from '../../src/agents/tools/agent-tool.ts';
import { modeNames } from '../../src/agents/modes/create-mode.ts';
import type { ModeName } from '../../src/agents/modes/mode.ts';
import { createScriptedModels, type Script, type ScriptedModels } from '../../src/models/scripted.ts';
import { sayAnswer, sayCalls } from '../agents/say.ts';
import { afterCrash, createBench, edges, graphOf, resumeToRest, runToRest, type Bench } from '../engine-kit.ts';

interface Kit {
  readonly bench: Bench;
  readonly models: ScriptedModels;
  readonly graph: ReturnType<typeof graphOf>;
}

function kit(script: Script, config: Partial<AgentConfig> = {}): Kit {
  const models = createScriptedModels(script);
  const node = agent({ model: 'm', prompt: 'Go.', maxLoops: 20, ...config });
  return { bench: createBench({ models }), models, graph: graphOf('g', [{ id: 'a', ...node }], edges('> a', 'a >')) };
}

const input = { type: 'object' };
const fine = tool({ description: 'Works.', input, effect: 'read', run: () => 'fine' });
/** In each mode, what is begun in its form and is nothing. */
const garbage: Readonly<Record<ModeName, string>> = {
  native: ' ',
  json: '{"calls": [{"tool": ',
  xml: '<thought>I do not know</thought>',
  react: 'Thought: I do not know',
};

describe.each(modeNames)('A5 A10 in mode %s', (mode) => {
  test('a model that answers garbage is told so, and is lost when it goes on; a fork with another prompt goes on', async () => {
    const script: Script = (_, index) => (index < 9 ? garbage[mode] : sayAnswer(mode, 'Done.'));
    const { bench, models, graph } = kit(script, { mode, tools: { fine } });
    const failed = await runToRest(bench.engine, graph, {}, 'r');
    expect([failed.status, models.requests.length]).toEqual(['failed', 9]);
    expect(failed.error?.cause).toMatchObject({ code: 'AGENT_LOST' });
    expect(models.requests[1]?.messages.at(-1)?.content).toMatch(/^Your answer cannot be used: /u);
    // Those answers were bought, and stay: what asks for others is another prompt.
    const other = kit(script, { mode, tools: { fine }, prompt: 'Go, in the form asked for.' }).graph;
    const engine = afterCrash(bench);
    const { runId } = await engine.fork({ runId: 'r', seq: 0 });
    expect((await resumeToRest(engine, runId, other)).state.outputs).toEqual({ a: 'Done.' });
  });

  test('a model that calls an unknown tool hears which there are, and is lost when it goes on', async () => {
    const script: Script = (_, index) => sayCalls(mode, `turn ${index}`, [{ tool: 'nothing', input: { index } }]);
    const { bench, models, graph } = kit(script, { mode, tools: { fine } });
    const failed = await runToRest(bench.engine, graph);
    expect([failed.error?.cause, models.requests.length]).toMatchObject([{ code: 'AGENT_LOST' }, 9]);
    expect(JSON.stringify(models.requests[1]?.messages.at(-1))).toContain('there are: fine');
  });

  test('a model that never ends is ended after as many loops as it has', async () => {
    const script: Script = (_, index) => sayCalls(mode, `turn ${index}`, [{ tool: 'fine', input: { index } }]);
    const { bench, models, graph } = kit(script, { mode, tools: { fine }, maxLoops: 12 });
    const failed = await runToRest(bench.engine, graph);
    expect([failed.error?.cause, models.requests.length]).toMatchObject([
      { code: 'AGENT_LOOPS_EXCEEDED', data: { loops: 12 } },
      12,
    ]);
  });
});

const size = 50 * 1024 * 1024;
const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

test.each<[string, FunctionTool['run'], RegExp]>([
  ['50 MB of text', () => 'x'.repeat(size), /^x{8192}\n\[… 52412416 characters are left out here …\]\nx{8192}$/u],
  [
    '50 MB of bytes',
    () => new Uint8Array(size),
    /^\[file gives\.bin, application\/octet-stream, 52428800 bytes, \w+\]$/u,
  ],
  [
    'bytes that are no text',
    () => new Uint8Array([0, 255, 254]),
    /^\[file gives\.bin, application\/octet-stream, 3 bytes, \w+\]$/u,
  ],
  ['a function', () => () => 1, /^gives failed: a value cannot be stored at .*: .*function/u],
  ['a cycle', () => cycle, /^gives failed: a value cannot be stored at .*/u],
  ['nothing', () => undefined, /^null$/u],
])('A8 a tool that returns %s', async (_, run, expected) => {
  const gives = tool({ description: 'Gives.', input, effect: 'read', run });
  const { bench, models, graph } = kit([{ calls: [{ tool: 'gives' }] }, 'Done.'], { tools: { gives } });
  const done = await runToRest(bench.engine, graph);
  expect([done.status, done.state.outputs]).toEqual(['completed', { a: 'Done.' }]);
  const results = models.requests[1]?.messages.at(-1)?.content as readonly { readonly output: unknown }[];
  const output = results[0]?.output;
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  expect(text).toMatch(expected);
  expect(text.length).toBeLessThan(20_000);
});
