/** The stages of a run that ended, in their order, as prompts tell of them. */
import type { StateView } from '../../../../graph/contracts/node-contract.ts';
import type { StageOutput } from '../stage/stage-outcome.ts';
import { cutMiddle } from './cut.ts';
import { ended } from './tell-branches.ts';

/** A stage that ended, and its outcome. */
interface Ended {
  readonly stage: string;
  readonly outcome: string;
  /** Why it failed. Told of its last visit, whose output the run still has. */
  readonly reason?: string;
}

/** Key in the input of a branch: the newest stages that ended before the branch began. */
const inheritedStagesKey = '~stages';
const inheritedMax = 20;
const reasonMax = 1_000;

/** Stages of this run itself, without those before a branch. */
export function historyOf({ diagnostics }: StateView): readonly Ended[] {
  return (diagnostics['history'] ?? []) as readonly Ended[];
}

/** How many stages are told, and how long the reason of each is. */
export interface StagesAmount {
  readonly stages: number;
  readonly value: number;
}

/** All stages; of a branch those before it, too. */
export function tellStages(state: StateView, amount: StagesAmount): string {
  return told([...inheritedOf(state), ...withReasons(state)], amount);
}

/** The stages of this run from one in its history on. */
export function tellStagesSince(state: StateView, first: number, amount: StagesAmount): string {
  return told(withReasons(state).slice(first), amount);
}

export function inheritedStages(state: StateView): Readonly<Record<string, unknown>> {
  const stages = [...inheritedOf(state), ...withReasons(state)].slice(-inheritedMax);
  const kept = stages.map(({ reason, ...one }) => ({
    ...one,
    ...(reason !== undefined && { reason: cutMiddle(reason, reasonMax) }),
  }));
  return kept.length === 0 ? {} : { [inheritedStagesKey]: kept };
}

function inheritedOf({ input }: StateView): readonly Ended[] {
  return ((input as Readonly<Record<string, unknown>> | undefined)?.[inheritedStagesKey] ?? []) as readonly Ended[];
}

function withReasons(state: StateView): readonly Ended[] {
  const history = historyOf(state);
  const newest = new Map(history.map(({ stage }, index) => [stage, index]));
  return history.map(({ stage, outcome }, index) => {
    const output = state.outputs[stage] as Partial<StageOutput> | undefined;
    const reason = newest.get(stage) === index ? output?.failure_reason : undefined;
    return { stage, outcome, ...(reason !== undefined && { reason }) };
  });
}

function told(stages: readonly Ended[], { stages: count, value }: StagesAmount): string {
  if (count === 0) return '';
  const shown = stages.slice(-count);
  const left = stages.length - shown.length;
  const lines = shown.map(({ stage, outcome, reason }) => `- ${stage}: ${ended(outcome, reason, value)}`);
  return (left > 0 ? [`- ${left} more before`, ...lines] : lines).join('\n');
}
