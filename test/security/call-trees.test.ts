/**
 * Random trees of calls with one act somewhere in them, and every way in which they come to somebody. The oracle is outside: a file that the
 * act writes, and the questions that a person got.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { agent } from '../../src/agents/agent.ts';
import { tool, type AgentTool } from '../../src/agents/tools/tool-box.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { strengthOfNode } from '../../src/graph/effect-strength.ts';
import { AgentGraph, END, functionNode, mapNode, START, subgraphNode } from '../../src/index.ts';
import type { NodeDraft } from '../../src/graph/node-draft.ts';
import { createScriptedModels } from '../../src/models/scripted.ts';
import { mission } from '../../src/plans/index.ts';
import type { Sandbox, SandboxEnd } from '../../src/ports/sandboxes.ts';
import { sandboxNode, sandboxTools, type SandboxOptions } from '../../src/sandboxes/index.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { createBench, resumeToRest, runToRest } from '../engine-kit.ts';
import { seeds } from '../support/scale.ts';
import { argsOf, logOf } from '../support/tool-server.ts';
import { config, goOn, makeFolder, open, send, wayNames, ways, workOnSchedule, type Files } from './sent-runs.ts';

vi.setConfig({ testTimeout: 1_800_000 });

// Workflows as texts, in which each calls the next: `sent` calls `w1`, and the last one acts.

const callers = ['Workflow', 'ExecuteWorkflow', 'for_each', 'computed', 'agent'] as const;
const acts = [
  'command', 'file', 'server', 'tool of a server', 'pipeline', 'pipeline of a pipeline',
  'vectors', 'passages', 'image', 'speech', 'sandbox', 'mission', 'command of a mission',
] as const; // prettier-ignore
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

/** A mission of one agent. */
const missionOf = (task: string, agent: string): string =>
  `type: Mission, inputs: { goal: Go., autonomy: full, agents: { a: { model: m, ${agent} } }, plan: { tasks: [{ id: t, agent: a, task: "${task}", needs: [] }] } }`;

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
    'tool of a server': {
      [`${last}.yaml`]: workflow(
        last,
        `type: Agent, inputs: { model: m, prompt: Go., ask_person: false, servers: [{ server: s, command: sh, args: ["-c", "touch ${ran} && exec ${[process.execPath, ...argsOf(`${ran}.tools`)].join(' ')}"], allow: true }] }`,
      ),
    },
    vectors: { [`${last}.yaml`]: workflow(last, `type: Embed, inputs: { model: m, texts: "${ran}" }`) },
    passages: {
      [`${last}.yaml`]: workflow(
        last,
        `type: Retrieve, inputs: { model: m, query: "${ran}", passages: [{ text: x, vector: [1] }] }`,
      ),
    },
    image: { [`${last}.yaml`]: workflow(last, `type: ImageGen, inputs: { model: m, prompt: "${ran}" }`) },
    // What was heard, or printed, is what the image shows.
    speech: {
      [`${last}.yaml`]: `${workflow(last, `type: Transcribe, inputs: { model: m, file: "${dirname(ran)}/speech" }`)}  - { id: then, type: ImageGen, depends_on: [act], inputs: { model: m, prompt: "\${act.text}" } }\n`,
    },
    sandbox: {
      [`${last}.yaml`]: `${workflow(last, `type: Sandbox, inputs: { commands: [[echo, "${ran}"]] }`)}  - { id: then, type: ImageGen, depends_on: [act], inputs: { model: m, prompt: "\${act.stdout}" } }\n`,
    },
    mission: { [`${last}.yaml`]: workflow(last, missionOf(ran, 'ask_person: false')) },
    'command of a mission': {
      [`${last}.yaml`]: workflow(last, missionOf('Go.', `ask_person: false, workflows: [act], allow: [act]`)),
      'act.yaml': workflow('act', `type: Shell, inputs: { command: "touch ${ran}" }`),
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
  const ofAct: Partial<Record<Act, readonly string[]>> = {
    file: [`fs=${dirname(ran)}`],
    server: ['shell', 'model'],
    'tool of a server': ['shell', 'model'],
    vectors: ['model'],
    passages: ['model'],
    image: ['model'],
    speech: ['model', `fs=${dirname(ran)}`],
    sandbox: ['sandbox', 'model'],
    mission: ['model'],
    'command of a mission': ['shell', 'model'],
  };
  const own = ofAct[act] ?? ['shell'];
  return [...new Set([...own, ...(calls.includes('agent') ? ['model'] : [])])];
}

