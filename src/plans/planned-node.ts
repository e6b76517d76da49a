/** The node that carries out a plan: a child run with a node for each task, and one for each extension that is allowed (PL2). */
import { CairnError } from '../errors.ts';
import type { EffectClass, NodeContext, StateView } from '../graph/contracts/node-contract.ts';
import { stateOfRun } from '../dialects/approval.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { tool, type ComposedTool } from '../agents/tools/tool-box.ts';
import { asInnerWork, isStronger } from '../graph/effect-strength.ts';
import { draftNode, type NodeDraft, type NodeOptions } from '../nodes/draft/node-draft.ts';
import { runChild } from '../nodes/map-node.ts';
import { approvalSchema, readApproval } from '../schema/approval-answer.ts';
import { compilePlan, depthsOf, planFaults, planHash, planSchema, powersOf, type ExtensionWish, type Plan, type PlanAgents, type PlanTask, type TaskContext } from './plan.ts'; // prettier-ignore

/** How far plans go without a person: `none` (default) asks about each plan and extension, `guided` about those beyond a threshold. */
export type Autonomy = 'none' | 'guided' | 'full';

/** What a `guided` mission does without asking. */
export interface AutonomyThreshold {
  /** The most tasks, extensions included. Default 5. */
  readonly maxTasks?: number;
  /** The strongest effect class of what the agents may do. Default `read`. */
  readonly maxEffect?: EffectClass;
}

/** Bounds of plans. */
export interface PlanLimits {
  /** The most tasks, extensions included. Default 20. */
  readonly maxTasks?: number;
  /** The longest chain of tasks that need one another. Default 8. */
  readonly maxDepth?: number;
  /** The most extensions. Default 3. */
  readonly maxExpansions?: number;
}

/** Configuration of a {@link planned} node. */
export interface PlannedConfig extends PlanLimits {
  readonly agents: PlanAgents;
  /** Told to each agent before its task. */
  readonly goal?: string | ((scope: { readonly state: StateView }) => string);
  /** Whether a person is asked about extensions. The plan itself is asked about with the node's `approval`. Default `none`. */
  readonly autonomy?: Autonomy;
  readonly threshold?: AutonomyThreshold;
}

const configKeys = ['agents', 'goal', 'autonomy', 'threshold', 'maxTasks', 'maxDepth', 'maxExpansions'] as const satisfies readonly (keyof PlannedConfig)[]; // prettier-ignore

export const defaultLimits: Required<PlanLimits> = { maxTasks: 20, maxDepth: 8, maxExpansions: 3 };

/** How much is done without a person. */
interface Freedom {
  readonly autonomy?: Autonomy | undefined;
  readonly threshold?: AutonomyThreshold | undefined;
}

/** Whether a person must be asked about these tasks. @param count - of all tasks of the run, with these */
export function mustAsk(
  tasks: readonly PlanTask[],
  agents: PlanAgents,
  { autonomy = 'none', threshold = {} }: Freedom,
  count: number,
): boolean {
  if (autonomy !== 'guided') return autonomy === 'none';
  const { maxTasks = 5, maxEffect = 'read' } = threshold;
  return count > maxTasks || tasks.some(({ agent }) => isStronger(effectOf(agents, agent), maxEffect));
}

/** The strongest effect class of an agent. A name that no agent has is reported elsewhere. */
function effectOf(agents: PlanAgents, name: string): EffectClass {
  const agent = agents[name];
  return agent === undefined ? 'external' : powersOf(agent).effect;
}

/** @throws CONFIG_INVALID */
export function checkPlanned(
  builder: string,
  { agents, autonomy, threshold, ...limits }: Partial<PlannedConfig>,
): void {
  const refuse = (reason: string): never => {
    throw new CairnError('CONFIG_INVALID', { reason: `${builder}: ${reason}` });
  };
  if (typeof agents !== 'object' || agents === null || Object.keys(agents).length === 0)
    refuse('it needs agents by their names');
  if (![undefined, 'none', 'guided', 'full'].includes(autonomy)) refuse("autonomy must be 'none', 'guided' or 'full'");
  if (threshold !== undefined) refuseUnknownKeys(`${builder}: threshold`, threshold, ['maxTasks', 'maxEffect']);
  if (threshold !== undefined && autonomy !== 'guided') refuse("threshold has no effect unless autonomy is 'guided'");
  for (const name of ['maxTasks', 'maxDepth', 'maxExpansions'] as const) {
    const value = limits[name];
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= (name === 'maxExpansions' ? 0 : 1)))
      refuse(`${name} must be a whole number`);
  }
}

/**
 * Makes a node that carries out the plan that is its input: set `input: ({ state }) => state.outputs.plan`. The plan is checked, compiled and
 * run as a child run; a resume goes on where that stands, and plans nothing. The output is the results of all tasks by their ids. Tasks that
 * agents wish for with {@link extendPlan} run afterwards, as further child runs. Class `read`: tasks have classes of their own.
 * @throws CONFIG_INVALID
 */
