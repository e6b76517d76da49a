/** The costs of attempts in progress. They are kept in memory, and recorded together with the end of the attempt. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Amounts, AtMost } from '../../graph/amounts.ts';
import type { Account } from '../../state/tree.ts';
import type { Activation } from './frame-run.ts';

/** An account that gets an attempt's cost in addition to those of its visit and its run: the account of a step. */
export interface Payer {
  account: Account | undefined;
}

/** The costs of one attempt of a visit or step. */
export class Charge {
  readonly activation: Activation;
  /** Undefined if the attempt is the visit's own. */
  readonly step: Payer | undefined;
  /** The most that it spends, which is reserved while it runs. */
  readonly atMost: AtMost | undefined;
  spent: Amounts | undefined;
  /** Whether its end is recorded or never will be, so that it can spend nothing more. */
  isOver = false;

  constructor(activation: Activation, step?: Payer, atMost?: AtMost) {
    this.activation = activation;
    this.step = step;
    this.atMost = atMost;
  }
}

/** One for each run being advanced: the attempts that have spent something or have a limit, in the order in which they began to. */
export class Ledger {
  readonly #open = new Set<Charge>();
  readonly #waiting: (() => void)[] = [];
  #isChanged = false;

  open(charge: Charge): void {
    this.#open.add(charge);
  }

  close(charge: Charge): void {
    charge.isOver = true;
    if (this.#open.delete(charge)) this.#isChanged = true;
  }

  /** Calls back when a budget was raised or an attempt has ended, for work that a budget keeps from starting. */
  whenChanged(look: () => void): void {
    this.#waiting.push(look);
  }

  /** Notes that a budget has changed. */
  change(): void {
    this.#isChanged = true;
  }

  /** Makes these callbacks, once for each turn, if something has changed. */
  lookAgain(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    for (const look of this.#waiting.splice(0)) look();
  }

  /** All costs in progress, or those of an activation and of child runs below it. */
  charges(below?: Activation): readonly Charge[] {
    if (this.#open.size === 0) return [];
    return [...this.#open].filter(({ activation }) => below === undefined || isBelow(activation, below));
  }

  /** The account for a call of an activation's function: that of the step it is made in, or the visit's own. */
  chargeOf(activation: Activation): Charge {
    const inside = current.getStore();
    return inside?.activation === activation ? inside : (this.ownOf(activation) ?? new Charge(activation));
  }

  /** What the attempt of a visit has spent outside of its steps. */
  ownOf(activation: Activation): Charge | undefined {
    if (this.#open.size === 0) return undefined;
    return [...this.#open].find((charge) => charge.activation === activation && charge.step === undefined);
  }
}

function isBelow(activation: Activation, top: Activation): boolean {
  for (let at: Activation | undefined = activation; at !== undefined; at = at.frameRun.starter)
    if (at === top) return true;
  return false;
}

const current = new AsyncLocalStorage<Charge>();

/** Calls a step's function so that calls made by it, now or later, are recognised as coming from this step. */
export function callInsideStep<T>(charge: Charge, call: () => T): T {
  return current.run(charge, call);
}

/**
 * Whether a call is made inside of a step's function. Such a call must not wait, because a step is recorded as a whole and cannot be
 * resumed in the middle.
 */
export function isInsideStepOf(activation: Activation): boolean {
  return current.getStore()?.activation === activation;
}
