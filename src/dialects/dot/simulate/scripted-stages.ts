/** Handlers that end as a scenario says. They replace the handlers that would have effects outside. */
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import { typeOfShape } from '../model/pipeline.ts';
import type { StageHandler } from '../run/stage/stage-parts.ts';
import type { StageOutcome } from '../run/stage/stage-outcome.ts';
import type { Scenario, ScriptedEnd } from './scenario.ts';

/** Types of stages that do no work of their own: they end as the stages around them do. */
const derived: ReadonlySet<string> = new Set(['start', 'exit', 'conditional', 'parallel', 'parallel.fan_in']);

/** Whether a scenario decides how stages of this type end. */
export function isScripted(type: string): boolean {
  return !derived.has(type);
}

export interface ScriptedStages {
  readonly handlers: Readonly<Record<string, StageHandler>>;
  /** The answer to a stage's next question. Undefined means that the scenario has none, null that nobody answers in time. */
  readonly nextAnswer: (stage: string) => string | null | undefined;
  /** Stages for which the scenario has more ends than there were attempts. */
  readonly unused: () => readonly string[];
}

/** @param types - types for which the user has handlers */
export function scriptStages({ stages }: Scenario, types: readonly string[]): ScriptedStages {
  const counts = new Map<string, number>();
  const next = (stage: string): ScriptedEnd | undefined => {
    const count = counts.get(stage) ?? 0;
    counts.set(stage, count + 1);
    const ends = stages[stage] ?? [];
    return ends[count] ?? ends.at(-1);
  };
  const scripted: StageHandler = {
    effect: 'read',
    isIdempotent: () => true,
    run: ({ parts: { stage } }) => outcomeOf(next(stage.id)),
  };
  const replaced = [...new Set([...typeOfShape.values(), ...types])].filter(
    (type) => isScripted(type) && type !== 'wait.human',
  );
  return {
    handlers: Object.fromEntries(replaced.map((type) => [type, scripted])),
    nextAnswer: (stage) => {
      const end = next(stage);
      if (end === undefined || 'answer' in end) return end?.answer;
      return 'outcome' in end ? (end.outcome.preferredLabel ?? null) : null;
    },
    unused: () =>
      Object.entries(stages).flatMap(([stage, ends]) => ((counts.get(stage) ?? 0) < ends.length ? [stage] : [])),
  };
}

function outcomeOf(end: ScriptedEnd | undefined): StageOutcome {
  if (end === undefined) return { status: 'success' };
  if ('outcome' in end) return end.outcome;
  if ('error' in end) throw new NodeFailure(end.error, { code: 'SIMULATED', applied: 'ended' });
  return end.answer === null
    ? { status: 'fail', failureReason: 'nobody answers' }
    : { status: 'success', preferredLabel: end.answer };
}
