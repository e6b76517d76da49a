/** Accounts: what an attempt has cost is added, with the record of its end, to its step's, its visit's and its run's, and to those around it. */
import { CairnError } from '../../errors.ts';
import { addAmounts, amountsFault, hasAmounts, lessAmounts, unitsFault, type Amounts } from '../../graph/amounts.ts';
import type { Account } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';
import type { Charge, Payer } from '../run/ledger.ts';
import type { RunCore } from '../run/run-core.ts';
import { recordPathOf } from './tree-path.ts';

/** What an attempt says that it has cost. @throws NODE_CALL_REFUSED it is over, or these are no amounts */
export function spend(core: RunCore, charge: Charge, amounts: Amounts): void {
  const told = addAmounts(core.root.frame.spent, charge.spent);
  const isOver = charge.isOver || charge.activation.isOver;
  const reason = isOver ? 'this attempt is over' : (amountsFault(amounts) ?? unitsFault(told, amounts));
  if (reason !== undefined)
    throw new CairnError('NODE_CALL_REFUSED', { call: 'spend', node: charge.activation.path.join('/'), reason });
  charge.spent = addAmounts(charge.spent, amounts);
  core.ledger.open(charge);
}

/** Records what an attempt has cost: call it together with what records its end. */
export function book(core: RunCore, charge: Charge | undefined): void {
  if (charge === undefined) return;
  core.ledger.close(charge);
  const { spent, step, activation } = charge;
  if (spent === undefined) return;
  charge.spent = undefined;
  if (step !== undefined) step.account = { ...step.account, spent: addAmounts(step.account?.spent, spent) };
  addToVisit(core, activation, 'spent', spent);
}

/** Records what is under way in an activation and below it: whatever of it has not ended is over with it. */
export function bookAll(core: RunCore, activation?: Activation): void {
  for (const charge of core.ledger.charges(activation)) book(core, charge);
}

/** What an effort cost where it was recorded, there and where that was taken over from. */
export function costOf({ spent, spared }: Account): Amounts {
  return addAmounts(spent, spared);
}

/** Counts as spared what a record cost that a fork takes over, but for what the fork's own state has of it. */
export function bookSpared(core: RunCore, activation: Activation, step: Payer | undefined, taken: Account): void {
  const had = step === undefined ? activation.account : step.account;
  const spared = lessAmounts(costOf(taken), had && costOf(had));
  if (!hasAmounts(spared)) return;
  if (step !== undefined) step.account = { ...step.account, spared: addAmounts(step.account?.spared, spared) };
  addToVisit(core, activation, 'spared', spared);
}

/** Adds to the accounts of a visit and of the run it is in, and, of a child run, to those around it. */
function addToVisit(core: RunCore, activation: Activation, what: 'spent' | 'spared', amounts: Amounts): void {
  for (let at: Activation | undefined = activation; at !== undefined; at = at.frameRun.starter) {
    const { frameRun, node } = at;
    const ofVisit = addAmounts(at.account?.[what], amounts);
    at.account = { ...at.account, [what]: ofVisit };
    // One that has no record yet gets it there with the record.
    if (frameRun.openRecordOf(node) !== undefined) core.draft.set([...recordPathOf(at.path), what], ofVisit);
    const ofRun = addAmounts(frameRun.frame.tree[what], amounts);
    frameRun.frame.setField(what, [], ofRun, JSON.stringify(ofRun));
  }
}
