/** Missions: a goal, agents, and a plan that a planner makes of them or the caller passes. Guide: docs/guide/missions.md. */
import { askOnce, llmNode, type LlmNodeConfig } from '../agents/answers/llm-node.ts';
import { isRecord } from '../agents/check-options.ts';
import { finalForm } from '../agents/answers/final-answer.ts';
import type { ModelSettings, ModelStepOptions } from '../agents/model/model-step.ts';
import { scopeContext } from '../agents/tools/tool-calls.ts';
import { AgentGraph } from '../dialects/code/agent-graph.ts';
import type { Approved } from '../dialects/approval.ts';
import { CompiledGraph, type GraphResult } from '../dialects/code/compiled-graph.ts';
import { defineReturns, returnsId, type ReturnsFunction } from '../dialects/code/returns-node.ts';
import type { CompileOptions, ContinueOptions, GraphParts, RunTarget } from '../dialects/code/run-options.ts';
import type { SchemaInput } from '../dialects/code/typed-state.ts';
import type { RunResult } from '../engine/api.ts';
import { CairnError } from '../errors.ts';
import type { ModelMessage } from '../graph/contracts/model-messages.ts';
import type { NodeContext, StateView } from '../graph/contracts/node-contract.ts';
import { END, START, type Graph, type GraphSchemas, type OnBudget, type StandardSchema } from '../graph/graph.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import type { NodeDraft } from '../graph/node-draft.ts';
import { anchorFaults, describeAnchors, explainPlan, type Anchor, type AnchorOrder } from './anchors.ts';
import {
  describeResults,
  planFaults,
  planSchema,
  powersOf,
  type AgentPowers,
  type Plan,
  type PlanAgent,
  type PlanAgents,
} from './plan.ts';
import { checkPlanned, defaultLimits, mustAsk, plannedDraft, reachOf, refuseGoneAgents, type Autonomy, type AutonomyThreshold, type PlanLimits } from './planned-node.ts'; // prettier-ignore

/** Bounds of a mission. Those of plans are checked before anything starts; the others are one budget over all of it. */
export interface MissionLimits extends PlanLimits {
  /** In the currency of the price table. */
  readonly cost?: number;
  /** Tokens read and written, together. */
  readonly tokens?: number;
  /** Duration of calls of models and tools. Waits are not counted. */
  readonly seconds?: number;
  /** What happens when too little of the budget remains: a person is asked (default), or the mission fails. */
  readonly onBudget?: OnBudget;
}

/** What a planner gets as its prompt. */
export interface PlanningTask {
  readonly goal: string;
  readonly agents: readonly ({ readonly name: string } & AgentPowers)[];
  /** What is wrong with the plan it gave before; empty at first. */
  readonly faults: readonly string[];
  readonly signal: AbortSignal;
}

/** Makes plans: a model, or a function, which is called as a recorded step of class `read`. */
export type Planner =
  | {
      readonly model: string;
      /** Said to the model besides what the mission says of itself. */
      readonly instructions?: string;
      readonly settings?: Omit<ModelSettings, 'model' | 'tools' | 'toolChoice' | 'schema'>;
      readonly calls?: Omit<ModelStepOptions, 'name'>;
    }
  | ((task: PlanningTask) => Plan | Promise<Plan>);

type Goal<Input> = string | ((scope: { readonly state: StateView & { readonly input: Input } }) => string);

/** Where a mission stands. */
export interface MissionResult<Value> extends GraphResult<StateView> {
  /** The plan, as it was approved; present when there is one. Extensions are not in it. */
  readonly plan?: Plan;
  /** What `returns` gives, else the results of all tasks by their ids; present when the status is `completed`. */
  readonly output?: Value;
}

interface Parts {
  readonly name: string;
  readonly input?: StandardSchema;
  readonly goal?: Goal<never>;
  readonly planner?: Planner;
  readonly plan?: Plan;
  readonly agents: PlanAgents;
  readonly anchors: readonly Anchor[];
  readonly limits: MissionLimits;
  readonly autonomy: Autonomy;
  readonly threshold?: AutonomyThreshold;
  readonly returns?: (builder: Builder) => Builder;
}

type Builder = AgentGraph<GraphSchemas, Record<string, unknown>>;
type Results = Readonly<Record<string, unknown>>;

