/** Plans: tasks for agents, as data. A plan is checked as a whole and compiled to a graph with a node for each task (PL1). */
import { withInput, contextWith } from '../dialects/approval.ts';
import { CairnError } from '../errors.ts';
import { compileGraph } from '../graph/compile/compile-graph.ts';
import { hashValue } from '../graph/canonical.ts';
import {
  outcome,
  Outcome,
  type EffectClass,
  type NodeContext,
  type StateView,
} from '../graph/contracts/node-contract.ts';
import { END, START, type EdgeDefinition, type Graph, type NodeDefinition } from '../graph/graph.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { nearest } from '../graph/nearest.ts';
import type { NodeDraft } from '../graph/node-draft.ts';
import { graphOf, type GraphOrRunnable } from '../graph/runnable-graph.ts';
import { subgraphNode } from '../nodes/map-node.ts';
import { schemaFault } from '../schema/json-schema.ts';
import { agentTraits, type ToolClass } from '../agents/tools/tool-box.ts';
import { strengthOfNode, type Strength } from '../graph/effect-strength.ts';

/** One task of a plan. Its texts are data: nothing in them is evaluated. */
export interface PlanTask {
  /** Letters, digits, `-` and `_`, 64 at most. */
  readonly id: string;
  /** Name of the agent that does it. */
  readonly agent: string;
  /** What the agent is to do. */
  readonly task: string;
  /** Ids of the tasks whose results it gets, and which must be done before it. */
  readonly needs: readonly string[];
}

/** Tasks for agents. Those that need nothing of one another run side by side. */
export interface Plan {
  readonly tasks: readonly PlanTask[];
  /** What is to be reached, told to each agent before its task: recorded here by a mission that computes its goal. */
  readonly goal?: string;
}

/** What may do tasks: an agent or another node, or a graph. Its input is a {@link TaskInput}. */
export type PlanAgent = NodeDraft<never> | GraphOrRunnable<never, unknown>;
export type PlanAgents = Readonly<Record<string, PlanAgent>>;

/** The input of an agent that does a task. */
export interface TaskInput {
  /** The task with the goal, and the results that it needs, as one text. */
  readonly prompt: string;
  readonly task: PlanTask;
  /** Results of the needed tasks by their ids. */
  readonly results: Readonly<Record<string, unknown>>;
}

/** A wish of an agent for more tasks, made with the tool of `extendPlan`. */
export interface ExtensionWish extends Plan {
  readonly reason: string;
}

const idPattern = '^[A-Za-z_][A-Za-z0-9_-]{0,63}$';
const text = { type: 'string', minLength: 1 } as const;

/** JSON Schema of plans. @param agents - names of the agents that may be named; any if absent */
export function planSchema(agents?: readonly string[]): Readonly<Record<string, unknown>> {
  const properties = {
    id: { type: 'string', pattern: idPattern, description: 'Letters, digits, - and _.' },
    agent: agents === undefined ? text : { enum: agents },
    task: { ...text, description: 'All that the agent must know to do it.' },
    needs: { type: 'array', items: text, description: 'Ids of the tasks whose results it gets.' },
  };
  const task = { type: 'object', required: Object.keys(properties), additionalProperties: false, properties };
  return {
    type: 'object',
    required: ['tasks'],
    additionalProperties: false,
    properties: { tasks: { type: 'array', minItems: 1, items: task } },
  };
}

/** The form of a plan on record, which may hold its goal. A planner is not asked for one. */
const recordedSchema = ((): Readonly<Record<string, unknown>> => {
  const { properties, ...form } = planSchema() as { readonly properties: object };
  return { ...form, properties: { ...properties, goal: text } };
})();

/** What a plan must satisfy besides its form. */
export interface PlanBounds {
  readonly maxTasks?: number;
  /** The longest chain of tasks that need one another. */
  readonly maxDepth?: number;
  /** Tasks that are done already, with the length of the chain that led to each. */
  readonly done?: Readonly<Record<string, number>>;
}

