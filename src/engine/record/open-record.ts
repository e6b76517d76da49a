/** The record of a visit that has begun and not settled. */
import type { Account, NodeRecord } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';

/** Its fields that are the same whatever the visit left behind. */
export function openRecord(activation: Activation): NodeRecord {
  const { frameRun, node } = activation;
  const epoch = frameRun.frame.tree.epoch ?? 0;
  // What earlier visits fired out of a loop, or back, is still to be used: this record stands in their place (G4).
  const held = frameRun.plan.heldBy(node.index);
  const { budget, onBudget } = frameRun.openRecordOf(node) ?? {};
  return {
    status: 'started',
    ...(activation.visit > 1 ? { visits: activation.visit } : {}),
    ...(activation.attempt > 1 ? { attempt: activation.attempt } : {}),
    ...(activation.budgetFrom > 0 ? { budgetFrom: activation.budgetFrom } : {}),
    ...(epoch > 0 ? { epoch } : {}),
    ...(held === undefined ? {} : { held }),
    ...(activation.took === undefined ? {} : { took: activation.took }),
    ...activation.account,
    ...(budget === undefined ? {} : { budget }),
    ...(onBudget === undefined ? {} : { onBudget }),
  };
}

/** What a record says of costs. */
export function accountOf(record: Account | undefined): Pick<Account, 'spent' | 'spared'> | undefined {
  if (record?.spent === undefined && record?.spared === undefined) return undefined;
  const { spent, spared } = record;
  return { ...(spent === undefined ? {} : { spent }), ...(spared === undefined ? {} : { spared }) };
}