const limitNames = ['maxTasks', 'maxDepth', 'maxExpansions', 'cost', 'tokens', 'seconds', 'onBudget'] as const satisfies readonly (keyof MissionLimits)[]; // prettier-ignore
/** How often a planner gets the faults of its plan and may mend it. */
const repairsMax = 2;

/** Builds a mission. Each method returns a new builder and leaves the original unchanged. `compile` reports what is wrong. */
export class Mission<Input = unknown, Value = Results> {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Sets the schema of the mission's input. */
  input<Schema extends StandardSchema>(schema: Schema): Mission<SchemaInput<Schema>, Value> {
    return this.#with({ input: schema });
  }

  /** What is to be reached. It is part of the prompts of the planner and of each agent. */
  goal(goal: Goal<Input>): Mission<Input, Value> {
    return this.#with({ goal });
  }

  /** Who does the tasks, by names. Their input is a `TaskInput`: the prompt of an agent without one of its own is its task. */
  agents(agents: PlanAgents): Mission<Input, Value> {
    return this.#with({ agents: { ...this.#parts.agents, ...agents } });
  }

  /**
   * Who makes the plan: when the mission begins, and never again. It gets the faults of a plan that cannot be used, twice; then
   * PLAN_INVALID.
   */
  planner(planner: Planner): Mission<Input, Value> {
    return this.#with({ planner });
  }

  /** The plan itself, in place of a planner. */
  plan(plan: Plan): Mission<Input, Value> {
    return this.#with({ plan });
  }

