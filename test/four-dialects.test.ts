/**
 * P5: one workflow, written in each dialect there is, leaves one history. The four are a TypeScript graph, the `workflow()` builder, YAML
 * and DOT; a fifth, flows of nodes, is not built.
 *
 * The workflow has four nodes that do something (prepare, check, approve, publish). A pipeline must also have a start and an exit, and every
 * text ends in a node that gives its outputs. All of these are nodes of the other dialects here too, under names of their own.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { readDot, type StageHandler } from '../src/dialects/dot/index.ts';
import { readWorkflow } from '../src/dialects/yaml/index.ts';
import type { NodeContext } from '../src/graph/contracts/node-contract.ts';
import type { NodeType } from '../src/graph/contracts/node-type.ts';
import type { Graph } from '../src/graph/graph.ts';
import { AgentGraph, END, START, functionNode, humanNode, workflow } from '../src/index.ts';
import { createBench } from './engine-kit.ts';
import { told, withoutContents, type Stored } from './support/bare-history.ts';
import { ask } from './yaml-kit.ts';

/** How the nodes prepare, check and publish act on the world: as a recorded step, or as a node with an effect of its own. */
type Acting = 'step' | 'node';

/** A workflow, and its nodes in their order, by the names that it gives them. */
interface Written {
  readonly names: readonly string[];
  readonly graph: Graph;
}

const asks = humanNode({ prompt: 'Publish?', choices: [{ value: 'Yes', label: 'Yes' }] });
const inStep = (ctx: NodeContext): Promise<string> => ctx.step('work', { effect: 'external' }, () => 'done');
const acts = (acting: Acting): ReturnType<typeof functionNode> =>
  acting === 'step' ? functionNode(inStep) : functionNode(() => 'done', { effectClass: 'external' });

function typescript(acting: Acting): Written {
  const { graph } = new AgentGraph({}, { id: 'four', checkpointPolicy: 'every_node' })
    .addNode('begin', () => 'begun')
    .addNode('prepare', acts(acting))
    .addNode('check', acts(acting))
    .addNode('approve', asks)
    .addNode('publish', acts(acting))
    .addNode('finish', () => 'finished')
    .addNode('result', () => 'said')
    .addEdge(START, 'begin')
    .addEdge('begin', 'prepare')
    .addEdge('prepare', 'check')
    .addEdge('check', 'approve')
    .addEdge('approve', 'publish')
    .addEdge('publish', 'finish')
    .addEdge('finish', 'result')
    .addEdge('result', END)
    .compile();
  return { names: ['begin', 'prepare', 'check', 'approve', 'publish', 'finish', 'result'], graph };
}

function line(acting: Acting): Written {
  const { graph } = workflow('four')
    .input(z.object({}))
    .step('first', () => 'begun')
    .then('prepared', acts(acting))
    .then('checked', acts(acting))
    .then('approved', asks)
    .then('published', acts(acting))
    .then('last', () => 'finished')
    .returns(() => 'said')
    .compile();
  return { names: ['first', 'prepared', 'checked', 'approved', 'published', 'last', 'returns'], graph };
}

const blockType = (name: string, more: Pick<NodeType, 'effect' | 'run'>): NodeType => ({
  name,
  description: 'Stands for a block of the user.',
  inputs: {},
  outputs: { said: { schema: {}, description: 'what it said' } },
  ...more,
});

function yaml(acting: Acting): Written {
  const nodeTypes = [
    ask,
    blockType('Note', { effect: 'pure', run: () => ({ said: 'noted' }) }),
    acting === 'step'
      ? blockType('Act', { effect: 'pure', run: async (ctx) => ({ said: await inStep(ctx) }) })
      : blockType('Act', { effect: 'external', run: () => ({ said: 'done' }) }),
  ];
  const { graph } = readWorkflow(
    `
name: four
blocks:
  - { id: opening, type: Note }
  - { id: prepare, type: Act, depends_on: [opening] }
  - { id: check, type: Act, depends_on: [prepare] }
  - { id: approve, type: Ask, depends_on: [check], inputs: { prompt: "Publish?" } }
  - { id: publish, type: Act, depends_on: [approve] }
  - { id: closing, type: Note, depends_on: [publish] }
outputs: { said: "\${approve.answer}" }
`,
    { nodeTypes },
  );
  return { names: ['opening', 'prepare', 'check', 'approve', 'publish', 'closing', 'outputs'], graph };
}

const stage: StageHandler = { effect: 'external', run: () => ({ status: 'success' }) };

/** The work of a stage is always a step: a stage that failed has to choose the way its run goes on, which a node that failed cannot. */
function dot(): Written {
  const { graph } = readDot(
    `digraph four {
  start [shape=Mdiamond]
  exit [shape=Msquare]
  node [prompt=x]
  prepare; check; publish
  approve [shape=hexagon, label="Publish?"]
  start -> prepare -> check -> approve
  approve -> publish [label=Yes]
  publish -> exit
}`,
    { handlers: { codergen: stage } },
  );
  return { names: ['start', 'prepare', 'check', 'approve', 'publish', 'exit', 'outputs'], graph };
}

/** Every checkpoint of the workflow's run as it is stored, with the place of each node in the workflow for its name. */
async function historyOf({ graph, names }: Written): Promise<readonly Stored[]> {
  const { engine, store } = createBench({ findGraph: () => Promise.resolve(graph) });
  const paused = await (await engine.start(graph, {})).result();
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'Yes');
  const { status, runId } = await (await engine.resume(paused.runId)).result();
  expect(status).toBe('completed');
  const rows = await store.readCheckpoints({ tenant: 'default', runId }, { from: 0, to: 99 });
  return rows.map(({ body }) => withoutContents(JSON.parse(new TextDecoder().decode(body)) as Stored, names));
}

const inSteps = [
  'start',
  'settle 0',
  'intent 1 work',
  'step 1 work + settle 1',
  'intent 2 work',
  'step 2 work + settle 2',
  'wait 3',
  'pause',
  'answer 3 question',
  'settle 3',
  'intent 4 work',
  'step 4 work + settle 4',
  'settle 5',
  'settle 6 + end',
];

const inNodes = [
  'start',
  'settle 0 + intent 1',
  'settle 1 + intent 2',
  'settle 2',
  'wait 3',
  'pause',
  'answer 3 question',
  'settle 3 + intent 4',
  'settle 4',
  'settle 5',
  'settle 6 + end',
];

test('DOT33 P5 one workflow in four dialects leaves the same checkpoints, changes, nodes and records, under other names', async () => {
  const [first = [], ...others] = await Promise.all(
    [typescript('step'), line('step'), yaml('step'), dot()].map((written) => historyOf(written)),
  );
  expect(told(first)).toEqual(inSteps);
  for (const other of others) expect(other).toEqual(first);
});

test('P5 with the effect as a node of its own, the dialects that can say so leave the same history again', async () => {
  const [first = [], ...others] = await Promise.all(
    [typescript('node'), line('node'), yaml('node')].map((written) => historyOf(written)),
  );
  expect(told(first)).toEqual(inNodes);
  for (const other of others) expect(other).toEqual(first);
});

test('DOT33 E3.4 a step tells the same as a node with that effect, but that its intent is a checkpoint behind what led to it', () => {
  const asNode = (change: string): string => change.replace(/step (\d) work \+ /u, '').replace(/ work$/u, '');
  expect(inSteps.map(asNode)).toEqual(inNodes.flatMap((change) => change.split(/ \+ (?=intent)/u)));
});
