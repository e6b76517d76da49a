/** What one evaluation may cost. Steps and bytes are counted, no clock is read: what is too much here is too much on every machine (T13). */

/** A step is a node of the expression that is evaluated, or a value or sixteen characters that it looks at. About half a second. */
const maxSteps = 5_000_000;

/** Of the texts, lists and maps that it makes. */
const maxBytes = 64 * 1024 * 1024;

/** Comparisons of letters for guesses at what was meant: a courtesy, which is shown while there is time for it. */
const maxGuessing = 2_000_000;

/** How much of a text costs as much as a step. */
const charactersPerStep = 16;

/** More was to be spent than there is. */
export class Overdrawn extends Error {}

/** What may still be spent. Once it is overdrawn, whatever is spent throws: nothing that catches errors goes on. */
export class Budget {
  #steps = maxSteps;
  #bytes = maxBytes;
  #guessing = maxGuessing;
  #refusal: Overdrawn | undefined;

  /** Why there is nothing left, if so. */
  get refusal(): Overdrawn | undefined {
    return this.#refusal;
  }

  /** @throws Overdrawn */
  takeSteps(count: number): void {
    this.#steps -= count;
    if (this.#steps < 0) throw this.#overdrawn(`it takes over ${maxSteps.toLocaleString('en')} steps`);
  }

  /** Pays for looking at a text. @throws Overdrawn */
  takeText(length: number): void {
    this.takeSteps(1 + Math.floor(length / charactersPerStep));
  }

  /** Pays for what is made. @throws Overdrawn */
  takeBytes(count: number): void {
    this.#bytes -= count;
    if (this.#bytes < 0) throw this.#overdrawn(`it makes over ${maxBytes / 1024 / 1024} MiB`);
  }

  /** Pays for a guess, which is nobody's right. @returns whether it may be made */
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

/** What the evaluation that is under way may still spend; outside of one, a budget of its own. */
export function currentBudget(): Budget {
  return current ?? new Budget();
}

/** Lets all that is evaluated within a synchronous call share one budget: the whole call's, if it is within another. */
export function shareBudget<T>(act: () => T): T {
  const outer = current;
  current = outer ?? new Budget();
  try {
    return act();
  } finally {
    current = outer;
  }
}

/** Shares a budget, as {@link shareBudget}. @throws Overdrawn it was too small, even if `act` caught that */
export function withBudget<T>(act: () => T): T {
  return shareBudget(() => {
    const value = act();
    const refusal = current?.refusal;
    if (refusal !== undefined) throw refusal;
    return value;
  });
}