  /**
   * A task that must be in each plan, under this id.
   * @param by - the name of the agent that does it, or a node or graph of its own
   */
  anchor(id: string, by: string | PlanAgent, order: AnchorOrder = {}): Mission<Input, Value> {
    refuseUnknownKeys(`mission: anchor ${id}`, order, ['phase', 'after', 'before']);
    const agents = typeof by === 'string' ? {} : { agents: { ...this.#parts.agents, [id]: by } };
    const anchor = { id, agent: typeof by === 'string' ? by : id, ...order };
    return this.#with({ anchors: [...this.#parts.anchors, anchor], ...agents });
  }

  limits(limits: MissionLimits): Mission<Input, Value> {
    refuseUnknownKeys('mission: limits', limits, limitNames);
    return this.#with({ limits: { ...this.#parts.limits, ...limits } });
  }

  /** How far the mission goes without a person. Default `none`: each plan and each extension is asked about. */
  autonomy(autonomy: Autonomy, threshold?: AutonomyThreshold): Mission<Input, Value> {
    return this.#with({ autonomy, ...(threshold !== undefined && { threshold }) });
  }

  /**
   * What the mission gives: a schema that the results of all tasks must fit; a function of the state (`state.outputs.work` are the
   * results); both; or a model that makes the answer of the results.
   */
  returns<Schema extends StandardSchema>(
    schema: Schema,
    compute?: ReturnsFunction<StateView, unknown>,
  ): Mission<Input, SchemaInput<Schema>>;
  returns<Returned>(compute: ReturnsFunction<StateView, Returned>): Mission<Input, Awaited<Returned>>;
  returns(model: LlmNodeConfig): Mission<Input, unknown>;
  returns(
    first: StandardSchema | ReturnsFunction<StateView, unknown> | LlmNodeConfig,
    second?: ReturnsFunction<StateView, unknown>,
  ): never {
    const results: ReturnsFunction<StateView, unknown> = ({ state }) => state.outputs['work'];
    const add = (builder: Builder): Builder => {
      if (typeof first === 'object' && 'model' in first) {
        const prompt =
          first.prompt ??
          (({ state }: { readonly state: StateView }) =>
            answerPrompt(goalIn(this.#parts, state, planIn(state)), state.outputs['work'] as Results));
        return builder.addNode(returnsId, llmNode({ ...first, prompt }));
      }
      const compute = second ?? (typeof first === 'function' && !('~standard' in first) ? undefined : results);
      const { id: _, ...node } = defineReturns(first, compute, undefined);
      return builder.addNode(returnsId, node);
    };
    return this.#with({ returns: add }) as never;
  }

  /**
   * Builds the graph model: `plan`, then `work`, then `returns`.
   * @throws CONFIG_INVALID; PLAN_INVALID the caller's plan cannot be used; GRAPH_INVALID
   */
  toGraph(parts: GraphParts = {}): Graph {
    check(this.#parts);
    const { name, agents, input, limits, autonomy, threshold, returns } = this.#parts;
    const { maxTasks, maxDepth, maxExpansions, onBudget, ...budget } = { ...defaultLimits, ...limits };
    const begun: Builder = new AgentGraph<GraphSchemas, Record<string, unknown>>(input === undefined ? {} : { input }, {
      id: name,
      checkpointPolicy: 'every_node',
      ...(Object.keys(budget).length > 0 && { budget }),
      ...(onBudget !== undefined && { onBudget }),
    });
    const { goal } = this.#parts;
    const freedom = { autonomy, ...(threshold !== undefined && { threshold }) };
    const work = plannedDraft(
      { agents, ...(typeof goal === 'string' && { goal }), ...freedom, maxTasks, maxDepth, maxExpansions },
      {},
      (state) => state.outputs['plan'],
    );
    const worked: Builder = begun.addNode('plan', planNode(this.#parts)).addNode('work', work as NodeDraft, {
      // What is approved, and given to each agent, holds the goal that the planner was told.
      input: ({ state }) => withGoal(this.#parts, state, state.outputs['plan'] as Plan),
      approval: {
        prompt: ({ input: plan }) => `Carry out this plan?\n${explainPlan(plan as Plan, this.#parts)}`,
        when: ({ input: plan }) => mustAsk((plan as Plan).tasks, agents, freedom, (plan as Plan).tasks.length),
        edit: ['tasks'],
        onRejected: 'fail',
      },
    });
    worked.addEdge(START, 'plan').addEdge('plan', 'work');
    const whole =
      returns === undefined
        ? worked.addEdge('work', END)
        : returns(worked).addEdge('work', returnsId).addEdge(returnsId, END);
    return Object.freeze({ ...whole.toGraph(parts), result: returns === undefined ? 'work' : returnsId });
  }

  /**
   * Builds the mission and makes it ready to run. Without a store, runs live in memory.
   * @throws CONFIG_INVALID; PLAN_INVALID the caller's plan cannot be used; GRAPH_INVALID
   */
  compile(options: CompileOptions = {}): CompiledMission<Input, Value> {
    return new CompiledMission(this.#parts, (parts) => this.toGraph(parts), options);
  }

  #with<NewInput, NewValue>(parts: Partial<Parts>): Mission<NewInput, NewValue> {
    return new Mission({ ...this.#parts, ...parts });
  }
}

/** A mission that can be run. */
export class CompiledMission<Input = unknown, Value = Results> extends CompiledGraph<Input, MissionResult<Value>> {
  readonly #parts: Parts;

  constructor(parts: Parts, build: (parts: GraphParts) => Graph, options: CompileOptions) {
    super(build, options, (result) => present(result));
    this.#parts = parts;
  }

  /**
   * Goes on with a mission where it stands: nothing is planned again. @throws as {@link CompiledGraph.resume}; RUN_GRAPH_CHANGED names an
   * agent of its plan that is gone
   */
  override async resume(target?: RunTarget, options: ContinueOptions = {}): Promise<MissionResult<Value>> {
    if (target !== undefined) {
      const { runId, state } = await this.inspect(target);
      refuseGoneAgents({ runId }, state.outputs['plan'], this.#parts.agents);
    }
    return super.resume(target, options);
  }

  /**
   * Tells of a plan: tasks, agents, their tools and effect classes, expected cost and bounds.
   * @param target - the run whose plan is meant. Default: the caller's plan, or what is known before one is made
   */
  async explain(target?: RunTarget): Promise<string> {
    const plan = target === undefined ? this.#parts.plan : (await this.inspect(target)).plan;
    return explainPlan(plan, this.#parts);
  }
}

/** Begins a mission. The name is the id of its graph. */
export function mission(name: string): Mission {
  return new Mission({ name, agents: {}, anchors: [], limits: {}, autonomy: 'none' });
}

/** What a linear orchestrator is made of. */
export interface LinearOrchestratorParts {
  readonly goal: Goal<unknown>;
  readonly planner: Planner;
  readonly agents: PlanAgents;
  /** Makes the answer of the results of all tasks. */
  readonly answer: LlmNodeConfig;
  readonly limits?: MissionLimits;
}

/** A mission that asks nobody: a planner, the tasks in the order of their needs, and a model that makes the answer. */
export function linearOrchestrator(id: string, parts: LinearOrchestratorParts): Mission {
  refuseUnknownKeys('linearOrchestrator', parts, ['goal', 'planner', 'agents', 'answer', 'limits']);
  const { goal, planner, agents, answer, limits = {} } = parts;
  return mission(id)
    .goal(goal)
    .planner(planner)
    .agents(agents)
    .limits(limits)
    .autonomy('full')
    .returns(answer) as Mission;
}

function present<Value>(result: RunResult): MissionResult<Value> {
  const plan = planIn(result.state);
  return {
    ...result,
    ...(plan !== undefined && { plan }),
    ...(result.status === 'completed' && { output: outputIn(result.state) as Value }),
  };
}

/** The plan, as it was approved if it was. */
function planIn({ outputs }: Pick<StateView, 'outputs'>): Plan | undefined {
  return ((outputs['work?'] as Approved | undefined)?.input ?? outputs['plan']) as Plan | undefined;
}

function outputIn({ outputs }: Pick<StateView, 'outputs'>): unknown {
  return outputs[returnsId in outputs ? returnsId : 'work'];
}

function check({ name, goal, planner, plan, agents, anchors, limits, autonomy, threshold }: Parts): void {
  const refuse = (reason: string): never => {
    throw new CairnError('CONFIG_INVALID', { reason: `mission ${name}: ${reason}` });
  };
  if (typeof goal !== 'function' && (typeof goal !== 'string' || goal === ''))
    refuse('it has no goal: say it with .goal(text)');
  if ((planner === undefined) === (plan === undefined)) refuse('give a planner, or a plan');
  if (isRecord(planner))
    refuseUnknownKeys(`mission ${name}: planner`, planner, ['model', 'instructions', 'settings', 'calls']);
  checkPlanned(`mission ${name}`, { ...limits, agents, autonomy, ...(threshold !== undefined && { threshold }) });
  for (const { id, agent } of anchors)
    if (!Object.hasOwn(agents, agent)) refuse(`the anchor ${id} is for ${agent}, which is no agent`);
  for (const [agent, one] of Object.entries(agents))
    for (const { definition } of powersOf(one).tools)
      for (const reached of (definition && reachOf.get(definition)) ?? [])
        if (!Object.hasOwn(agents, reached)) refuse(`${agent} may extend the plan for ${reached}, which is no agent`);
  if (plan === undefined) return;
  const faults = allFaults(plan, { agents, anchors, limits });
  if (faults.length > 0) throw new CairnError('PLAN_INVALID', { reason: faults.join('; '), faults });
}

function allFaults(
  plan: unknown,
  { agents, anchors, limits }: Pick<Parts, 'agents' | 'anchors' | 'limits'>,
): readonly string[] {
  const { maxTasks, maxDepth } = { ...defaultLimits, ...limits };
  const faults = planFaults(plan, agents, { maxTasks, maxDepth });
  return faults.length > 0 ? faults : anchorFaults(plan as Plan, anchors);
}

function goalOf({ goal }: Pick<Parts, 'goal'>, state: StateView): string {
  return typeof goal === 'function' ? goal({ state: state as never }) : (goal as string);
}

/** The goal that is recorded with the plan; before there is one, what the author's text or function says. */
function goalIn(parts: Pick<Parts, 'goal'>, state: StateView, plan: Plan | undefined): string {
  return plan?.goal ?? goalOf(parts, state);
}

/** The plan with its goal, if that is computed: it is computed once, and recorded with the plan. */
function withGoal(parts: Pick<Parts, 'goal'>, state: StateView, plan: Plan): Plan {
  return typeof parts.goal === 'function' ? { ...plan, goal: goalIn(parts, state, plan) } : plan;
}

function answerPrompt(goal: string, results: Results): string {
  return [`The goal was:\n${goal}`, ...describeResults(results), 'Give the answer.'].join('\n\n');
}

/** The node that gives the plan, or makes it. */
function planNode(parts: Parts): NodeDraft {
  const { plan, planner, agents, anchors, limits } = parts;
  const names = Object.keys(agents);
  const known = { agents: names, anchors, limits };
  if (plan !== undefined)
    return {
      type: 'plan',
      effect: 'pure',
      config: { plan, ...known },
      implementation: { run: ({ state }) => withGoal(parts, state, plan) },
    };
  const config = typeof planner === 'function' ? { planner: '(computed)' } : { planner };
  return {
    type: 'plan',
    effect: 'pure',
    config: { ...config, ...known },
    implementation: {
      run: async (ctx) => {
        const goal = goalOf(parts, ctx.state);
        const made = await makePlan(ctx, parts, goal);
        return typeof parts.goal === 'function' ? { ...made, goal } : made;
      },
      codeText: typeof planner === 'function' ? String(planner) : '',
      outputFault: (output) => allFaults(output, parts)[0],
    },
  };
}

/** Asks the planner, and tells it what is wrong with its plan, twice at most. @throws PLAN_INVALID */
async function makePlan(ctx: NodeContext, parts: Parts, goal: string): Promise<Plan> {
  let faults: readonly string[] = [];
  const messages: ModelMessage[] = [];
  for (let attempt = 0; attempt <= repairsMax; attempt += 1) {
    const answer = await askPlanner(scopeContext(ctx, `plan ${attempt + 1}`), parts, { goal, faults, messages });
    faults = allFaults(answer, parts);
    if (faults.length === 0) return answer as Plan;
    ctx.emit({ type: 'plan-refused', faults }, { recorded: true, name: 'plan-refused' });
    messages.push(
      { role: 'assistant', content: JSON.stringify(answer) },
      {
        role: 'user',
        content: `This plan cannot be used:\n${faults.map((fault) => `- ${fault}`).join('\n')}\nGive a whole new one.`,
      },
    );
  }
  throw new CairnError('PLAN_INVALID', { reason: faults.join('; '), faults });
}

async function askPlanner(
  ctx: NodeContext,
  parts: Parts,
  { goal, faults, messages }: Pick<PlanningTask, 'goal' | 'faults'> & { readonly messages: readonly ModelMessage[] },
): Promise<unknown> {
  const { planner, agents } = parts;
  const described = Object.entries(agents).map(([name, agent]) => ({ name, ...powersOf(agent) }));
  if (typeof planner === 'function')
    return ctx.step('planner', { effect: 'read', input: { goal, faults } }, ({ signal }) =>
      planner({ goal, agents: described, faults, signal }),
    );
  const { model, instructions, settings, calls = {} } = planner as Exclude<Planner, (task: never) => unknown>;
  const form = finalForm(planSchema(Object.keys(agents)), 'mission: plan');
  const own = [guide, ...(instructions === undefined ? [] : [instructions])].join('\n\n');
  const prompt: readonly ModelMessage[] = [
    { role: 'user', content: planningPrompt(goal, described, parts) },
    ...messages,
  ];
  return askOnce(
    ctx,
    { instructions: own, prompt },
    { settings: { model, ...settings, schema: form.json }, form, steps: calls },
  );
}

const guide =
  'You plan work for agents. Give a plan: tasks, each with an id, the agent that does it, all that this agent must know to do it, and the ids of the tasks whose results it needs. Tasks that do not need one another run side by side. Use as few tasks as the goal needs.';

function planningPrompt(goal: string, agents: PlanningTask['agents'], { anchors, limits }: Parts): string {
  const { maxTasks, maxDepth } = { ...defaultLimits, ...limits };
  const lines = agents.map(
    ({ name, description = 'no description', tools }) =>
      `- ${name}: ${description}${tools.length === 0 ? '' : ` (tools: ${tools.map((one) => one.name).join(', ')})`}`,
  );
  return [
    `The goal:\n${goal}`,
    `The agents:\n${lines.join('\n')}`,
    ...(anchors.length === 0 ? [] : [`These tasks must be in the plan:\n${describeAnchors(anchors)}`]),
    `At most ${maxTasks} tasks, and no chain of more than ${maxDepth} that need one another.`,
  ].join('\n\n');
}
