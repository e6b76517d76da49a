/** Stages that do no work of their own: the start, diamonds, and the exit, which checks that the goal gates were satisfied. */
import {
  NodeFailure,
  outcome,
  type NodeImplementation,
  type StateView,
} from '../../../../graph/contracts/node-contract.ts';
import { gateTargets } from '../../model/layout.ts';
import type { Pipeline, Stage } from '../../model/pipeline.ts';
import { asText, contextValue, edgeKey } from '../context/context-keys.ts';
import { gateOutcomes, type GateOutcomes } from '../stage/gate-outcomes.ts';
import { jumpLabel } from '../stage/choose-edge.ts';
import { jumpKey, jumpsMade } from '../stage/stage-node.ts';
import type { StageEnding, StageHandler } from '../stage/stage-parts.ts';
import { isSuccess, type StageOutcome, type StageOutput, type StageStatus } from '../stage/stage-outcome.ts';

/** Writes the attributes of the graph and the parameters into the context. */
export function startHandler(pipeline: Pipeline): StageHandler {
  return { run: ({ ctx }) => ({ status: 'success', contextUpdates: beginningOf(pipeline, ctx.input) }) };
}

/** The context at the beginning of a run, from its input. */
export function beginningOf({ attributes, params }: Pipeline, input: unknown): Readonly<Record<string, unknown>> {
  const given = (input ?? {}) as Readonly<Record<string, unknown>>;
  const own = attributes.entries().map(([name, value]) => [`graph.${name}`, value] as const);
  const values = params.map(({ name, default: initial }) => [`graph.${name}`, given[name] ?? initial ?? ''] as const);
  const goal = given['goal'] ?? attributes.text('goal');
  return Object.fromEntries([...own, ...values, ['graph.goal', goal]]);
}

/** A diamond passes on the outcome of the stage before it, so that the diamond's edges can test it. */
export const conditionalHandler: StageHandler = {
  run: ({ value }): StageOutcome => {
    const label = asText(value('preferred_label'));
    const reason = asText(value('internal.failure_reason'));
    return {
      status: (asText(value('outcome')) || 'success') as StageStatus,
      ...(label !== '' && { preferredLabel: label }),
      ...(reason !== '' && { failureReason: reason }),
    };
  },
};

/** The result of a run. */
export interface PipelineResult {
  /** `partial_success`: the run reached the exit, but something failed on the way, or a goal gate was never visited. */
  readonly status: 'success' | 'partial_success';
  /** How each goal gate ended. `not visited` means that the run took a way around it. */
  readonly gates: Readonly<Record<string, StageStatus | 'not visited'>>;
  /** The stages that failed, in order, and where the run went on from each. */
  readonly failures: readonly unknown[];
  readonly last_response?: unknown;
  /** How often an edge restarted the pipeline, if one did. */
  readonly restarts?: number;
}

/** The output of the exit: the result, or the unsatisfied gate with the stage to which it sends the run back. */
interface ExitOutput {
  readonly outcome: StageStatus;
  readonly gate?: string;
  readonly jump?: string;
  readonly result?: PipelineResult;
}

export interface ExitParts {
  readonly id: string;
  readonly pipeline: Pipeline;
  readonly gates: readonly Stage[];
  readonly jumpsMax: number;
  readonly watchBegin: ((stage: string) => void) | undefined;
  readonly watch: ((ending: StageEnding) => void) | undefined;
}

export function exitImplementation(parts: ExitParts): NodeImplementation {
  return {
    run: ({ state }) => {
      parts.watchBegin?.(parts.id);
      const statuses = gateOutcomes(
        state,
        parts.gates.map(({ id }) => id),
      );
      const open = parts.gates.find(({ id }) => statuses[id] !== undefined && !isSuccess(statuses[id]));
      const tell = (to: string | undefined, reason?: string): void =>
        parts.watch?.({
          stage: parts.id,
          outcome: reason === undefined ? 'success' : 'fail',
          ...(reason !== undefined && { reason }),
          edge: undefined,
          to,
        });
      if (open === undefined) {
        tell(undefined);
        return outcome({
          output: { outcome: 'success', result: resultOf(state, parts, statuses) } satisfies ExitOutput,
        });
      }
      const target = gateTargets(parts.pipeline, open).find(
        (one) => parts.pipeline.stages.has(one) && jumpsMade(state, parts.id, `${open.id}.${one}`) < parts.jumpsMax,
      );
      const reason = (state.outputs[open.id] as StageOutput | undefined)?.failure_reason;
      const why = `the goal gate ${open.id} ended with ${String(statuses[open.id])}${reason === undefined ? '' : `: ${reason}`}`;
      tell(target, why);
      if (target === undefined)
        throw new NodeFailure(why, {
          code: 'GATE_UNSATISFIED',
          applied: 'no',
          data: { gate: open.id, gates: statuses },
        });
      const key = jumpKey(parts.id, `${open.id}.${target}`);
      return outcome({
        output: { outcome: 'fail', gate: open.id, jump: target } satisfies ExitOutput,
        scratch: {
          [key]: jumpsMade(state, parts.id, `${open.id}.${target}`) + 1,
          [edgeKey]: jumpLabel(target),
          'internal.gate': why,
        },
        diagnostics: { failures: [{ stage: open.id, reason: why, led_to: target }] },
      } as never);
    },
    codeText: 'exit',
  };
}

function resultOf(state: StateView, { gates }: ExitParts, statuses: GateOutcomes): PipelineResult {
  const failures = (state.diagnostics['failures'] ?? []) as readonly unknown[];
  const response = contextValue(state, 'last_response');
  const told = gates.map(({ id }) => [id, statuses[id] ?? 'not visited'] as const);
  const isWhole = failures.length === 0 && told.every(([, status]) => status === 'success');
  return {
    status: isWhole ? 'success' : 'partial_success',
    gates: Object.fromEntries(told),
    failures,
    ...(response !== undefined && { last_response: response }),
  };
}
