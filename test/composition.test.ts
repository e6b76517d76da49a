/**
 * Workflows of every dialect in those of every other: what a called one gives is the same in all of them, and what it gives when it is run
 * alone (G16). The matrix is that of docs/guide/dialects.md.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agent } from '../src/agents/agent.ts';
import { askPerson } from '../src/agents/people/ask-person.ts';
import { readAgentState, type AgentState } from '../src/agents/view/agent-state.ts';
import { tool } from '../src/agents/tools/tool-box.ts';
import { builtInBlocks } from '../src/app/workflows/built-in-blocks.ts';
import type { Graph } from '../src/graph/graph.ts';
import type { GraphOrRunnable } from '../src/graph/runnable-graph.ts';
import { AgentGraph, END, flow, functionNode, mapNode, outcome, START, subgraphNode, workflow } from '../src/index.ts';
import { createScriptedModels } from '../src/models/scripted.ts';
import { mission } from '../src/plans/index.ts';
import { afterCrash, createBench, resumeToRest, runToRest } from './engine-kit.ts';
import { faultsOf, read, textsOf, type More } from './yaml-kit.ts';
import { checkDot, readDot } from '../src/dialects/dot/index.ts';
import { checkCalledDot } from '../src/dialects/dot/read-dot.ts';
import { digraph, dotOptions } from './dot-kit.ts';

const input = z.object({ goal: z.string() });
const said = ({ goal }: { readonly goal: string }): string => `did ${goal}`;

const yaml =
  'name: called\ninputs: { goal: { type: str } }\nblocks: [{ id: a, type: EchoBlock, inputs: { message: x } }]\noutputs: { said: "did ${goal}" }\n';
const dot = digraph('start -> exit').replace('digraph p', 'digraph called');
const nodeTypes = builtInBlocks();

/** What is called, by its dialect: each takes `{ goal }`. */
const called: Readonly<Record<string, () => GraphOrRunnable<never, unknown>>> = {
  AgentGraph: () =>
    new AgentGraph({ input }, { id: 'called' })
      .addNode('a', ({ input: { goal } }) => outcome({ artifacts: { said: said({ goal }) } }))
      .addEdge(START, 'a')
      .addEdge('a', END),
  'workflow()': () =>
    workflow('called')
      .input(input)
      .step('a', () => 1)
      .returns(({ state }) => ({ said: said(state.input) })),
  'flow()': () => flow('called', { said: { run: (ctx) => said(ctx.input as { goal: string }) } }, { input }),
  YAML: () => read(yaml, { nodeTypes }).graph,
  DOT: () => readDot(dot, dotOptions()).graph,
};

type Caller = (child: GraphOrRunnable<never, unknown>, name: string) => Promise<unknown>;

async function outputOf(graph: GraphOrRunnable<never, unknown>, node: string): Promise<unknown> {
  const models = createScriptedModels(({ messages }) => {
    const last = messages.at(-1);
    const [result] = last?.role === 'tool' ? (last.content as readonly { readonly output?: unknown }[]) : [];
    return result === undefined ? { calls: [{ tool: 't', input: { goal: 'it' } }] } : JSON.stringify(result.output);
  });
  const { engine } = createBench({ models });
  const built = 'toGraph' in graph ? graph.toGraph() : graph;
  const { status, state, error } = await runToRest(engine, built as Graph, { goal: 'it' });
  expect([status, error]).toEqual(['completed', undefined]);
  return state.outputs[node];
}

const ran = async (child: GraphOrRunnable<never, unknown>): Promise<unknown> =>
  outputOf(
    new AgentGraph({}, { id: 'c' }).addNode('n', subgraphNode(child)).addEdge(START, 'n').addEdge('n', END),
    'n',
  );

/** Ways in which one runs another. */
const callers: Readonly<Record<string, Caller>> = {
  AgentGraph: ran,
  'workflow()': (child) =>
    outputOf(
      workflow('c')
        .input(input)
        .step('n', subgraphNode(child))
        .returns(({ state }) => state.outputs['n']),
      'returns',
    ),
  'flow()': (child) => outputOf(flow('c', { n: { run: subgraphNode(child) } }), 'n'),
  'a map': async (child) => {
    const all = await outputOf(
      flow('c', { n: { run: mapNode({ over: ({ input: one }) => [one], each: child as never }) } }),
      'n',
    );
    return (all as readonly unknown[])[0];
  },
  'a tool of an agent': async (child) => {
    const given = await outputOf(
      flow('c', {
        n: {
          run: agent({
            model: 'm',
            prompt: 'Go.',
            tools: { t: tool({ description: 'Does.', input: { type: 'object' }, node: child }) },
            allow: ['t'],
          }),
        },
      }),
      'n',
    );
    return JSON.parse(String(given)) as unknown;
  },
  'a plan': async (child) => {
    const whole = mission('m')
      .goal('Go.')
      .autonomy('full')
      .agents({ a: subgraphNode(child, { input: () => ({ goal: 'it' }) as never }) })
      .plan({ tasks: [{ id: 't', agent: 'a', task: 'Go.', needs: [] }] });
    return ((await outputOf(whole.toGraph(), 'work')) as Readonly<Record<string, unknown>>)['t'];
  },
};

/** Texts by the names of their files. */
const files: Readonly<Record<string, string>> = { YAML: yaml, DOT: dot };

