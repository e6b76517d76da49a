/** Runs a `Mission` block: builds the mission that its inputs describe, and runs it as a child run. */
import { NodeFailure } from '../graph/contracts/node-contract.ts';
import type { Inputs, NodeType, TypedNodeContext } from '../graph/contracts/node-type.ts';
import { agent } from '../agents/agent.ts';
import { agentConfig } from '../agents/block/run-agent.ts';
import { readText } from '../nodes/blocks/block-options.ts';
import { mission, type MissionLimits, type Planner } from './mission.ts';
import type { Plan } from './plan.ts';
import type { Autonomy } from './planned-node.ts';

interface MissionParts {
  readonly blocks: ReadonlyMap<string, NodeType>;
  readonly goal: string;
  readonly agents: Readonly<Record<string, Inputs>>;
  readonly planner: Planner | undefined;
  readonly plan: Plan | undefined;
  readonly autonomy: Autonomy;
  readonly limits: MissionLimits;
}

/** @returns the fields of the block. @throws NodeFailure CHILD_FAILED */
export async function runMission(
  ctx: TypedNodeContext,
  { blocks, goal, agents, planner, plan, autonomy, limits }: MissionParts,
): Promise<unknown> {
  const drafts = Object.entries(agents).map(([name, inputs]) => {
    const description = readText(inputs, 'description') ?? name;
    return [name, agent({ ...agentConfig(blocks, withInputs(ctx, inputs)), description })] as const;
  });
  const begun = mission('mission').goal(goal).agents(Object.fromEntries(drafts)).autonomy(autonomy).limits(limits);
  const whole = planner === undefined ? begun.plan(plan as Plan) : begun.planner(planner);
  const { status, state, error } = await ctx.run(whole.toGraph(), {}, { name: 'mission' });
  if (status !== 'completed')
    throw new NodeFailure(`the mission failed${error === undefined ? '' : `: ${error.message}`}`, {
      code: 'CHILD_FAILED',
      cause: error,
    });
  const approved = (state.outputs['work?'] as { readonly input?: unknown } | undefined)?.input;
  return { results: state.outputs['work'], plan: approved ?? state.outputs['plan'] };
}

/** The context of the block as that of one of its agents. */
function withInputs(ctx: TypedNodeContext, inputs: Inputs): TypedNodeContext {
  return new Proxy(ctx, {
    get(target, key) {
      if (key === 'inputs') return inputs;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
