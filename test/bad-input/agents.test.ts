/** What bad input an agent gets from its model and its tools: nothing is lost, the reason is named, the run can go on. */
import { describe, expect, test } from 'vitest';
import { agent } from '../../src/agents/agent.ts';
import { tool, type FunctionTool } from '../../src/agents/tools/tool-box.ts';
import { modeNames } from '../../src/agents/modes/modes.ts';
import type { ModeName } from '../../src/agents/modes/text-modes.ts';
import { readAgentState } from '../../src/agents/view/agent-state.ts';
import type { ModelResponse } from '../../src/graph/contracts/model-messages.ts';
import { createScriptedModels, type Script } from '../../src/models/scripted.ts';
import type { Models } from '../../src/ports/model.ts';
import { filesIn } from '../../src/state/values/file-references.ts';
import { agentKit } from '../agents/agent-kit.ts';
import { sayAnswer, sayCalls } from '../agents/say.ts';
import { afterCrash, createBench, edges, graphOf, resumeToRest, runToRest } from '../engine-kit.ts';

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
    const { bench, models, graph } = agentKit(script, { mode, tools: { fine } });
    const failed = await runToRest(bench.engine, graph, {}, 'r');
    expect([failed.status, models.requests.length]).toEqual(['failed', 9]);
    expect(failed.error?.cause).toMatchObject({ code: 'AGENT_LOST' });
    expect(models.requests[1]?.messages.at(-1)?.content).toMatch(/^Your answer cannot be used: /u);
    // Those answers were bought, and stay: what asks for others is another prompt.
    const other = agentKit(script, { mode, tools: { fine }, prompt: 'Go, in the form asked for.' }).graph;
    const engine = afterCrash(bench);
    const { runId } = await engine.fork({ runId: 'r', seq: 0 });
    expect((await resumeToRest(engine, runId, other)).state.outputs).toEqual({ a: 'Done.' });
  });

  test('a model that calls an unknown tool hears which there are, and is lost when it goes on', async () => {
    const script: Script = (_, index) => sayCalls(mode, `turn ${index}`, [{ tool: 'nothing', input: { index } }]);
    const { bench, models, graph } = agentKit(script, { mode, tools: { fine } });
    const failed = await runToRest(bench.engine, graph);
    expect([failed.error?.cause, models.requests.length]).toMatchObject([{ code: 'AGENT_LOST' }, 9]);
    expect(JSON.stringify(models.requests[1]?.messages.at(-1))).toContain('there are: fine');
  });

  test('a model that never ends is ended after as many loops as it has', async () => {
    const script: Script = (_, index) => sayCalls(mode, `turn ${index}`, [{ tool: 'fine', input: { index } }]);
    const { bench, models, graph } = agentKit(script, { mode, tools: { fine }, maxLoops: 12 });
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
const fails = (error: unknown) => (): never => {
  throw error;
};
const unstorable = /^gives failed: a value cannot be stored at .*/u;

/** What a tool returns or throws, and what the model is told of it. */
const given: readonly (readonly [string, FunctionTool['run'], RegExp])[] = [
  [
    '50 MB of text',
    () => 'x'.repeat(size),
    /^x{8192}\n\[… 52412416 bytes are left out here; the whole is .* …\]\nx{8192}$/u,
  ],
  [
    'characters of several bytes, 80 kB of them',
    () => `x${'😀'.repeat(20_000)}y`,
    /^x😀{2047}\n\[… 63624 bytes are left out here; .* …\]\n😀{2047}y$/u,
  ],
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
  ['bytes within', () => ({ page: new Uint8Array(3) }), /^\{"page":"\[3 bytes\]"\}$/u],
  [
    'what JSON has no word for',
    () => [10n, Number.NaN, new Map([['a', new Set([1])]]), new TypeError('no')],
    /^\["10","NaN",\[\["a",\[1\]\]\],\{"name":"TypeError","message":"no"\}\]$/u,
  ],
  ['half a character', () => 'a\ud83d', /^a\ufffd$/u],
  ['a function', () => () => 1, /^gives failed: a value cannot be stored at .*: .*function/u],
  ['a cycle', () => cycle, unstorable],
  ['a list with a hole', () => Array<number>(1), unstorable],
  ['nothing', () => undefined, /^null$/u],
  [
    'several values, one after the other',
    function* () {
      yield 1;
    },
    unstorable,
  ],
  ['no values, in its own time', async function* () {}, /^null$/u],
  ['a text, as an error', fails('no room'), /^gives failed: no room$/u],
  ['nothing, as an error', fails(undefined), /^gives failed: .*undefined$/u],
  [
    'an error of 5 MB',
    fails(new Error('x'.repeat(5_000_000))),
    /^gives failed: x{8178}\n\[… 4983630 bytes are left out here; the whole is .* …\]\nx{8192}$/u,
  ],
];

const kinds = [
  { kind: 'that is one step', more: { effect: 'read' } },
  { kind: 'that is composed', more: { composed: true } },
] as const;

describe.each(kinds)('A8 a tool $kind', ({ more }) => {
  test.each(given)('A8 that returns or throws %s', async (_, run, expected) => {
    const gives = tool({ description: 'Gives.', input, run, ...more } as FunctionTool);
    const { bench, models, graph } = agentKit([{ calls: [{ tool: 'gives' }] }, 'Done.'], { tools: { gives } });
    const done = await runToRest(bench.engine, graph, {}, 'r');
    expect([done.status, done.state.outputs]).toEqual(['completed', { a: 'Done.' }]);
    const told = models.requests[1]?.messages.at(-1);
    const results = told?.content as readonly { readonly output: unknown }[];
    const output = results[0]?.output;
    const text = typeof output === 'string' ? output : JSON.stringify(output);
    expect(text.length).toBeLessThan(20_000);
    expect(text).toMatch(expected);
    // What is on record tells the same.
    expect((await readAgentState(bench.engine.history, 'r', 'a'))?.messages.at(-2)).toEqual(told);
  });
});

test('A8 a result that is too long to show is kept whole, also where no step holds it', async () => {
  const long = 'x'.repeat(100_000);
  const own = tool({ description: 'Gives.', input, effect: 'read', run: () => long });
  const composed = tool({ description: 'Gives.', input, composed: true, run: () => ({ long }) });
  const { bench, models, graph } = agentKit([{ calls: [{ tool: 'own' }, { tool: 'composed' }] }, 'Done.'], {
    tools: { own, composed },
  });
  await runToRest(bench.engine, graph, {}, 'r');
  const told = JSON.stringify(models.requests[1]?.messages.at(-1));
  const step = /the whole is on record as (tool own \S+)/u.exec(told)?.[1] ?? '';
  const visit = await bench.engine.history.visit('r', ['a']);
  expect(visit?.record.steps?.[step]?.output).toBe(long);
  const hash = /the whole is \[file composed\.txt, text\/plain, 100011 bytes, (\w+)\]/u.exec(told)?.[1] ?? 'none';
  const [kept] = filesIn(visit?.record);
  expect(kept?.hash).toMatch(new RegExp(`^${hash}`, 'u'));
});

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['a list of no parts', { content: [null], finishReason: 'stop', model: 'm', usage: {} }],
  ['a text where parts belong', { content: 'Hello.', finishReason: 'stop', model: 'm', usage: {} }],
])('A5 an adapter that answers %s is told so, and its answer is not put on record', async (_, answer) => {
  const answers = [answer, answer, answer, 'sound'];
  const models = createScriptedModels(['Done.']);
  const faulty: Models = {
    generate: (request) => {
      const next = answers.shift();
      return next === 'sound' ? models.generate(request) : Promise.resolve(next as ModelResponse);
    },
  };
  const bench = createBench({ models: faulty });
  const graph = graphOf('g', [{ id: 'a', ...agent({ model: 'm', prompt: 'Go.' }) }], edges('> a', 'a >'));
  const failed = await runToRest(bench.engine, graph, {}, 'r');
  expect(failed.error?.cause).toMatchObject({
    code: 'MODEL_UNAVAILABLE',
    message: 'the adapter of m gave no answer: its content must be a list of parts',
  });
  expect((await resumeToRest(afterCrash(bench), 'r', graph)).state.outputs).toEqual({ a: 'Done.' });
});

test('A13 an answer whose tokens are not counted is bought once, and spends nothing', async () => {
  const uncounted = { inputTokens: Number.NaN } as ModelResponse['usage'];
  const { bench, models, graph } = agentKit([{ calls: [{ tool: 'fine' }], usage: uncounted }, 'Done.'], {
    tools: { fine },
    budget: { tokens: 1_000 },
  });
  expect((await runToRest(bench.engine, graph)).state.outputs).toEqual({ a: 'Done.' });
  expect(models.requests).toHaveLength(2);
});