/** How a run ends that may do all of it: the server is no server, which fails its agent. */
const ended = ({ calls, act }: Tree): string => (act === 'server' && !calls.includes('agent') ? 'failed' : 'completed');

/** What the server of a tree offers; its log has each call. */
const offer = (ran: string): void => {
  writeFileSync(join(dirname(ran), 'speech'), ran);
  writeFileSync(`${ran}.tools`, JSON.stringify([{ name: 'act', description: 'Acts.' }]));
};
const called = (ran: string): boolean => existsSync(logOf(`${ran}.tools`));

function randomTree(random: ReturnType<typeof createSeededRandom>): Tree {
  const calls = Array.from({ length: 1 + random.integer(3) }, () => random.pick(callers));
  return { calls, act: random.pick(acts) };
}

test.each(seeds(3, 200))(
  'Y6 N8.1 what is forbidden to a tree of calls is listed, and not done: seed %i',
  async (seed) => {
    const random = createSeededRandom(seed);
    const tree = randomTree(random);
    const way = random.pick(wayNames);
    const ran = join(makeFolder(), 'ran');
    offer(ran);
    const needed = grantsOf(tree, ran);
    const missing = random.pick(needed);
    const others = ['net', 'sqlite', 'env', 'workflow', 'module'].filter(() => random.chance(0.5));
    const allow = [...needed.filter((grant) => grant !== missing), ...others];
    const what = { tree, way, allow };
    const sent = await send((cwd) => filesOf(tree, ran, cwd));
    const held = await ways[way](sent, allow);
    await goOn(held);
    expect([what, existsSync(ran)]).toEqual([what, false]);
    // An import lists all of it, whatever was granted.
    for (const grant of held.needs === undefined ? [] : needed)
      expect([what, held.needs]).toEqual([
        what,
        expect.arrayContaining([expect.stringContaining(`--allow ${grant.replace(/=.*/, '')}`)]),
      ]);
    const granted = await ways[way](sent, needed);
    const status = await goOn(granted);
    expect([what, status, existsSync(ran)]).toEqual([what, ended(tree), true]);
    expect([what, called(ran)]).toEqual([what, tree.act === 'tool of a server']);
  },
);

