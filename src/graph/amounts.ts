/** Amounts of what work costs, by unit: tokens, money, whatever its author counts. */

/** Non-negative finite numbers by the name of their unit: `{ tokens: 1200, usd: 0.004 }`. */
export type Amounts = Readonly<Record<string, number>>;

/** The most that one attempt spends, by unit; of a unit that is not named nothing is known. `nothing`: it spends nothing at all, and meets no budget. */
export type AtMost = Amounts | 'nothing';

/** A unit is named by a letter, then letters, digits, `_` and `-`; 64 characters at most. */
const unitName = /^\p{L}[\p{L}\p{N}_-]{0,63}$/u;

/** So many units are told apart in one run. */
const unitsMax = 64;

/** Why a value is no amounts, or undefined if it is. */
export function amountsFault(amounts: unknown): string | undefined {
  if (typeof amounts !== 'object' || amounts === null || Array.isArray(amounts))
    return 'amounts are an object of numbers by unit, such as { tokens: 1200 }';
  for (const [unit, amount] of Object.entries(amounts)) {
    if (!unitName.test(unit))
      return `${JSON.stringify(unit)} is no name of a unit: use a letter, then letters, digits, _ and -, 64 at most`;
    const isAmount = typeof amount === 'number' && amount >= 0 && amount <= Number.MAX_SAFE_INTEGER;
    if (!isAmount) return `${unit} is ${String(amount)}: an amount is a finite number, 0 or more`;
  }
  return undefined;
}

/** Why amounts cannot be added to others, or undefined if they can: a run does not tell ever more units apart. */
export function unitsFault(known: Amounts | undefined, added: Amounts): string | undefined {
  const units = new Set([...Object.keys(known ?? {}), ...Object.keys(added)]);
  return units.size <= unitsMax ? undefined : `a run tells ${unitsMax} units apart at most`;
}

/** The amount of one unit; 0 if there is none. */
export function amountOf(amounts: Amounts | undefined, unit: string): number {
  return amounts !== undefined && Object.hasOwn(amounts, unit) ? (amounts[unit] as number) : 0;
}

/**
 * The sum of two amounts. One that is no whole number has 15 significant digits, so that 0.1 and 0.2 are 0.3: what is stored is the sum
 * itself, so it is the same number for who adds to it now and for who has read it back.
 */
export function addAmounts(first: Amounts | undefined, second: Amounts | undefined): Amounts {
  return combine(first, second, (a, b) => a + b);
}

/** What of the first is not in the second, unit by unit; nothing is less than 0. */
export function lessAmounts(first: Amounts, second: Amounts | undefined): Amounts {
  return combine(first, second, (a, b) => Math.max(0, a - b));
}

/** Whether there is anything in them. */
export function hasAmounts(amounts: Amounts | undefined): amounts is Amounts {
  return amounts !== undefined && Object.values(amounts).some((amount) => amount > 0);
}

function combine(first: Amounts = {}, second: Amounts = {}, calculate: (a: number, b: number) => number): Amounts {
  const units = new Set([...Object.keys(first), ...Object.keys(second)]);
  const round = (amount: number): number => (Number.isInteger(amount) ? amount : Number(amount.toPrecision(15)));
  return Object.fromEntries(
    Array.from(units, (unit) => [unit, round(calculate(amountOf(first, unit), amountOf(second, unit)))]),
  );
}
