/** Random graphs for property tests: every effect class, loops, joins, waits, maps, children, retries and failures, from one seed. */
import { compileGraph } from '../../src/graph/compile/compile-graph.ts';
import {
  END,
  START,
  type Condition,
  type ConditionScope,
  type EdgeDefinition,
  type Graph,
  type GraphDefinition,
  type Join,
  type NodeDefinition,
  type Reducer,
} from '../../src/graph/graph.ts';
import type { OpenQuestion } from '../../src/engine/api.ts';
import type { CrashCase, CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { hangTimeoutMs } from './random-effect.ts';
import { implementNode, readSettled, outputText, type RandomOutput } from './random-node.ts';
import type { EdgePlan, NodePlan, RandomGraphPlan } from './plan-random-graph.ts';
import { mixNumber } from './mix-number.ts';

/** The input every random graph is started with: nodes name themselves by it. */
export const randomGraphInput: { readonly trail: string } = { trail: 'run' };

const reducers: Readonly<Record<string, Reducer>> = {
  'scratch.trace': 'append',
  'scratch.total': 'sum',
  'scratch.seen': 'union',
  'scratch.top': 'max',
  'scratch.low': 'min',
  'scratch.mean': 'avg',
  'scratch.word': 'longest',
  'scratch.bag': 'merge',
  'scratch.ring': {
    name: 'ring',
    reduce: (current, update) => (((current as number | undefined) ?? 0) + (update as number)) % 1009,
  },
};

/** What a first look at the compiled graph tells about a node. */
interface Facts {
  readonly settledBefore: readonly string[];
  readonly targets: readonly string[];
}

const noFacts: Facts = { settledBefore: [], targets: [] };

/** A plan with what its loops allow, and what its nodes may read: found once, as a graph is built for many processes. */
interface Look {
  readonly plan: RandomGraphPlan;
  readonly facts: ReadonlyMap<string, Facts>;
}

const looks = new WeakMap<RandomGraphPlan, Look>();

/**
 * Builds the graph of a plan for one process. What a node may read without depending on the schedule follows from the loops that
 * a first look at the compiled graph finds.
 * @throws GRAPH_INVALID the plan is not valid: a defect of the planner
 */
export function buildRandomGraph(plan: RandomGraphPlan, process: CrashProcess): Graph {
  const look = looks.get(plan) ?? takeLook(plan, process);
  looks.set(plan, look);
  return compileGraph(define(look.plan, process, (id) => look.facts.get(id) ?? noFacts));
}

function takeLook(plan: RandomGraphPlan, process: CrashProcess): Look {
  const looked = compileGraph(define(soften(plan), process, () => noFacts));
  const facts = new Map(plan.nodes.map((node) => [node.id, lookAt(looked, node)]));
  return { plan: fitToLoops(plan, looked), facts };
}

/** Without what is valid in some places of a loop only, and with its loops told, which a graph of one token does not do. */
function soften(plan: RandomGraphPlan): RandomGraphPlan {
  return {
    ...plan,
    policies: { ...plan.policies, routing: 'all' },
    nodes: plan.nodes.map((node) => ({ ...node, join: 'some' })),
    edges: plan.edges.map((edge) => ({ ...edge, always: false })),
  };
}

/** A back edge is never `always`, and a `first` join counts no more edges than can settle before it starts. */
function fitToLoops(plan: RandomGraphPlan, looked: Graph): RandomGraphPlan {
  const isBack = (index: number): boolean => looked.edges[index]?.backOf !== undefined;
  return {
    ...plan,
    nodes: plan.nodes.map((node) => {
      const incoming = looked.nodes[looked.nodeIndex.get(node.id) as number]?.incoming ?? [];
      const isTooMany =
        typeof node.join === 'number' && incoming.filter((edge) => edge.backOf === undefined).length < node.join;
      return isTooMany ? { ...node, join: 'some' as const } : node;
    }),
    edges: plan.edges.map((edge, index) => (isBack(index) ? { ...edge, always: false } : edge)),
  };
}

/** A `first` join starts before its sources have settled; a back edge may fire before or after: neither may be read. */
function lookAt(graph: Graph, plan: NodePlan): Facts {
  const node = graph.nodes[graph.nodeIndex.get(plan.id) as number];
  if (node === undefined) return noFacts;
  const settled = node.incoming
    .filter((edge) => edge.backOf === undefined && edge.from > 1)
    .map((edge) => graph.nodes[edge.from]?.id as string);
  const ahead = node.outgoing
    .filter((edge) => edge.backOf === undefined)
    .map((edge) => graph.nodes[edge.to]?.id as string);
  return {
    settledBefore: typeof plan.join === 'number' || plan.join === 'race' ? [] : [...new Set(settled)],
    targets: [...new Set(ahead)],
  };
}

function define(plan: RandomGraphPlan, process: CrashProcess, factsOf: (id: string) => Facts): GraphDefinition {
  const edges = plan.edges.map((edge) => defineEdge(edge));
  for (const node of plan.nodes)
    if (!plan.edges.some(({ from }) => from === node.id)) edges.push({ from: node.id, to: END });
  return {
    id: plan.id,
    nodes: [
      ...plan.nodes.map((node) => defineNode(node, process, factsOf(node.id))),
      ...(plan.undoes === true ? [defineUndo(process)] : []),
    ],
    edges,
    reducers,
    policies: { ...policiesOf(plan), ...(plan.undoes === true && { onCancel: undoPlace }) },
  };
}

/** The node that follows a cancel, and the place of its effect. */
export const undoPlace = 'undo';

function defineUndo({ oracle, sleep }: CrashProcess): NodeDefinition {
  return {
    id: undoPlace,
    type: 'function',
    effect: 'external',
    idempotent: true,
    // Where nobody knows that its process died, it is judged when this has passed.
    timeoutMs: 5_000,
    implementation: {
      codeText: '',
      run: async ({ idempotencyKey }) => {
        await sleep(20);
        oracle.apply({ key: idempotencyKey, place: undoPlace, promise: 'repeatable', output: null });
        await sleep(20);
        return null;
      },
    },
  };
}

function defineNode(plan: NodePlan, process: CrashProcess, facts: Facts): NodeDefinition {
  const { effect, join } = plan;
  const [child] = plan.parts.flatMap((part) => ('graph' in part ? [part.graph] : []));
  const childGraph = child === undefined ? undefined : buildRandomGraph(child, process);
  const surroundings = { process, ...facts, childGraph };
  return {
    id: plan.id,
    type: 'function',
    effect: effect.effect,
    implementation: implementNode(plan, surroundings),
    join: joinOf(join),
    onFailure: plan.onFailure,
    ...(plan.kind === 'plain' && effect.attempts > 1
      ? { retry: { attempts: effect.attempts, delayMs: 10, backoff: 'fixed' as const } }
      : {}),
    ...(plan.kind === 'plain' && effect.hangs ? { timeoutMs: hangTimeoutMs } : {}),
    ...(plan.kind === 'plain' && effect.recovery === 'idempotent' ? { idempotent: true } : {}),
    ...(plan.checkpoint === undefined ? {} : { checkpoint: plan.checkpoint }),
    ...(plan.hasWhen ? { when: whenOf(plan.id, facts) } : {}),
    ...(plan.declaresReads && plan.parts.every(({ kind }) => kind !== 'peek')
      ? { reads: ['input.trail', ...facts.settledBefore.map((id) => `outputs.${id}`)] }
      : {}),
    ...(childGraph === undefined ? {} : { subgraph: childGraph }),
  };
}

function joinOf(join: NodePlan['join']): Join {
  if (join === 'race') return { first: 1, cancelRest: true };
  return typeof join === 'number' ? { first: join } : join;
}

function whenOf(id: string, { settledBefore }: Facts): Condition {
  return { text: `when ${id}`, evaluate: ({ state }) => mixNumber(id, readSettled(state, settledBefore)) % 3 !== 0 };
}

function defineEdge({ from, to, on, always, condition, roundsMost }: EdgePlan): EdgeDefinition {
  if (from === '') return { from: START, to };
  if (always) return { from, to, always };
  if (condition === undefined && roundsMost === undefined) return { from, to, on };
  const { modulus, rest } = condition ?? { modulus: 1, rest: 0 };
  const evaluate = ({ outcome }: ConditionScope): boolean => {
    const visit = (outcome.output as Partial<RandomOutput> | undefined)?.visit ?? Infinity;
    return mixNumber(outputText(outcome.output)) % modulus === rest && (roundsMost === undefined || visit < roundsMost);
  };
  return { from, to, on, condition: { text: `${modulus} ${rest} ${roundsMost ?? ''}`, evaluate } };
}

function policiesOf({ policies: { budget, ...policies } }: RandomGraphPlan): NonNullable<GraphDefinition['policies']> {
  return budget === undefined ? policies : { ...policies, budget };
}

/** Answers a random graph's questions: a function of the question only. Undefined: it is left to its deadline. */
function answerRandomQuestion({ prompt = '', choices, budget }: OpenQuestion): unknown {
  if (prompt.startsWith('late ')) return undefined;
  const value = mixNumber('answer', prompt);
  // More of a budget is more than nothing.
  if (budget !== undefined) return value + 1;
  if (choices === undefined) return value;
  const choice = choices[value % choices.length];
  return typeof choice === 'object' && choice !== null ? (choice as { readonly value: unknown }).value : choice;
}

/** A random graph as a case of the crash kit. */
export function randomGraphCase(plan: RandomGraphPlan): CrashCase {
  return {
    graph: (process) => buildRandomGraph(plan, process),
    input: randomGraphInput,
    isScheduleFree: plan.isScheduleFree,
    mayFail: true,
    answer: answerRandomQuestion,
    signal: (name) => mixNumber('signal', name),
  };
}
