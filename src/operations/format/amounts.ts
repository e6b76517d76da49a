/** Prints costs for people. */

/** By unit. */
type Amounts = Readonly<Record<string, number>>;

/** What was spent, and of a fork what was saved. */
export interface Costs {
  readonly spent?: Amounts;
  readonly saved?: Amounts;
}

/** `1200 tokens, 0.004 usd`; a dash for nothing. */
export function formatAmounts(amounts: Amounts = {}): string {
  const parts = Object.entries(amounts).map(([unit, amount]) => `${amount} ${unit}`);
  return parts.length === 0 ? '-' : parts.join(', ');
}

/** Such as `1200 tokens; saved 300 tokens`. Undefined if nothing was spent or saved. */
export function formatCosts({ spent = {}, saved = {} }: Costs): string | undefined {
  const isFree = (amounts: Amounts): boolean => Object.keys(amounts).length === 0;
  if (isFree(saved)) return isFree(spent) ? undefined : formatAmounts(spent);
  return `${formatAmounts(spent)}; saved ${formatAmounts(saved)}`;
}

/** What is said of a run whose workers ended while they advanced it; undefined if none did. */
export function deathWords(deaths: number | undefined): string | undefined {
  if (deaths === undefined) return undefined;
  return `${deaths} ${deaths === 1 ? 'process' : 'processes in a row'} ended while advancing it`;
}

/** `1 checkpoint`, `3 checkpoints` */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
