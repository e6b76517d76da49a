/**
 * Random trees of calls with one act somewhere in them, and every way in which they come to somebody. The oracle is outside: a file that the
 * act writes, and the questions that a person got.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { agent } from '../../src/agents/agent.ts';
import { tool, type FunctionTool, type NodeTool } from '../../src/agents/tools/tool-box.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { strengthOfNode } from '../../src/graph/effect-strength.ts';
import { AgentGraph, END, mapNode, START, subgraphNode } from '../../src/index.ts';
import type { NodeDraft } from '../../src/graph/node-draft.ts';
import { createScriptedModels } from '../../src/models/scripted.ts';
import { createSeededRandom } from '../../src/testing/virtual-clock.ts';
import { createBench, resumeToRest, runToRest } from '../engine-kit.ts';
import { seeds } from '../support/scale.ts';
import { config, goOn, makeFolder, open, send, ways, type Files } from './sent-runs.ts';

vi.setConfig({ testTimeout: 1_800_000 });

// Workflows as texts, in which each calls the next: `sent` calls `w1`, and the last one acts.

const callers = ['Workflow', 'ExecuteWorkflow', 'for_each', 'computed', 'agent'] as const;
const acts = ['command', 'file', 'server', 'pipeline', 'pipeline of a pipeline'] as const;
type Caller = (typeof callers)[number];
type Act = (typeof acts)[number];

const callOf = (caller: Caller, name: string): string => {
  if (caller === 'agent')
    return `type: Agent, inputs: { model: m, prompt: Go., ask_person: false, workflows: [${name}], allow: [${name}] }`;
  if (caller === 'for_each') return `type: Workflow, for_each: [1], inputs: { workflow: ${name} }`;
  if (caller === 'computed') return `type: Workflow, inputs: { workflow: '\${"${name}"}' }`;
  return `type: ${caller}, inputs: { workflow: ${name} }`;
};
const workflow = (name: string, block: string): string =>
  `name: ${name}\nblocks:\n  - { id: ask, type: ConfirmOperation, inputs: { operation: go, message: Go? }, condition: '${name === 'sent'}' }\n` +
  `  - { id: act, depends_on: [{ block: ask, required: false }], ${block} }\n`;
const pipeline = (name: string, stage: string): string =>
  `digraph ${name} {\n start [shape=Mdiamond]\n exit [shape=Msquare]\n act [${stage}]\n start -> act -> exit\n}\n`;

interface Tree {
  readonly calls: readonly Caller[];
  readonly act: Act;
}

/** The files of a tree, by name. */
function filesOf({ calls, act }: Tree, ran: string, cwd: string): Files {
  const last = `w${calls.length}`;
  const command = `shape=parallelogram, tool_command="touch ${ran}"`;
  const acting: Readonly<Record<Act, Files>> = {
    command: { [`${last}.yaml`]: workflow(last, `type: Shell, inputs: { command: "touch ${ran}" }`) },
    file: { [`${last}.yaml`]: workflow(last, `type: CreateFile, inputs: { path: "${ran}", content: x }`) },
    server: {
      [`${last}.yaml`]: workflow(
        last,
        `type: Agent, inputs: { model: m, prompt: Go., servers: [{ server: s, command: touch, args: ["${ran}"] }] }`,
      ),
    },
    pipeline: { [`${last}.dot`]: pipeline(last, command) },
    'pipeline of a pipeline': {
      [`${last}.dot`]: pipeline(last, `shape=house, stack.child_dotfile="${cwd}/child.dot"`),
      'child.dot': pipeline('child', command),
    },
  };
  const calling = calls.map((caller, at) => {
    const name = at === 0 ? 'sent' : `w${at}`;
    return [`${name}.yaml`, workflow(name, callOf(caller, `w${at + 1}`))] as const;
  });
  return { ...Object.fromEntries(calling), ...acting[act] };
}

/** What a tree must be granted, as it is typed. */
function grantsOf({ calls, act }: Tree, ran: string): readonly string[] {
  const own = act === 'file' ? [`fs=${dirname(ran)}`] : act === 'server' ? ['shell', 'model'] : ['shell'];
  return [...new Set([...own, ...(calls.includes('agent') ? ['model'] : [])])];
}

/** How a run ends that may do all of it: the server is no server, which fails its agent. */
const ended = ({ calls, act }: Tree): string => (act === 'server' && !calls.includes('agent') ? 'failed' : 'completed');

function randomTree(random: ReturnType<typeof createSeededRandom>): Tree {
  const calls = Array.from({ length: 1 + random.integer(3) }, () => random.pick(callers));
  return { calls, act: random.pick(acts) };
}

