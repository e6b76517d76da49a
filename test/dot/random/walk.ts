/** A walk over the stages of a random pipeline: where it stands, where it leads, and what it comes to. It shares nothing with the product. */
import { chooseWay, type Context, type Ending } from './choose-way.ts';
import type { EdgePlan, PipelinePlan, StagePlan } from './pipeline-plan.ts';

export interface Failure {
  readonly stage: string;
  readonly led_to: string | null;
}

/** What the result of a run, its failures without their reasons, must be. */
export interface PipelineEnd {
  readonly status: string;
  readonly gates: Readonly<Record<string, string>>;
  readonly failures: readonly Failure[];
  readonly restarts?: number;
}

/** How a run ends: with its result, or for a reason that names what is in `because`. */
export interface RunEnd {
  readonly result?: PipelineEnd;
  readonly because?: readonly string[];
  /** What failed in it, also where it did not come to its exit. */
  readonly failures: readonly Failure[];
  /** The stages that ended, with their outcomes, and the context at the end. Of a pipeline that restarts, those of its newest run. */
  readonly history: readonly string[];
  readonly context: Context;
}

/** A run that another stage may look at and speak to. */
export interface Sight {
  /** Its newest run of stages, and what failed in those before. */
  walk?: Walk;
  readonly before: Failure[];
  /** What it was told and no stage has heard. */
  readonly words: string[];
}

/** Why a walk ends short of its goal: in the stage, for a reason that names these. */
export class Stopped extends Error {
  readonly stage: string;
  readonly because: readonly string[];

  constructor(stage: string, because: readonly string[]) {
    super(because.join(' '));
    this.stage = stage;
    this.because = because;
  }
}

/** One run of stages: a pipeline's, or that of a branch. */
export interface Walk {
  readonly plan: PipelinePlan;
  readonly context: Context;
  readonly restarts: number;
  /** Where a branch ends. */
  readonly join?: string;
  /** The stages among which it may jump; undefined: all. */
  readonly inside?: ReadonlySet<string>;
  readonly visits: Map<string, number>;
  readonly jumps: Map<string, number>;
  readonly gates: Map<string, string>;
  readonly failures: Failure[];
  readonly history: string[];
  /** The stage that ended last. */
  current: string;
  /** Of the run that it is part of, and of those around it, the nearest first. */
  readonly sights: readonly Sight[];
}

export const isGood = (status: string | undefined): boolean => status === 'success' || status === 'partial_success';

export function begin(
  plan: PipelinePlan,
  { context, restarts, sights }: Pick<Walk, 'context' | 'restarts' | 'sights'>,
): Walk {
  const counts = { visits: new Map<string, number>(), jumps: new Map<string, number>() };
  return { plan, context, restarts, sights, ...counts, gates: new Map(), failures: [], history: [], current: '' };
}

export function stageOf({ stages }: PipelinePlan, id: string): StagePlan {
  const stage = stages.find((one) => one.id === id);
  if (stage === undefined) throw new Error(`there is no stage ${id}`);
  return stage;
}

/** Where a stage leads, along an edge or back to a retry target; or why the run fails there. */
export function leave(walk: Walk, stage: StagePlan, ending: Ending): Leaving {
  const { plan, context, inside } = walk;
  const { id, join } = stage;
  // From a parallel stage the run goes on at the join, which decides about failures itself.
  if (join !== undefined) return { to: join };
  const isStage = (id: string): boolean => plan.stages.some((one) => one.id === id);
  const own = plan.edges.filter(({ from }) => from === id);
  const edge = chooseWay(own, ending, context, (to) => plan.stages.find((one) => one.id === to)?.kind);
  if (edge !== undefined) return { to: edge.to, edge };
  if (ending.status !== 'fail') return { to: '', because: [id, 'ended with'] };
  const targets = [stage.attributes['retry_target'], stage.attributes['fallback_retry_target']].map(String);
  const known = targets.filter((target) => isStage(target) && inside?.has(target) !== false);
  const target = takeJump(walk, id, known);
  if (target === undefined) return { to: '', because: ending.reason === undefined ? [id] : [ending.reason] };
  return { to: target };
}

interface Leaving {
  readonly to: string;
  readonly edge?: EdgePlan;
  readonly because?: readonly string[];
}

/** The first target that was not jumped to too often, and counts the jump. */
function takeJump({ plan, jumps }: Walk, from: string, targets: readonly string[]): string | undefined {
  const most = Number(plan.attributes['max_retry_jumps'] ?? 10);
  const target = targets.find((one) => (jumps.get(`${from} ${one}`) ?? 0) < most);
  if (target !== undefined) jumps.set(`${from} ${target}`, (jumps.get(`${from} ${target}`) ?? 0) + 1);
  return target;
}

const gatesOf = ({ stages }: PipelinePlan): readonly StagePlan[] =>
  stages.filter(({ attributes }) => attributes['goal_gate'] === true);

/** At the exit: where an unsatisfied gate leads back to; undefined: all that were visited are satisfied. @throws Stopped */
export function wayBack(walk: Walk): string | undefined {
  const { plan, gates, failures } = walk;
  const open = gatesOf(plan).find(({ id }) => gates.has(id) && !isGood(gates.get(id)));
  if (open === undefined) return undefined;
  const targets = [open, plan].flatMap(({ attributes }) =>
    ['retry_target', 'fallback_retry_target'].flatMap((name) => (name in attributes ? [String(attributes[name])] : [])),
  );
  const known = [...new Set(targets)].filter((target) => plan.stages.some(({ id }) => id === target));
  const target = takeJump(walk, `exit for ${open.id}`, known);
  if (target === undefined) throw new Stopped('exit', ['the goal gate', open.id]);
  failures.push({ stage: open.id, led_to: target });
  return target;
}

export function resultOf({ plan, gates }: Walk, failures: readonly Failure[], restarts: number): PipelineEnd {
  const told = gatesOf(plan).map(({ id }) => [id, gates.get(id) ?? 'not visited'] as const);
  const isWhole = failures.length === 0 && told.every(([, status]) => status === 'success');
  return {
    status: isWhole ? 'success' : 'partial_success',
    gates: Object.fromEntries(told),
    failures,
    ...(restarts > 0 && { restarts }),
  };
}