/** A file names what it runs: another file. */
function fromYaml(dialect: string): () => Promise<unknown> {
  const more: More = {
    nodeTypes,
    ...(files[dialect] !== undefined && {
      workflows: {
        ...textsOf({}),
        get: () => ({ text: files[dialect] as string, source: `called.${dialect.toLowerCase()}` }),
      },
    }),
    readOther: ({ text, source }, origin) =>
      source.endsWith('.dot') ? checkCalledDot(text, { ...dotOptions(), source, origin }) : undefined,
  };
  const text =
    'name: c\ninputs: { goal: { type: str } }\nblocks: [{ id: n, type: Workflow, inputs: { workflow: called, inputs: { goal: "${goal}" } } }]\noutputs: { given: "${n.outputs}" }\n';
  return async () => {
    const [fault] = faultsOf(text, more);
    if (fault !== undefined) throw new Error(fault);
    return ((await outputOf(read(text, more).graph, 'outputs')) as { readonly given: unknown }).given;
  };
}

/** A stage is its pipeline's status: the rest of what that gives is in the context. */
function fromDot(dialect: string): () => Promise<unknown> {
  const text = digraph('start -> n -> exit\nn [shape=house, stack.child_dotfile="called"]');
  const options = dotOptions({ readFile: () => files[dialect] });
  return async () => {
    const fault = checkDot(text, options).violations.find(({ severity }) => severity === 'error');
    if (fault !== undefined) throw new Error(fault.message);
    return outputOf(readDot(text, options).graph, 'n');
  };
}

/** What one gives in another: `the same`, a part of it, or that it is refused. */
async function cellOf(caller: string, dialect: string): Promise<string> {
  const child = (called[dialect] as () => GraphOrRunnable<never, unknown>)();
  const alone = await ran(child);
  const call =
    { YAML: fromYaml(dialect), DOT: fromDot(dialect) }[caller] ?? (() => (callers[caller] as Caller)(child, dialect));
  let given: unknown;
  try {
    given = await call();
  } catch (error) {
    if (caller !== 'YAML' && caller !== 'DOT') throw error;
    return 'no: a file runs files';
  }
  if (isDeepStrictEqual(given, alone)) return 'the same';
  const { outcome } = given as { readonly outcome?: unknown };
  return outcome === (alone as { readonly status?: unknown }).status ? 'its status' : JSON.stringify(given);
}

describe('G16 what is called gives the same in every dialect', () => {
  const dialects = Object.keys(called);
  const page = readFileSync(join(import.meta.dirname, '../docs/guide/dialects.md'), 'utf8');
  const rows = (page.split('## One in another')[1] ?? '')
    .split('\n')
    .filter((line) => /^\| (?!in |---)/u.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

  test('each has its own form of result', async () => {
    const results = await Promise.all(
      dialects.map(async (dialect) => ran((called[dialect] as () => GraphOrRunnable<never, unknown>)())),
    );
    expect(results).toEqual([
      { said: 'did it' },
      { said: 'did it' },
      { said: 'did it' },
      { said: 'did it' },
      { status: 'success', gates: {}, failures: [] },
    ]);
  });

  test.each([...Object.keys(callers), 'YAML', 'DOT'])('in %s', async (caller) => {
    const cells = await Promise.all(dialects.map((dialect) => cellOf(caller, dialect)));
    expect(rows.find(([name]) => name?.replaceAll('`', '') === caller)).toEqual([expect.anything(), ...cells]);
  });
});

test('G16 types of outputs go along', () => {
  const one = flow('one', { said: { run: () => 'x' }, size: { run: () => 1 } }).compile();
  const two = workflow('two')
    .input(input)
    .step('a', () => 1)
    .returns(() => ({ done: true }))
    .compile();
  const whole = flow('whole', {
    a: { run: subgraphNode(one) },
    b: { run: subgraphNode(two) },
    c: { run: functionNode(() => 'z') },
  }).compile();
  type Nodes = Awaited<ReturnType<typeof whole.invoke>>['nodes'];
  const outputs: readonly [
    { readonly said?: string | undefined; readonly size?: number | undefined }?,
    { done: boolean }?,
  ] = [] as unknown as readonly [NonNullable<Nodes['a']['output']>, NonNullable<Nodes['b']['output']>];
  expect(outputs).toEqual([]);
});

test('G16 A4 what a flow gave as a tool is what the model is told again, in another process, and in the view of the agent', async () => {
  const child = flow('child', { one: { run: () => 1 }, two: { run: () => 2 } });
  const told: unknown[] = [];
  const models = createScriptedModels(({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool');
    told.push(results.map(({ content }) => (content as readonly { readonly output?: unknown }[])[0]?.output));
    if (results.length === 0) return { calls: [{ tool: 'child', input: {} }] };
    return results.length === 1 ? { calls: [{ tool: 'ask', input: { message: 'Go on?' } }] } : 'Done.';
  });
  const tools = { child: tool({ description: 'Does.', input: { type: 'object' }, node: child }), ask: askPerson() };
  const graph = flow('c', { n: { run: agent({ model: 'm', prompt: 'Go.', tools }) } }).toGraph();
  const bench = createBench({ models });
  const { waits } = await runToRest(bench.engine, graph, {}, 'r');
  await bench.engine.answer('r', waits[0]?.waitId ?? '', 'yes');
  const done = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([done.status, (told.at(-1) as readonly unknown[])[0]]).toEqual(['completed', { one: 1, two: 2 }]);
  const { intermediateSteps } = (await readAgentState(bench.engine.history, 'r', 'n')) as AgentState;
  expect(JSON.stringify(intermediateSteps)).toContain('two');
});
