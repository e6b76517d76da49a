/** Decides which calls of a node's function are accepted: those of the attempt that is running now (X4). */
import { CairnError } from '../../errors.ts';
import { isEffect } from './effect.ts';
import type { Activation } from './frame-run.ts';
import { isInsideStepOf } from './ledger.ts';
import type { RunCore } from './run-core.ts';

/** A promise that never resolves in this attempt, so the function stops where it is. */
export const never = <T>(): Promise<T> => new Promise<T>(() => {});

/**
 * Call before a call of a node's function begins its work: nothing begins once the run was told to stop here (X4.16). If it was cancelled,
 * the call throws why, so that the function can end by itself, and fails whatever it returns. If the run goes on in another process, the
 * call never returns, so that the function cannot take that for an answer (X4.7).
 *
 * @returns what the call returns; undefined if it may begin
 */
export function refusal({ env, standing, runId }: RunCore, activation: Activation): Promise<never> | undefined {
  const isCancelled = standing.isCancelling || (standing.mayFinish && activation.isCancelled);
  if (standing.mayFinish && !activation.isStopped && !isCancelled) return undefined;
  if (!isCancelled) return never();
  const { aborted, reason } = activation.signal;
  const error: unknown = aborted ? reason : new CairnError('RUN_CANCELLED', { runId });
  activation.failure ??= { error };
  const refuse = async (): Promise<never> => {
    // A function that catches this and calls on and on must not hold up the process.
    await env.pace.turn();
    throw error;
  };
  return refuse();
}

/** @throws NODE_CALL_REFUSED the attempt is over, the call is made inside a step, or the node's class does not allow calls */
export function guardCall(activation: Activation, generation: number, call: string): void {
  const refuse = (reason: string): never => {
    throw new CairnError('NODE_CALL_REFUSED', { call, node: activation.path.join('/'), reason });
  };
  if (activation.generation !== generation || activation.phase !== 'running' || activation.isEnding)
    refuse('this attempt is over');
  if (call !== 'step' && isInsideStepOf(activation))
    refuse('it is called inside a step, which is recorded as a whole; call it beside the step');
  if (activation.isCancelled) refuse('it was cancelled, since a join needs it no more');
  if (!activation.knowsRetired && activation.frameRun.openRecordOf(activation.node)?.retired !== undefined)
    refuse('earlier calls were retired; read ctx.retired before the first call, it says where to go on from');
  if (call !== 'emit' && isEffect(activation.node))
    refuse(
      `a node of class ${activation.node.effect} cannot be composed; make it read, and its steps ${activation.node.effect}`,
    );
}