/** Everything that is wrong with a plan, in words that help whoever wrote it; empty if nothing is. */
export function planFaults(plan: unknown, agents: PlanAgents, bounds: PlanBounds = {}): readonly string[] {
  const misfit = schemaFault(recordedSchema, plan, 'plan');
  if (misfit !== undefined) return [misfit];
  const { tasks } = plan as Plan;
  const { maxTasks, maxDepth, done = {} } = bounds;
  const faults: string[] = [];
  const known = new Set(Object.keys(done));
  const total = tasks.length + known.size;
  if (maxTasks !== undefined && total > maxTasks)
    faults.push(`there are ${total} tasks, and at most ${maxTasks} are allowed`);
  for (const { id, agent } of tasks) {
    if (known.has(id)) faults.push(`there are two tasks with the id ${id}`);
    known.add(id);
    if (!Object.hasOwn(agents, agent))
      faults.push(`task ${id} is for ${agent}, which is no agent${among(agent, Object.keys(agents))}`);
  }
  for (const { id, needs } of tasks)
    for (const need of needs)
      if (!known.has(need)) faults.push(`task ${id} needs ${need}, which is no task${among(need, [...known])}`);
  if (faults.length > 0) return faults;
  const { depths, cycle } = depthsOf(tasks, done);
  if (cycle !== undefined) return [`there is a cycle: ${cycle.join(' needs ')}`];
  const depth = Math.max(...depths.values());
  if (maxDepth !== undefined && depth > maxDepth)
    faults.push(`a chain of ${depth} tasks need one another, and at most ${maxDepth} are allowed`);
  return faults;
}

function among(name: string, known: readonly string[]): string {
  const guess = nearest(name, known);
  return guess === undefined ? `: there are ${known.join(', ')}` : `: did you mean ${guess}?`;
}

/** The length of the longest chain that ends with each task, or a cycle. The tasks have different ids, and their needs are known. */
export function depthsOf(
  tasks: readonly PlanTask[],
  done: Readonly<Record<string, number>> = {},
): { readonly depths: ReadonlyMap<string, number>; readonly cycle?: readonly string[] } {
  const depths = new Map(Object.entries(done));
  let remaining = tasks;
  // Each round settles at least one task, or the rest is in cycles or behind one.
  while (remaining.length > 0) {
    const ready = remaining.filter(({ needs }) => needs.every((need) => depths.has(need)));
    if (ready.length === 0) return { depths, cycle: cycleIn(remaining) };
    for (const { id, needs } of ready)
      depths.set(id, 1 + Math.max(0, ...needs.map((need) => depths.get(need) as number)));
    remaining = remaining.filter(({ id }) => !depths.has(id));
  }
  return { depths };
}

/** A cycle among tasks of which each needs another. */
function cycleIn(tasks: readonly PlanTask[]): readonly string[] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const path: string[] = [];
  let at = tasks[0] as PlanTask;
  while (!path.includes(at.id)) {
    path.push(at.id);
    at = byId.get(at.needs.find((need) => byId.has(need)) as string) as PlanTask;
  }
  return [...path.slice(path.indexOf(at.id)), at.id];
}

/** Short hash of a plan: what is approved is the plan with this hash. */
export const planHash = (plan: Plan): string => hashValue(plan).slice(0, 16);

/** An agent of a plan, made one node. */
export const draftOfAgent = (agent: PlanAgent): NodeDraft<never> => {
  const graph = graphOf(agent);
  return (
    graph === undefined
      ? agent
      : subgraphNode(graph, { input: ({ state }: { readonly state: StateView }) => state.input })
  ) as NodeDraft<never>;
};

/** What is known of an agent before it runs. */
export interface AgentPowers {
  readonly description: string | undefined;
  readonly tools: readonly ToolClass[];
  /** The strongest effect class of what it may do. */
  readonly effect: EffectClass;
  readonly strength: Strength;
}

export function powersOf(agent: PlanAgent): AgentPowers {
  const draft = draftOfAgent(agent);
  const traits = agentTraits.get(draft.implementation);
  const strength = strengthOfNode(draft);
  return { description: traits?.description, tools: traits?.tools ?? [], effect: strength.effect, strength };
}

