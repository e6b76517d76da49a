/**
 * Accounts: the cost of an attempt is recorded together with its end, and added to the accounts of its step, its visit, its run, and
 * everything around these.
 */
import { recordPathOf } from './node-path.ts';
import { CairnError } from '../../errors.ts';
import { addAmounts, amountsFault, hasAmounts, lessAmounts, unitsFault, type Amounts } from '../../graph/amounts.ts';
import type { Account } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import type { Charge, Payer } from '../live-run/attempt-scope.ts';
import type { RunCore } from '../live-run/run-core.ts';

/** Adds a cost that an attempt reports. @throws NODE_CALL_REFUSED the attempt is over, or the amounts are invalid */
export function spend(core: RunCore, charge: Charge, amounts: Amounts): void {
  const reported = addAmounts(core.root.frame.spent, charge.spent);
  const isOver = charge.isOver || charge.activation.isOver;
  const reason = isOver ? 'this attempt is over' : (amountsFault(amounts) ?? unitsFault(reported, amounts));
  if (reason !== undefined)
    throw new CairnError('NODE_CALL_REFUSED', { call: 'spend', node: charge.activation.path.join('/'), reason });
  charge.spent = addAmounts(charge.spent, amounts);
  core.ledger.open(charge);
  core.env.monitor?.spent(core.rootFrame.graph.id, amounts);
}

/** Records the cost of an attempt. Call it together with recording the attempt's end. */
export function book(core: RunCore, charge: Charge | undefined): void {
  if (charge === undefined) return;
  core.ledger.close(charge);
  const { spent, step, activation } = charge;
  if (spent === undefined) return;
  charge.spent = undefined;
  if (step !== undefined) step.account = { ...step.account, spent: addAmounts(step.account?.spent, spent) };
  addToVisit(core, activation, 'spent', spent);
}

/** Records the cost of everything in progress in an activation and below it, because all of it ends with the activation. */
export function bookAll(core: RunCore, activation?: Activation): void {
  for (const charge of core.ledger.charges(activation)) book(core, charge);
}

/** What an effort cost where it was recorded, including what that record itself took over. */
export function costOf({ spent, spared }: Account): Amounts {
  return addAmounts(spent, spared);
}

/** Counts the cost of a record that a fork takes over as `spared`, without what the fork's own state contains of it already. */
export function bookSpared(core: RunCore, activation: Activation, step: Payer | undefined, taken: Account): void {
  const had = step === undefined ? activation.account : step.account;
  const spared = lessAmounts(costOf(taken), had && costOf(had));
  if (!hasAmounts(spared)) return;
  if (step !== undefined) step.account = { ...step.account, spared: addAmounts(step.account?.spared, spared) };
  addToVisit(core, activation, 'spared', spared);
}

/** Adds to the accounts of a visit and its run and, for a child run, of everything around it. */
function addToVisit(core: RunCore, activation: Activation, what: 'spent' | 'spared', amounts: Amounts): void {
  for (let at: Activation | undefined = activation; at !== undefined; at = at.frameRun.starter) {
    const { frameRun, node } = at;
    const ofVisit = addAmounts(at.account?.[what], amounts);
    at.account = { ...at.account, [what]: ofVisit };
    // A visit without a record gets its account together with the record.
    if (frameRun.openRecordOf(node) !== undefined) core.draft.set([...recordPathOf(at.path), what], ofVisit);
    const ofRun = addAmounts(frameRun.frame.tree[what], amounts);
    frameRun.frame.setField(what, [], ofRun, JSON.stringify(ofRun));
  }
}

/** The costs in a record. */
export function accountOf(record: Account | undefined): Pick<Account, 'spent' | 'spared'> | undefined {
  if (record?.spent === undefined && record?.spared === undefined) return undefined;
  const { spent, spared } = record;
  return { ...(spent === undefined ? {} : { spent }), ...(spared === undefined ? {} : { spared }) };
}
