/** Amounts of what work costs, by unit: tokens, money, or any unit that an author names. */

/** Non-negative finite numbers by the name of their unit: `{ tokens: 1200, usd: 0.004 }`. */
export type Amounts = Readonly<Record<string, number>>;

/**
 * The most that one attempt spends, by unit. Nothing is known about units that are not named. `nothing` means that the attempt spends
 * nothing at all, so no budget holds it back.
 */
export type AtMost = Amounts | 'nothing';

/** Names of units: a letter, then letters, digits, `_` and `-`, at most 64 characters. */
const unitName = /^\p{L}[\p{L}\p{N}_-]{0,63}$/u;

/** The most units that one run may use. */
const unitsMax = 64;

/** Why a value is not valid as amounts; undefined if it is. */
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

/** The units that agents, models and stages spend by themselves. */
const spentByItself = ['inputTokens', 'outputTokens', 'tokens', 'cost', 'seconds'];

/**
 * Why a value is not valid as a bound, in amounts; undefined if it is. A unit that is one of ours but for capitals, marks or the plural
 * would bound nothing, since nobody spends it.
 */
export function boundsFault(bounds: unknown): string | undefined {
  const fault = amountsFault(bounds);
  if (fault !== undefined) return fault;
  for (const unit of Object.keys(bounds as Amounts)) {
    const meant = spentByItself.find((own) => lettersOf(own) === lettersOf(unit));
    if (meant !== undefined && meant !== unit) return `${unit} would bound nothing: the unit is called ${meant}`;
  }
  return undefined;
}

/** A unit without what people write in different ways. */
function lettersOf(unit: string): string {
  return unit.toLowerCase().replaceAll(/[_-]/g, '').replace(/s$/, '');
}

/** Why amounts cannot be added to others; undefined if they can. The number of units in a run is limited. */
export function unitsFault(known: Amounts | undefined, added: Amounts): string | undefined {
  const units = new Set([...Object.keys(known ?? {}), ...Object.keys(added)]);
  return units.size <= unitsMax ? undefined : `a run tells ${unitsMax} units apart at most`;
}

/** The amount of one unit; 0 if it is absent. */
export function amountOf(amounts: Amounts | undefined, unit: string): number {
  return amounts !== undefined && Object.hasOwn(amounts, unit) ? (amounts[unit] as number) : 0;
}

/**
 * The sum of two amounts. A sum that is not a whole number is rounded to 15 significant digits, so that 0.1 + 0.2 is 0.3. The rounded sum
 * is what is stored, so adding to it gives the same result before and after it was read back.
 */
export function addAmounts(first: Amounts | undefined, second: Amounts | undefined): Amounts {
  return combine(first, second, (a, b) => a + b);
}

/** The first amounts minus the second, unit by unit, but never below 0. */
export function lessAmounts(first: Amounts, second: Amounts | undefined): Amounts {
  return combine(first, second, (a, b) => Math.max(0, a - b));
}

/** Whether any amount is above 0. */
export function hasAmounts(amounts: Amounts | undefined): amounts is Amounts {
  return amounts !== undefined && Object.values(amounts).some((amount) => amount > 0);
}

function combine(first: Amounts = {}, second: Amounts = {}, calculate: (a: number, b: number) => number): Amounts {
  const result: Record<string, number> = {};
  for (const unit of Object.keys(first)) result[unit] = round(calculate(amountOf(first, unit), amountOf(second, unit)));
  for (const unit of Object.keys(second))
    if (!Object.hasOwn(first, unit)) result[unit] = round(calculate(0, amountOf(second, unit)));
  return result;
}

function round(amount: number): number {
  return Number.isInteger(amount) ? amount : Number(amount.toPrecision(15));
}
