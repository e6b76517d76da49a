/** Decides which calls of a node's function are accepted: those of the attempt that is running now (X4). */
import { CairnError } from '../../errors.ts';
import { isEffect } from './effect.ts';
import type { Activation } from './frame-run.ts';
import { isInsideStepOf } from './ledger.ts';

/** A promise that never resolves in this attempt, so the function stops where it is. */
export const never = <T>(): Promise<T> => new Promise<T>(() => {});

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
