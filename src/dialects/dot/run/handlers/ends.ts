/** Stages that do no work of their own: the start, diamonds, and the exit, which checks that the goal gates were satisfied. */
import {
  NodeFailure,
  outcome,
  type NodeImplementation,
  type StateView,
  type NodeContext,
} from '../../../../graph/contracts/node-contract.ts';
import { gateTargets } from '../../model/layout.ts';
import type { Pipeline, Stage } from '../../model/pipeline.ts';
import { asText, contextValue, edgeKey, inheritedKey } from '../context/context-reader.ts';
import {
  gateOutcomes,
  type GateOutcomes,
  isSuccess,
  type StageOutcome,
  type StageOutput,
  type StageStatus,
  failuresIn,
  rootMessage,
  type BranchReport,
  type StageFailure,
} from '../stage/stage-outcome.ts';
import { jumpLabel } from '../stage/choose-edge.ts';
import { jumpKey, jumpsMade } from '../stage/stage-node.ts';
import type { StageEnding, StageHandler } from '../stage/attempts.ts';
import type { Graph } from '../../../../graph/graph.ts';

/** Writes the attributes of the graph and the parameters into the context. */
export function startHandler(pipeline: Pipeline): StageHandler {
  return { run: ({ ctx }) => ({ status: 'success', contextUpdates: beginningOf(pipeline, ctx.input) }) };
}

/** The context at the beginning of a run, from its input. */
export function beginningOf({ attributes, params }: Pipeline, input: unknown): Readonly<Record<string, unknown>> {
  const inputs = (input ?? {}) as Readonly<Record<string, unknown>>;
  const own = attributes.entries().map(([name, value]) => [`graph.${name}`, value] as const);
  const values = params.map(({ name, default: initial }) => [`graph.${name}`, inputs[name] ?? initial ?? ''] as const);
  const goal = inputs['goal'] ?? attributes.text('goal');
  return Object.fromEntries([...own, ...values, ['graph.goal', goal]]);
}

/** A diamond passes on the outcome of the stage before it, so that the diamond's edges can test it. */
export const conditionalHandler: StageHandler = {
  run: ({ value }): StageOutcome => {
    const label = asText(value('preferred_label'));
    const reason = asText(value('internal.failure_reason'));
    return {
      status: asText(value('outcome')) || 'success',
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
  const ended = gates.map(({ id }) => [id, statuses[id] ?? 'not visited'] as const);
  const isWhole = failures.length === 0 && ended.every(([, status]) => status === 'success');
  return {
    status: isWhole ? 'success' : 'partial_success',
    gates: Object.fromEntries(ended),
    failures,
    ...(response !== undefined && { last_response: response }),
  };
}

// A pipeline with edges that restart it. Each restart is a new child run, with a fresh context and fresh counters.

/** Id of the node that ends a body's run in order to restart the pipeline at a stage. */
export function restartId(target: string): string {
  return `restart ${target}`;
}

/** Name of the child run that a pipeline is in after so many restarts. */
export function bodyName(restarts: number): string {
  return `run ${restarts}`;
}

/** Computes the context that is added to the input of each run of the body. */
type Beginning = (input: unknown) => Readonly<Record<string, unknown>>;

export interface RestartParts {
  readonly body: Graph;
  /** Stages at which the pipeline may be restarted. */
  readonly targets: readonly string[];
  /** How often it may be restarted at each of them. */
  readonly restartsMax: number;
  /** Computes the context with which each run of the body begins. */
  readonly beginning: Beginning;
}

/** Runs the body again until it reaches the exit, and returns the output of that run. */
export function restartsImplementation(parts: RestartParts): NodeImplementation {
  return { run: (ctx) => runBodies(ctx, parts), codeText: 'restarts' };
}

async function runBodies(ctx: NodeContext, { body, targets, restartsMax, beginning }: RestartParts): Promise<unknown> {
  const made = new Map<string, number>();
  const failures: StageFailure[] = [];
  let entry: string | undefined;
  let edge: unknown;
  for (let restarts = 0; ; restarts += 1) {
    const input = {
      ...(ctx.input as object),
      [inheritedKey]: {
        ...beginning(ctx.input),
        'internal.restart_count': restarts,
        ...(edge !== undefined && { [edgeKey]: edge }),
      },
    };
    const result = await ctx.run(body, input, { name: bodyName(restarts), ...(entry !== undefined && { entry }) });
    const { status, state, error } = result;
    failures.push(...failuresIn(result));
    const report: BranchReport = { failures, isOfRun: true };
    if (status !== 'completed')
      throw new NodeFailure(rootMessage(error), { code: 'STAGE_FAILED', cause: error, data: { ...report } });
    const target = targets.find((one) => Object.hasOwn(state.outputs, restartId(one)));
    if (target === undefined) return withRestarts(state, restarts, failures);
    const count = (made.get(target) ?? 0) + 1;
    if (count > restartsMax)
      throw new NodeFailure(`the pipeline was restarted at ${target} ${restartsMax} times, and would be once more`, {
        code: 'RESTARTS_USED_UP',
        applied: 'no',
        data: { target, restartsMax, ...report },
      });
    made.set(target, count);
    entry = target;
    edge = state.scratch[edgeKey];
  }
}

/** Adds the number of restarts, and the failures of the runs before them, to the result. */
function withRestarts({ outputs }: StateView, restarts: number, failures: readonly unknown[]): unknown {
  const result = outputs['outputs'] as PipelineResult;
  if (restarts === 0) return result;
  return { ...result, ...(failures.length > 0 && { status: 'partial_success' }), failures, restarts };
}