export function planned(
  config: PlannedConfig,
  options: NodeOptions = {},
): NodeDraft<never, Readonly<Record<string, unknown>>> {
  refuseUnknownKeys('planned', config, configKeys);
  checkPlanned('planned', config);
  return plannedDraft(config, options);
}

/** @param verified - the plan that was checked against the agents in an earlier node: an agent of it that is not there is gone */
export function plannedDraft(
  config: PlannedConfig,
  options: NodeOptions = {},
  verified?: (state: StateView) => unknown,
): NodeDraft<never, Readonly<Record<string, unknown>>> {
  const { agents, goal, ...bounds } = config;
  const own = { ...config, agents: { ...agents } };
  const powers = Object.entries(agents).map(([name, agent]) => {
    const { effect, tools } = powersOf(agent);
    return { name, effect, tools: tools.map((one) => `${one.name} ${one.effect}`) };
  });
  return draftNode(
    {
      type: 'planned',
      effect: 'read',
      config: { ...bounds, agents: powers, goal: typeof goal === 'function' ? '(computed)' : (goal ?? null) },
      implementation: {
        isComposed: true,
        run: (ctx) => {
          refuseGoneAgents(
            ctx,
            verified?.(ctx.state) ?? (ctx.past.names().has('plan') ? ctx.input : undefined),
            own.agents,
          );
          return new PlannedRun(ctx, own).run();
        },
        inside: Object.values(agents).map((agent) => asInnerWork(powersOf(agent).strength)),
        codeText: Object.values(agents)
          .map((agent) => ('implementation' in agent ? (agent.implementation.codeText ?? '') : ''))
          .join('\n'),
      },
    },
    options,
  );
}

/** One activation of the node. */
class PlannedRun {
  readonly #ctx: NodeContext;
  readonly #config: PlannedConfig;
  #goal: string | undefined;
  /** All tasks so far. */
  #tasks: readonly PlanTask[] = [];
  #results: Readonly<Record<string, unknown>> = {};
  #expansions = 0;

  constructor(ctx: NodeContext, config: PlannedConfig) {
    this.#ctx = ctx;
    this.#config = config;
  }

  async run(): Promise<Readonly<Record<string, unknown>>> {
    const plan = this.#ctx.input as Plan;
    this.#goal = plan?.goal ?? (await this.#goalSet());
    const { maxTasks = defaultLimits.maxTasks, maxDepth = defaultLimits.maxDepth } = this.#config;
    let wishes = await this.#carryOut(plan, 'plan', { maxTasks, maxDepth });
    // Each round uses up one extension, of which there are few.
    while (wishes.length > 0) {
      const later: Wish[] = [];
      for (const wish of wishes) {
        const refusal = await this.#refusalOf(wish);
        if (refusal === undefined)
          later.push(...(await this.#carryOut(wish, `extension ${this.#expansions}`, { maxTasks, maxDepth })));
        else
          this.#ctx.emit(
            { type: 'extension-refused', task: wish.by, reason: refusal },
            { recorded: true, name: 'extension-refused' },
          );
      }
      wishes = later;
    }
    return this.#results;
  }

  /** The goal that the configuration sets. One that is computed is computed once, of the state of the run: the node's own input is a plan. */
  #goalSet(): string | undefined | Promise<string> {
    const { goal } = this.#config;
    if (typeof goal !== 'function') return goal;
    return this.#ctx.step('goal', { effect: 'pure' }, () => goal({ state: stateOfRun(this.#ctx.state) }));
  }

