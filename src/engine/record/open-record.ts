/** The record of a visit that has begun and not settled. */
import type { Account, NodeRecord } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';

/** The fields that do not depend on what the visit has recorded. */
export function openRecord(activation: Activation): NodeRecord {
  const { frameRun, node } = activation;
  const epoch = frameRun.frame.tree.epoch ?? 0;
  // Firings of earlier visits that leave a loop or lead back are still to be used, so this record has to keep them (G4).
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

/** The costs in a record. */
export function accountOf(record: Account | undefined): Pick<Account, 'spent' | 'spared'> | undefined {
  if (record?.spent === undefined && record?.spared === undefined) return undefined;
  const { spent, spared } = record;
  return { ...(spent === undefined ? {} : { spent }), ...(spared === undefined ? {} : { spared }) };
}
