/** Agents, and the plans and missions that they carry out: the entry point `cairn-workflows/agents`. */
import { createDefaultEngine } from '../app/default-engine.ts';
import { withDefaultEngine } from '../dialects/code/run-options.ts';
import { linearOrchestrator as orchestrate, mission as beginMission } from './mission.ts';

/** Begins a mission: a goal, agents, and a plan. Guide: docs/guide/missions.md. */
export const mission: typeof beginMission = withDefaultEngine(beginMission, createDefaultEngine);
/** A planner, its tasks, and a model that makes the answer, as one mission. Guide: docs/guide/orchestrators.md. */
export const linearOrchestrator: typeof orchestrate = withDefaultEngine(orchestrate, createDefaultEngine);

export {
  compilePlan,
  type ExtensionWish,
  type Plan,
  type PlanAgent,
  type PlanAgents,
  type PlanBounds,
  type PlanOptions,
  type PlanTask,
  type TaskInput,
} from './plan.ts';
export {
  extendPlan,
  planned,
  type Autonomy,
  type AutonomyThreshold,
  type PlanLimits,
  type PlannedConfig,
} from './planned-node.ts';
export type {
  CompiledMission,
  LinearOrchestratorParts,
  Mission,
  MissionLimits,
  MissionResult,
  Planner,
  PlanningTask,
} from './mission.ts';
export type { AnchorOrder } from './anchors.ts';
export * from '../agents/index.ts';
