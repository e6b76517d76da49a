/** What attempts under way have cost so far: it is in memory until the end of the attempt is recorded, and is recorded with it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Amounts, AtMost } from '../../graph/amounts.ts';
import type { Account } from '../../state/tree.ts';
import type { Activation } from './frame-run.ts';

/** Whose own account an attempt's spending goes to, beside those of its visit and its run: a step's. */
export interface Payer {
  account: Account | undefined;
}

/** One attempt of a visit or of a step, as it spends. */
export class Charge {
  readonly activation: Activation;
  /** Undefined: the attempt is the visit's own. */
  readonly step: Payer | undefined;
  /** The most that it spends: reserved while it is under way. */
  readonly atMost: AtMost | undefined;
  spent: Amounts | undefined;
  /** Its end is recorded, or never will be: it cannot spend any more. */
  isOver = false;

  constructor(activation: Activation, step?: Payer, atMost?: AtMost) {
    this.activation = activation;
    this.step = step;
    this.atMost = atMost;
  }
}

/** One per advancing run: the attempts that have spent something, or may spend no more than so much, in the order in which they began to. */
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

  /** What a budget keeps from beginning is looked at again when one has been raised, or an attempt has ended. */
  whenChanged(look: () => void): void {
    this.#waiting.push(look);
  }

  /** A budget has changed. */
  change(): void {
    this.#isChanged = true;
  }

  /** Looks again, once a turn, if there is reason to. */
  lookAgain(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    for (const look of this.#waiting.splice(0)) look();
  }

  /** Of all, or of an activation and of the child runs below it. */
  charges(below?: Activation): readonly Charge[] {
    if (this.#open.size === 0) return [];
    return [...this.#open].filter(({ activation }) => below === undefined || isBelow(activation, below));
  }

  /** Whom a call of an activation's function spends for: the step it is made in, or the visit's own attempt. */
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

/** Calls a step's function, so that what it calls, now or later, is known to come from there. */
export function callInsideStep<T>(charge: Charge, call: () => T): T {
  return current.run(charge, call);
}

/** Whether a call is made from inside a step's function: what it would wait for could never be resumed, since a step is recorded as a whole. */
export function isInsideStepOf(activation: Activation): boolean {
  return current.getStore()?.activation === activation;
}