/** Options of {@link compilePlan}. */
export interface PlanOptions extends PlanBounds {
  /** Told to each agent before its task. */
  readonly goal?: string;
}

/**
 * Compiles a plan to a graph: a node for each task, which starts when all that it needs is done. A task that fails does not stop those that
 * do not need it; then the graph fails. The graph's input is `{ results }`: those of tasks that are done already.
 * @throws PLAN_INVALID with every fault
 */
export function compilePlan(plan: Plan, agents: PlanAgents, options: PlanOptions = {}): Graph {
  refuseUnknownKeys('compilePlan', options, ['goal', 'maxTasks', 'maxDepth', 'done']);
  const faults = planFaults(plan, agents, options);
  if (faults.length > 0) throw new CairnError('PLAN_INVALID', { reason: faults.join('; '), faults });
  const { done = {}, goal } = options;
  const edges = plan.tasks.flatMap(({ id, needs }): EdgeDefinition[] => {
    const own = needs.filter((need) => !Object.hasOwn(done, need));
    const from = own.length === 0 ? [START] : [...new Set(own)];
    return [...from.map((need) => ({ from: need, to: id })), { from: id, to: END }];
  });
  return compileGraph({
    id: `plan-${planHash(plan)}`,
    nodes: plan.tasks.map((task) => taskNode(task, agents[task.agent] as PlanAgent, goal, new Set(Object.keys(done)))),
    edges,
    reducers: { 'artifacts.extensions': 'merge' },
    policies: { checkpoint: 'every_node' },
  });
}

function taskNode(
  task: PlanTask,
  agent: PlanAgent,
  goal: string | undefined,
  done: ReadonlySet<string>,
): NodeDefinition {
  const { byTool: _, ...draft } = draftOfAgent(agent);
  const inputOf = ({ input, outputs }: StateView): TaskInput => {
    const earlier = (input as { readonly results?: Readonly<Record<string, unknown>> } | null)?.results ?? {};
    const results = Object.fromEntries(
      task.needs.map((need) => [need, done.has(need) ? earlier[need] : outputs[need]]),
    );
    return { prompt: promptOf(task, results, goal), task, results };
  };
  const own = withInput(draft.implementation, inputOf);
  return {
    onFailure: 'fail-last',
    ...draft,
    id: task.id,
    join: 'all',
    config: { task, ...(goal !== undefined && { goal }), agent: draft.config ?? null },
    implementation: { ...own, run: (ctx) => runTask(ctx, own.run) },
  };
}

/** How the tool of `extendPlan` finds the task that it is called in. */
export interface TaskContext extends NodeContext {
  readonly wishForTasks?: (wish: ExtensionWish) => Promise<void>;
}

const wishList = 'extensions';

/** Runs a task, and hands over the wishes for more tasks that its agent had. */
async function runTask(ctx: NodeContext, run: (ctx: NodeContext) => unknown): Promise<unknown> {
  const wishForTasks = (): TaskContext['wishForTasks'] => (wish) => ctx.append(wishList, [wish]);
  const returned = await run(contextWith(ctx, { wishForTasks }));
  const wishes = ctx.list(wishList);
  if (wishes.length === 0) return returned;
  const { artifacts, ...parts } = returned instanceof Outcome ? returned.parts : { output: returned };
  return outcome({ ...parts, artifacts: { ...artifacts, extensions: { [ctx.nodeId]: wishes } } });
}

function promptOf({ task }: PlanTask, results: Readonly<Record<string, unknown>>, goal: string | undefined): string {
  const whole = goal === undefined ? [] : [`Goal of the whole:\n${goal}`];
  return [...whole, ...describeResults(results), `Your task:\n${task}`].join('\n\n');
}

/** Results of tasks as parts of a prompt. */
export function describeResults(results: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(results).map(
    ([id, result]) => `Result of ${id}:\n${typeof result === 'string' ? result : JSON.stringify(result)}`,
  );
}