  /** Runs tasks to their end. @returns what their agents wish for, in the order of the tasks */
  async #carryOut(
    { tasks }: Plan,
    name: string,
    bounds: { readonly maxTasks: number; readonly maxDepth: number },
  ): Promise<readonly Wish[]> {
    const done = this.#depths();
    const goal = this.#goal === undefined ? {} : { goal: this.#goal };
    const graph = compilePlan({ tasks }, this.#config.agents, { ...bounds, ...goal, done });
    const { outputs, artifacts } = await runChild(this.#ctx, graph, { results: this.#results }, name);
    this.#tasks = [...this.#tasks, ...tasks];
    this.#results = { ...this.#results, ...Object.fromEntries(tasks.map(({ id }) => [id, outputs[id]])) };
    const extensions = (artifacts['extensions'] ?? {}) as Readonly<Record<string, readonly ExtensionWish[]>>;
    return tasks.flatMap(({ id }) => (extensions[id] ?? []).map((wish) => ({ ...wish, by: id })));
  }

  #depths(): Readonly<Record<string, number>> {
    return Object.fromEntries(depthsOf(this.#tasks).depths);
  }

  /** Why an extension is not run; undefined if it is. A person is asked where that is due. */
  async #refusalOf(wish: Wish): Promise<string | undefined> {
    const { agents, maxTasks = defaultLimits.maxTasks, maxDepth = defaultLimits.maxDepth } = this.#config;
    const { maxExpansions = defaultLimits.maxExpansions, autonomy, threshold } = this.#config;
    if (this.#expansions >= maxExpansions) return `there were ${maxExpansions} extensions, which is the most`;
    const faults = planFaults({ tasks: wish.tasks }, agents, { maxTasks, maxDepth, done: this.#depths() });
    if (faults.length > 0) return faults.join('; ');
    const caller = this.#tasks.find(({ id }) => id === wish.by) as PlanTask;
    const own = effectOf(agents, caller.agent);
    const stronger = wish.tasks.find(({ agent }) => isStronger(effectOf(agents, agent), own));
    const count = this.#tasks.length + wish.tasks.length;
    const needsApproval = stronger !== undefined || mustAsk(wish.tasks, agents, { autonomy, threshold }, count);
    if (needsApproval) {
      const refusal = await this.#ask(wish, stronger);
      if (refusal !== undefined) return refusal;
    }
    this.#expansions += 1;
    return undefined;
  }

  async #ask(wish: Wish, stronger: PlanTask | undefined): Promise<string | undefined> {
    const plan = { tasks: wish.tasks };
    const { agents } = this.#config;
    const why = stronger === undefined ? '' : `\n${stronger.agent} may do more than the agent that asks.`;
    const answer = await this.#ctx.ask({
      name: `extension by ${wish.by}`,
      prompt: `Add these tasks, as ${wish.by} wishes? ${wish.reason}${why}\n${describeTasks(wish.tasks, agents)}`,
      choices: ['approve', 'reject'],
      matching: 'open',
      schema: approvalSchema(undefined, false),
      metadata: { plan, hash: planHash(plan) },
      isApproval: true,
    });
    const { approved, feedback } = readApproval(answer);
    return approved ? undefined : `it was rejected${feedback === undefined ? '' : `: ${feedback}`}`;
  }
}

interface Wish extends ExtensionWish {
  /** The task whose agent wishes for it. */
  readonly by: string;
}

/** @throws RUN_GRAPH_CHANGED the plan was made when there was an agent that is gone */
export function refuseGoneAgents({ runId }: Pick<NodeContext, 'runId'>, plan: unknown, agents: PlanAgents): void {
  const tasks = (plan as Partial<Plan> | null)?.tasks;
  const gone = Array.isArray(tasks)
    ? (tasks as readonly Partial<PlanTask>[]).find(({ agent }) => agent !== undefined && !Object.hasOwn(agents, agent))
    : undefined;
  if (gone === undefined) return;
  const reason = `the agent ${gone.agent} of its task ${gone.id} is gone`;
  throw new CairnError('RUN_GRAPH_CHANGED', { runId, reason });
}

/** The tasks of a plan as lines of text, each with its agent and what that may do. */
export function describeTasks(tasks: readonly PlanTask[], agents: PlanAgents): string {
  return tasks
    .map(({ id, agent, task, needs }) => {
      const { effect } = agents[agent] === undefined ? { effect: 'unknown' } : powersOf(agents[agent]);
      return `- ${id} (${agent}, ${effect})${needs.length === 0 ? '' : ` after ${needs.join(', ')}`}: ${task}`;
    })
    .join('\n');
}

/** The agents that tools of {@link extendPlan} reach, by tool. */
export const reachOf: WeakMap<object, readonly string[]> = new WeakMap();

/**
 * Makes a tool with which an agent wishes for more tasks of its plan. The agent names it among its `tools`; agents that do not cannot extend
 * the plan. The tasks run after those of the plan, if limits and persons allow it; agents that may do more than the caller are always asked
 * about.
 * @param config.agents - names of the agents that the tasks may be for
 * @throws CONFIG_INVALID
 */
export function extendPlan(config: { readonly agents: readonly string[] }): ComposedTool {
  refuseUnknownKeys('extendPlan', config, ['agents']);
  const { agents } = config;
  if (!Array.isArray(agents) || agents.length === 0 || !agents.every((name) => typeof name === 'string'))
    throw new CairnError('CONFIG_INVALID', { reason: 'extendPlan: agents must be a list of names' });
  const form = planSchema(agents) as { readonly properties: object };
  const made = tool({
    description: `Adds tasks that run after yours, if they are allowed. They are done by ${agents.join(', ')}, and may need your task and earlier ones by their ids. You do not get their results.`,
    input: {
      ...form,
      required: ['reason', 'tasks'],
      properties: { reason: { type: 'string', minLength: 1 }, ...form.properties },
    },
    composed: true,
    run: async (wish, ctx) => {
      const { wishForTasks } = ctx as TaskContext;
      if (wishForTasks === undefined) throw new Error('there is no plan here that could be extended');
      await wishForTasks(wish as ExtensionWish);
      return 'Noted. The tasks run after this plan, if they are allowed.';
    },
  });
  reachOf.set(made, agents);
  return made;
}
