/**
 * Limits what one evaluation of an expression may cost. It counts steps and bytes and reads no clock, so an expression that is too costly
 * here is too costly on every machine (T13).
 */

/**
 * The most steps. A step is one evaluated node of the expression, one value it looks at, or 16 characters of text. The limit takes about
 * half a second.
 */
const maxSteps = 5_000_000;

/** The most bytes of the texts, lists and maps that an expression creates. */
const maxBytes = 64 * 1024 * 1024;

/**
 * The most letter comparisons spent on guessing what a mistyped name was meant to be. Guesses are optional and stop when this is used up.
 */
const maxGuessing = 2_000_000;

/** How many characters cost one step. */
const charactersPerStep = 16;

/** Thrown when more is to be spent than remains. */
export class Overdrawn extends Error {}

/** What an evaluation may still spend. Once overdrawn, every further spending throws, so an expression that catches errors cannot go on. */
export class Budget {
  readonly #most: number;
  #steps: number;
  #bytes = maxBytes;
  #guessing = maxGuessing;
  #refusal: Overdrawn | undefined;

  constructor(steps: number = maxSteps) {
    this.#most = steps;
    this.#steps = steps;
  }

  /** The error of the overdraft; undefined if there was none. */
  get refusal(): Overdrawn | undefined {
    return this.#refusal;
  }

  /** @throws Overdrawn */
  takeSteps(count: number): void {
    this.#steps -= count;
    if (this.#steps < 0) throw this.#overdrawn(`it takes over ${this.#most.toLocaleString('en')} steps`);
  }

  /** Pays for looking at a text of this length. @throws Overdrawn */
  takeText(length: number): void {
    this.takeSteps(1 + Math.floor(length / charactersPerStep));
  }

  /** Pays for bytes of new values. @throws Overdrawn */
  takeBytes(count: number): void {
    this.#bytes -= count;
    if (this.#bytes < 0) throw this.#overdrawn(`it makes over ${maxBytes / 1024 / 1024} MiB`);
  }

  /** Pays for a guess at a mistyped name. @returns whether the guess may be made; it never throws */
  takeGuess(cost: number): boolean {
    this.#guessing -= cost;
    return this.#guessing >= 0;
  }

  #overdrawn(reason: string): Overdrawn {
    this.#refusal ??= new Overdrawn(reason);
    return this.#refusal;
  }
}

let current: Budget | undefined;

/** The budget of the evaluation in progress; outside of one, a new budget. */
export function currentBudget(): Budget {
  return current ?? new Budget();
}

/** Makes all evaluations within a synchronous call share one budget. A nested call uses the budget of the outer one. */
export function shareBudget<T>(act: () => T): T {
  const outer = current;
  current = outer ?? new Budget();
  try {
    return act();
  } finally {
    current = outer;
  }
}

/** Makes evaluations within a synchronous call share one budget of so many steps. */
export function withSteps<T>(steps: number, act: () => T): T {
  const outer = current;
  current = new Budget(steps);
  try {
    return act();
  } finally {
    current = outer;
  }
}

/** Shares a budget like {@link shareBudget}. @throws Overdrawn the budget was too small, even if `act` caught the error */
export function withBudget<T>(act: () => T): T {
  return shareBudget(() => {
    const value = act();
    const refusal = current?.refusal;
    if (refusal !== undefined) throw refusal;
    return value;
  });
}