test.each(seeds(3, 200))(
  'Y6 N8.1 what is forbidden to a tree of calls is listed, and not done: seed %i',
  async (seed) => {
    const random = createSeededRandom(seed);
    const tree = randomTree(random);
    const way = random.pick(Object.keys(ways));
    const ran = join(makeFolder(), 'ran');
    const needed = grantsOf(tree, ran);
    const missing = random.pick(needed);
    const others = ['net', 'sqlite', 'env', 'workflow', 'module'].filter(() => random.chance(0.5));
    const allow = [...needed.filter((grant) => grant !== missing), ...others];
    const what = { tree, way, allow };
    const sent = await send((cwd) => filesOf(tree, ran, cwd));
    const held = await ways[way]!(sent, allow);
    await goOn(held);
    expect([what, existsSync(ran)]).toEqual([what, false]);
    // An import lists all of it, whatever was granted.
    for (const grant of held.needs === undefined ? [] : needed)
      expect([what, held.needs]).toEqual([
        what,
        expect.arrayContaining([expect.stringContaining(`--allow ${grant.replace(/=.*/, '')}`)]),
      ]);
    const granted = await ways[way]!(sent, needed);
    const status = await goOn(granted);
    expect([what, status, existsSync(ran)]).toEqual([what, ended(tree), true]);
  },
);

test.each(seeds(2, 60))(
  'Y6 a text of a client starts none of the workflows here but by a grant of the name: seed %i',
  async (seed) => {
    const random = createSeededRandom(seed);
    const tree = randomTree(random);
    const [ran, cwd] = [join(makeFolder(), 'ran'), makeFolder()];
    const files = filesOf(tree, ran, cwd);
    mkdirSync(join(cwd, 'workflows'));
    writeFileSync(join(cwd, 'cairn.config.ts'), config);
    for (const [name, text] of Object.entries(files))
      if (name !== 'sent.yaml') writeFileSync(join(cwd, name === 'child.dot' ? name : `workflows/${name}`), text);
    const run = async (...allow: readonly string[]): Promise<unknown> => {
      const app = await open({ cwd, allow: ['inline', ...allow], storeUrl: 'memory:' });
      try {
        const { graph } = await (await app.openWorkflows()).readInline(files['sent.yaml'] ?? '');
        const { runId } = await app.engine.start(graph, {}, { detach: true });
        return await goOn({ app, run: runId });
      } catch (error) {
        return (error as { readonly code?: string }).code;
      }
    };
    await run('shell', 'fs', 'net', 'env', 'model', 'sqlite', 'module', 'workflow=other');
    expect([tree, existsSync(ran)]).toEqual([tree, false]);
    const status = await run('model', 'workflow=w1');
    expect([tree, status, existsSync(ran)]).toEqual([tree, ended(tree), true]);
    rmSync(ran);
  },
);

// Agents as tools of agents, in nodes and graphs, in TypeScript: what is asked, and what is said of it before.

const wraps = ['none', 'graph', 'subgraph', 'map'] as const;
const parts = { description: 'Does.', input: { type: 'object' } };

const graphWith = (node: NodeDraft): Graph =>
  new AgentGraph({}, { id: 'inner' }).addNode('n', node).addEdge(START, 'n').addEdge('n', END).toGraph();

function wrap(kind: (typeof wraps)[number], node: NodeDraft): NodeDraft | Graph {
  if (kind === 'graph') return graphWith(node);
  if (kind === 'subgraph') return subgraphNode(graphWith(node));
  if (kind === 'map') return mapNode({ over: () => [1], each: graphWith(node) });
  return node;
}

test('A6 each act in a tree of agents is asked about once, unless all on its way allow it; and that is known before', async () => {
  for (const seed of seeds(25, 1_000)) {
    const random = createSeededRandom(seed);
    let done = 0;
    let inner: FunctionTool | NodeTool = tool({ ...parts, run: () => (done += 1) });
    const levels = Array.from({ length: 1 + random.integer(4) }, () => ({
      isAllowed: random.chance(0.6),
      kind: random.pick(wraps),
    }));
    let node: NodeDraft | undefined;
    for (const { isAllowed, kind } of levels) {
      node = agent({ model: 'm', prompt: 'Go.', tools: { t: inner }, ...(isAllowed && { allow: ['t'] }) });
      inner = tool({ ...parts, node: wrap(kind, node) });
    }
    const isAsked = levels.some(({ isAllowed }) => !isAllowed);
    const models = createScriptedModels(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 't', input: {} }] },
    );
    const { engine } = createBench({ models });
    const graph = graphWith(node as NodeDraft);
    let result = await runToRest(engine, graph, {}, 'r');
    let questions = 0;
    while (result.status === 'paused') {
      expect([seed, done]).toEqual([seed, 0]);
      questions += result.waits.length;
      for (const { waitId } of result.waits) await engine.answer('r', waitId, 'approve');
      result = await resumeToRest(engine, 'r', graph);
    }
    const { effect, unasked } = strengthOfNode(node as NodeDraft);
    expect([seed, result.status, done, questions, effect, unasked]).toEqual([
      seed,
      'completed',
      1,
      isAsked ? 1 : 0,
      'external',
      isAsked ? 'pure' : 'external',
    ]);
  }
});
