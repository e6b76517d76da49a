/** Tasks that each plan must have, and plans in words for the person who is asked about them (PL3). */
import { depthsOf, draftOfAgent, planHash, powersOf, type Plan, type PlanAgents, type PlanTask } from './plan.ts';
import {
  defaultLimits,
  describeTasks,
  type Autonomy,
  type AutonomyThreshold,
  type PlanLimits,
} from './planned-node.ts';

/** Phases of a mission, in their order. */
export const phases = ['gather', 'process', 'validate', 'deliver'] as const;

/** Where an anchor stands in a plan. */
export interface AnchorOrder {
  /** It comes after all anchors of earlier phases. */
  readonly phase?: (typeof phases)[number];
  /** Ids of tasks that it comes after, directly or through others. */
  readonly after?: readonly string[];
  readonly before?: readonly string[];
}

export interface Anchor extends AnchorOrder {
  readonly id: string;
  readonly agent: string;
}

/** What anchors find wrong with a plan that is sound otherwise. */
export function anchorFaults({ tasks }: Plan, anchors: readonly Anchor[]): readonly string[] {
  const faults: string[] = [];
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const mustFollow = (later: string, earlier: string): void => {
    if (!byId.has(earlier)) faults.push(`${later} must come after ${earlier}, which is no task`);
    else if (!byId.has(later)) faults.push(`${earlier} must come before ${later}, which is no task`);
    else if (!comesAfter(byId, later, earlier))
      faults.push(`${later} must come after ${earlier}: let it need that, directly or through others`);
  };
  for (const { id, agent } of anchors)
    if (byId.get(id)?.agent !== agent) faults.push(`there must be a task with the id ${id}, for the agent ${agent}`);
  if (faults.length > 0) return faults;
  for (const { id, after = [], before = [], phase } of anchors) {
    for (const earlier of after) mustFollow(id, earlier);
    for (const later of before) mustFollow(later, id);
    for (const other of anchors)
      if (phase !== undefined && other.phase !== undefined && phases.indexOf(other.phase) < phases.indexOf(phase))
        mustFollow(id, other.id);
  }
  return [...new Set(faults)];
}

/** Whether a task needs another, directly or through others. */
function comesAfter(byId: ReadonlyMap<string, PlanTask>, later: string, earlier: string): boolean {
  const seen = new Set<string>();
  const open = [later];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    const needs = byId.get(at)?.needs ?? [];
    if (needs.includes(earlier)) return true;
    open.push(...needs);
  }
  return false;
}

export function describeAnchors(anchors: readonly Anchor[]): string {
  return anchors
    .map(({ id, agent, phase, after = [], before = [] }) => {
      const where = [
        ...(phase === undefined ? [] : [`phase ${phase}, after all of earlier phases (${phases.join(', ')})`]),
        ...(after.length === 0 ? [] : [`after ${after.join(', ')}`]),
        ...(before.length === 0 ? [] : [`before ${before.join(', ')}`]),
      ];
      return `- id ${id}, agent ${agent}${where.length === 0 ? '' : `: ${where.join('; ')}`}`;
    })
    .join('\n');
}

/** What is known of a mission besides its plan. */
export interface ExplainedMission {
  readonly name: string;
  readonly agents: PlanAgents;
  readonly anchors: readonly Anchor[];
  readonly limits: PlanLimits & { readonly cost?: number; readonly tokens?: number; readonly seconds?: number };
  readonly autonomy: Autonomy;
  readonly threshold?: AutonomyThreshold;
}

/** A plan as text: tasks, agents with their tools and effect classes, expected cost, and bounds. */
export function explainPlan(
  plan: Plan | undefined,
  { name, agents, anchors, limits, autonomy, threshold = {} }: ExplainedMission,
): string {
  const used = plan === undefined ? Object.keys(agents) : [...new Set(plan.tasks.map(({ agent }) => agent))];
  const { maxTasks, maxDepth, maxExpansions, ...amounts } = { ...defaultLimits, ...limits };
  const bounds = [
    `${maxTasks} tasks`,
    `chains of ${maxDepth}`,
    `${maxExpansions} extensions`,
    ...Object.entries(amounts)
      .filter(([unit]) => unit !== 'onBudget')
      .map(([unit, most]) => `${unit} ${most}`),
  ];
  const { maxTasks: freeTasks = 5, maxEffect = 'read' } = threshold;
  const asks = {
    none: 'about each plan and extension',
    guided: `beyond ${freeTasks} tasks, and about agents that may do more than ${maxEffect}`,
    full: 'about extensions for agents that may do more than the one that asks',
  };
  return [
    plan === undefined
      ? `Mission ${name}: its plan is made when it begins.${anchors.length === 0 ? '' : `\n${describeAnchors(anchors)}`}`
      : `Mission ${name}, plan ${planHash(plan)}: ${plan.tasks.length} tasks, ${Math.max(...depthsOf(plan.tasks).depths.values())} deep\n${describeTasks(plan.tasks, agents)}`,
    `Agents:\n${used
      .filter((one) => Object.hasOwn(agents, one))
      .map((one) => describeAgent(one, agents))
      .join('\n')}`,
    `Expected cost: ${plan === undefined ? 'not known before there is a plan' : expectedCost(plan, agents)}`,
    `Bounds: ${bounds.join(', ')}`,
    `A person is asked ${asks[autonomy]}.`,
  ].join('\n');
}

function describeAgent(name: string, agents: PlanAgents): string {
  const { effect, tools } = powersOf(agents[name] as PlanAgents[string]);
  return `- ${name}: ${effect}${tools.length === 0 ? '' : `; tools ${tools.map((tool) => `${tool.name} (${tool.effect})`).join(', ')}`}`;
}

/** The most that the agents' own budgets let the tasks cost. */
function expectedCost({ tasks }: Plan, agents: PlanAgents): string {
  const costs = tasks.map(({ agent }) =>
    agents[agent] === undefined ? undefined : draftOfAgent(agents[agent]).budget?.['cost'],
  );
  const known = costs.filter((cost) => cost !== undefined);
  const sum = known.reduce((most, cost) => most + cost, 0);
  if (known.length === 0) return 'no agent has a budget for cost of its own';
  const rest = costs.length - known.length;
  return `at most ${sum}${rest === 0 ? '' : `, and ${rest} tasks of agents without a budget for cost`}`;
}
