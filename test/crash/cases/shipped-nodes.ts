/** Each node type that is shipped, in a small graph whose effects leave a mark outside; as a script, the one that NODE_CASE names, killed for real. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { readWorkflow } from '../../../src/dialects/yaml/index.ts';
import {
  AgentGraph,
  END,
  START,
  fileNode,
  functionNode,
  guardrailNode,
  httpNode,
  humanNode,
  mapNode,
  outcome,
  routerNode,
  shellNode,
  subgraphNode,
  toolNode,
  type Graph,
  type NodeDraft,
} from '../../../src/index.ts';
import { createNodeTypes } from '../../../src/nodes/blocks/index.ts';
import type { CrashCase } from '../../../src/testing/crash-kit/process-life.ts';
import { runCrashScript } from '../../../src/testing/crash-kit/crash-processes.ts';
import { storeOfCase } from './open-case.ts';

/** One node, between a start and an end that also do something. */
function around(node: NodeDraft): Graph {
  return new AgentGraph({}, { id: 'around', checkpointPolicy: 'every_node' })
    .addNode('before', () => outcome({ output: 'ready', scratch: { items: ['a', 'b'] } }))
    .addNode('node', node)
    .addNode('after', ({ state }) => JSON.stringify(state.outputs['node'] ?? null).length)
    .addEdge(START, 'before')
    .addEdge('before', 'node')
    .addEdge('node', 'after')
    .addEdge('after', END)
    .toGraph();
}

/** An effect that the outside sees: a line in a file of the trial's folder. */
function mark(line: string): string {
  appendFileSync('ledger', `${line}\n`);
  return `marked ${line}`;
}

const childGraph = (): Graph => around(functionNode(() => mark('child'), { effectClass: 'write' }));

const blocksText = `name: blocks
blocks:
  - { id: command, type: Shell, inputs: { command: 'echo ran >> ledger' } }
  - { id: call, type: HttpCall, depends_on: [command], inputs: { method: POST, url: "URL" } }
  - { id: make, type: CreateFile, depends_on: [call], inputs: { path: made.txt, content: "one two" } }
  - { id: edit, type: EditFile, depends_on: [make], inputs: { path: made.txt, operations: [{ type: replace_text, old_text: one, new_text: three }] } }
  - { id: keep, type: WriteJSONState, depends_on: [edit], inputs: { path: kept.json, data: { a: 1 } } }
  - { id: merge, type: MergeJSONState, depends_on: [keep], inputs: { path: kept.json, updates: { b: 2 } } }
  - { id: table, type: Sql, depends_on: [merge], inputs: { engine: sqlite, path: rows.db, init_sql: 'create table if not exists rows (name text)', sql: "insert into rows values ('a')" } }
  - id: items
    type: Shell
    depends_on: [table]
    for_each: [x, y]
    for_each_mode: sequential
    inputs: { command: 'echo "\${each.value}" >> ledger' }
  - { id: go, type: ConfirmOperation, depends_on: [items], inputs: { message: Go on?, operation: go } }
outputs: { said: "\${go.confirmed}", code: "\${command.exit_code}" }
`;

/** @param url - of a receiver that remembers keys */
function graphsFor(url: string): Readonly<Record<string, () => Graph>> {
  const trial = { trial: () => basename(process.cwd()) };
  return {
    function: () => around(functionNode(() => mark('function'), { effectClass: 'external' })),
    'function (pure)': () => around(functionNode(({ state }) => state.scratch['items'])),
    tool: () =>
      around(toolNode({ name: 'marker', execute: (args: unknown) => mark(JSON.stringify(args)) }, { args: { a: 1 } })),
    human: () => around(humanNode({ prompt: 'Go on?', choices: ['yes', 'no'] })),
    router: () => around(routerNode(() => 'after', { targets: ['after'] })),
    guardrail: () => around(guardrailNode({ check: () => false, onViolation: 'warn' })),
    subgraph: () => around(subgraphNode(childGraph())),
    map: () =>
      around(mapNode({ over: () => ['a', 'b'], each: ({ item }) => mark(`item ${item}`), effectClass: 'external' })),
    'map of graphs': () => around(mapNode({ over: () => ['a', 'b'], each: childGraph() })),
    shell: () => around(shellNode({ command: 'sleep 0.02; echo "$1" >> ledger; echo done', args: () => ['shell'] })),
    'shell (fails)': () => around(shellNode({ command: 'echo failed >> ledger; exit 3', okExitCodes: [0, 3] })),
    'http (reads)': () => around(httpNode({ url, query: trial })),
    'http (sends)': () => around(httpNode({ method: 'POST', url, query: trial, body: { a: 1 } })),
    'file (reads)': () => around(fileNode({ action: 'read', path: () => '/etc/hostname' })),
    'file (writes)': () => around(fileNode({ action: 'write', path: 'out', content: () => 'written' })),
    'file (appends)': () => around(fileNode({ action: 'append', path: 'ledger', content: 'appended\n' })),
    'blocks of YAML': () =>
      readWorkflow(blocksText.replace('URL', `${url}?trial=${basename(process.cwd())}`), {
        nodeTypes: createNodeTypes(),
      }).graph,
  };
}

/** What a run left: lines of the ledger, files, and how often the receiver was sent which number of keys. */
async function inspect(url: string): Promise<unknown> {
  const files = ['ledger', 'out', 'made.txt', 'kept.json'].map((name) =>
    existsSync(name) ? readFileSync(name, 'utf8').split('\n').toSorted() : [],
  );
  const received = await fetch(`${url}received?trial=${basename(process.cwd())}`);
  return { files, received: await received.json() };
}

/** The cases by name; the process works in its trial's folder. */
export function shippedNodeCases(url: string): readonly (readonly [string, CrashCase])[] {
  return Object.entries(graphsFor(url)).map(([name, graph]) => [
    name,
    {
      graph,
      input: {},
      answer: ({ choices = [] }) => (choices.length === 2 ? 'yes' : undefined),
      varies: ['outputs.*.execution_time_ms', 'outputs.*.created', 'outputs.*.url'],
      inspect: () => inspect(url),
    },
  ]);
}

const { NODE_CASE, NODE_URL = '' } = process.env;
if (NODE_CASE !== undefined) {
  const [, found] = shippedNodeCases(NODE_URL).find(([name]) => name === NODE_CASE) ?? [];
  if (found === undefined) throw new Error(`no case is named ${NODE_CASE}`);
  await runCrashScript({ ...found, ...storeOfCase, enter: (folder) => process.chdir(folder) });
}