test.each(seeds(2, 60))(
  'Y6 a text of a client starts none of the workflows here but by a grant of the name: seed %i',
  async (seed) => {
    const random = createSeededRandom(seed);
    const tree = randomTree(random);
    const [ran, cwd] = [join(makeFolder(), 'ran'), makeFolder()];
    const files = filesOf(tree, ran, cwd);
    offer(ran);
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

test.each(seeds(1, 40))(
  'N8.2 a schedule in a store that somebody sent starts no tree of calls, whatever is granted: seed %i',
  async (seed) => {
    const tree = randomTree(createSeededRandom(seed));
    const ran = join(makeFolder(), 'ran');
    offer(ran);
    const sent = await send((cwd) => filesOf(tree, ran, cwd));
    const allow = [...grantsOf(tree, ran), 'inline', 'module', 'workflow', 'net', 'env', 'sqlite', 'fs'];
    const { stoppedBy, started } = await workOnSchedule(sent, 'sent.yaml', { allow, trustsStore: false });
    expect([tree, stoppedBy, started, existsSync(ran)]).toEqual([tree, 'PERMISSION_DENIED', [], false]);
  },
);

// Modules, whose graphs are trees of nodes in TypeScript. To start one is to run code of the operator.

const places = ['subgraph', 'map', 'plan', 'agent'] as const;
const codeActs = ['node', 'step', 'sandbox', 'tool'] as const;

interface CodeTree {
  readonly places: readonly (typeof places)[number][];
  readonly act: (typeof codeActs)[number];
}

const urlOf = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

const signsIn = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');

/** A module whose graph acts somewhere below its node `act`, once: it adds a sign to the file `ran`. */
const moduleOf = ({ places: outer, act }: CodeTree, ran: string): string => `
import { appendFileSync } from 'node:fs';
import { AgentGraph, END, functionNode, mapNode, START, subgraphNode } from ${urlOf('index.ts')};
import { agent, mission, tool } from ${urlOf('plans/index.ts')};
import { sandboxNode } from ${urlOf('sandboxes/index.ts')};
const run = () => void appendFileSync(${JSON.stringify(ran)}, 'x');
const done = async () => {};
const exec = async () => (run(), { exitCode: 0, signal: null });
const sandboxes = { name: 'open', isolates: true, create: async () => ({ id: 'b', write: done, read: done, close: done, exec }) };
const described = { description: 'Does.', input: { type: 'object' } };
const agentWith = (t) => agent({ model: 'm', prompt: 'Go.', tools: { t }, allow: ['t'] });
const within = (node) => new AgentGraph({}, { id: 'inner' }).addNode('n', node).addEdge(START, 'n').addEdge('n', END).toGraph();
const acts = {
  node: () => functionNode(run, { effectClass: 'external' }),
  step: () => functionNode((ctx) => ctx.step('act', { effect: 'external' }, run), { effectClass: 'read' }),
  sandbox: () => sandboxNode({ sandboxes, network: true, approval: 'never', commands: [['act']] }),
  tool: () => agentWith(tool({ ...described, run })),
};
const places = {
  subgraph: (node) => subgraphNode(within(node)),
  map: (node) => mapNode({ over: () => [1], each: within(node) }),
  plan: (node) => subgraphNode(mission('m').goal('Go.').autonomy('full').agents({ a: node })
    .plan({ tasks: [{ id: 't', agent: 'a', task: 'Go.', needs: [] }] }).toGraph()),
  agent: (node) => agentWith(tool({ ...described, node })),
};
let node = acts[${JSON.stringify(act)}]();
for (const place of ${JSON.stringify(outer)}) node = places[place](node);
export const graph = new AgentGraph({}, { id: 'deploy' })
  .addNode('ask', functionNode(async (ctx) => void (await ctx.ask({ prompt: 'Go?' })), { effectClass: 'human' }))
  .addNode('act', node).addEdge(START, 'ask').addEdge('ask', 'act').addEdge('act', END).compile();
`;

test.each(seeds(4, 120))(
  'N8.1 B2.1 a run of somebody else starts a tree of nodes in a module here only by a grant of its name: seed %i',
  async (seed) => {
    const random = createSeededRandom(seed);
    const tree: CodeTree = {
      places: Array.from({ length: random.integer(4) }, () => random.pick(places)),
      act: random.pick(codeActs),
    };
    const way = random.pick(wayNames);
    const ran = join(makeFolder(), 'ran');
    const files = { 'deploy.ts': moduleOf(tree, ran) };
    const own = { ...files, 'cairn.config.yaml': 'modules: [deploy.ts]\n' };
    const sent = await send(() => files, own);
    const others = ['shell', 'fs', 'net', 'env', 'model', 'sqlite', 'inline', 'workflow', 'module=other.ts'];
    const held = await goOn(await ways[way](sent, others));
    expect([tree, way, held, existsSync(ran)]).toEqual([tree, way, 'CODE_NOT_RUN', false]);
    const { stoppedBy, started } = await workOnSchedule(sent, 'deploy.ts', { allow: ['module'], trustsStore: false });
    expect([tree, stoppedBy, started]).toEqual([tree, 'PERMISSION_DENIED', []]);
    // The run names the module where its sender had it.
    const granted = await goOn(await ways[way](sent, [`module=${join(sent.cwd, 'deploy.ts')}`]));
    expect([tree, way, granted, signsIn(ran)]).toEqual([tree, way, 'completed', 'x']);
  },
);

test('N8.2 a schedule in a store of the own starts its tree of calls', async () => {
  const ran = join(makeFolder(), 'ran');
  const files = { 'deploy.ts': moduleOf({ places: ['plan', 'agent'], act: 'sandbox' }, ran) };
  const sent = await send(() => files, files);
  const { app, stoppedBy, started } = await workOnSchedule(sent, 'deploy.ts', { trustsStore: true });
  expect([stoppedBy, started.length > 0, existsSync(ran)]).toEqual([undefined, true, false]);
  expect(await goOn({ app, run: started[0] ?? '' })).toBe('completed');
  expect(signsIn(ran)).toBe('x');
});

// Agents as tools of agents, in nodes and graphs, in TypeScript: what is asked, and what is said of it before.

const wraps = ['none', 'graph', 'subgraph', 'map', 'mission'] as const;
const parts = { description: 'Does.', input: { type: 'object' } };

const graphWith = (node: NodeDraft): Graph =>
  new AgentGraph({}, { id: 'inner' }).addNode('n', node).addEdge(START, 'n').addEdge('n', END).toGraph();

function wrap(kind: (typeof wraps)[number], node: NodeDraft): NodeDraft | Graph {
  if (kind === 'graph') return graphWith(node);
  if (kind === 'subgraph') return subgraphNode(graphWith(node));
  if (kind === 'mission')
    return mission('m')
      .goal('Go.')
      .autonomy('full')
      .agents({ a: node })
      .plan({ tasks: [{ id: 't', agent: 'a', task: 'Go.', needs: [] }] })
      .toGraph();
  if (kind === 'map') return mapNode({ over: () => [1], each: graphWith(node) });
  return node;
}

/** What acts at the bottom of such a tree. `own`: it asks by itself; `never`: its author lets it act, whatever the agent that calls it allows. */
const bottoms: Readonly<
  Record<string, (act: () => void) => { readonly acting: AgentTool; readonly says?: 'own' | 'never' }>
> = {
  function: (act) => ({ acting: tool({ ...parts, run: act }) }),
  node: (act) => ({ acting: tool({ ...parts, node: functionNode(act, { effectClass: 'external' }) }) }),
  sandbox: (act) => ({ acting: tool({ ...parts, node: sandboxed(act) }), says: 'own' }),
  'open sandbox': (act) => ({ acting: tool({ ...parts, node: sandboxed(act, 'never') }) }),
  'tool of a sandbox': (act) => ({ acting: sandboxTools(networked(act)).exec, says: 'own' }),
  'tool of an open sandbox': (act) => ({ acting: sandboxTools(networked(act, 'never')).exec, says: 'never' }),
};

const sandboxed = (...given: Parameters<typeof networked>): NodeDraft =>
  sandboxNode({ ...networked(...given), commands: [['act']] });

/** A sandbox with a network, whose command acts. */
function networked(act: () => void, approval?: 'never'): SandboxOptions {
  const done = (): Promise<never> => Promise.resolve(undefined as never);
  const exec = (): Promise<SandboxEnd> => Promise.resolve({ exitCode: 0, signal: null }).finally(act);
  const create = (): Promise<Sandbox> => Promise.resolve({ id: 'b', write: done, read: done, close: done, exec });
  const sandboxes = { name: 'open', isolates: true, create };
  return { sandboxes, network: true, ...(approval !== undefined && { approval }) };
}

test('A6 each act in a tree of agents is asked about once, unless all on its way allow it; and that is known before', async () => {
  for (const seed of seeds(40, 1_000)) {
    const random = createSeededRandom(seed);
    let done = 0;
    const bottom = random.pick(Object.keys(bottoms));
    const { acting, says } = bottoms[bottom]?.(() => void (done += 1)) ?? {};
    let inner = acting as AgentTool;
    const levels = Array.from({ length: 1 + random.integer(4) }, () => ({
      isAllowed: random.chance(0.6),
      kind: random.pick(wraps),
    }));
    let node: NodeDraft | undefined;
    for (const { isAllowed, kind } of levels) {
      node = agent({
        model: 'm',
        prompt: 'Go.',
        description: 'Acts.',
        tools: { t: inner },
        ...(isAllowed && { allow: ['t'] }),
      });
      inner = tool({ ...parts, node: wrap(kind, node) });
    }
    // The innermost agent may allow what asks by itself, and need not allow what its author lets act.
    const asking = says === 'never' ? levels.slice(1) : levels;
    const isAsked = says === 'own' || asking.some(({ isAllowed }) => !isAllowed);
    const models = createScriptedModels(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 't', input: { command: ['act'] } }] },
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
    const { effect, unasked, allowed } = strengthOfNode(node as NodeDraft);
    expect([seed, bottom, result.status, done, questions, effect, unasked, allowed]).toEqual([
      seed,
      bottom,
      'completed',
      1,
      isAsked ? 1 : 0,
      'external',
      isAsked ? 'pure' : 'external',
      isAsked ? 'pure' : 'external',
    ]);
  }
});
