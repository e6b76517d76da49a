/** A pipeline with edges that restart it. Each restart is a new child run, with a fresh context and fresh counters. */
import type { Graph } from '../../../../graph/graph.ts';
import {
  NodeFailure,
  type NodeContext,
  type NodeImplementation,
  type StateView,
} from '../../../../graph/contracts/node-contract.ts';
import { edgeKey, inheritedKey } from '../context/context-keys.ts';
import type { PipelineResult } from './ends.ts';
import { failuresIn, rootMessage } from '../stage/failures-in.ts';
import type { ToldOfBranches } from '../stage/gate-outcomes.ts';
import type { StageFailure } from '../stage/stage-outcome.ts';

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
    const told: ToldOfBranches = { failures, isOfRun: true };
    if (status !== 'completed')
      throw new NodeFailure(rootMessage(error), { code: 'STAGE_FAILED', cause: error, data: { ...told } });
    const target = targets.find((one) => Object.hasOwn(state.outputs, restartId(one)));
    if (target === undefined) return withRestarts(state, restarts, failures);
    const count = (made.get(target) ?? 0) + 1;
    if (count > restartsMax)
      throw new NodeFailure(`the pipeline was restarted at ${target} ${restartsMax} times, and would be once more`, {
        code: 'RESTARTS_USED_UP',
        applied: 'no',
        data: { target, restartsMax, ...told },
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
