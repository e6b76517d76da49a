/** What a property test of random cases tells when it fails: the seed, and the smallest case that fails too, in words. */

/** The most cases that are tried for a smaller one. */
const trialsMost = 400;

/** Random cases, and what must hold of them. */
export interface Property<Case> {
  readonly make: (seed: number) => Case;
  /** What does not hold of a case; whatever is thrown counts as a fault too. */
  readonly faultsOf: (tried: Case, seed: number) => Promise<readonly string[]> | readonly string[];
  /** Cases with a little less in them. One that could not be made from any seed must be left out, or refused by `isValid`. */
  readonly smaller: (from: Case) => Iterable<Case>;
  readonly isValid?: (tried: Case) => boolean;
  readonly describe: (tried: Case) => string;
}

/** Faults that are told at most. */
const toldMost = 5;

/** Tries each seed, and tells what does not hold of what it makes; of the first that fails, the smallest case that fails too. */
export async function tellFaults<Case>(seeds: Iterable<number>, property: Property<Case>): Promise<readonly string[]> {
  const told: string[] = [];
  for (const seed of seeds) {
    if (told.length > toldMost) break;
    const made = property.make(seed);
    const faults = await faultsIn(property, made, seed);
    if (faults.length === 0) continue;
    const isFirst = told.length === 0;
    told.push(...faults.map((fault) => `CAIRN_SEED=${seed} CAIRN_GRAPHS=1: ${fault}`));
    if (isFirst) told.unshift(await describeSmallest(property, made, seed));
  }
  return told;
}

/** The smallest case that was found, and the first of its faults. */
async function describeSmallest<Case>(property: Property<Case>, failing: Case, seed: number): Promise<string> {
  const found = await findSmallest(property, failing, seed);
  const [fault] = await faultsIn(property, found, seed);
  return `the smallest that fails, made from seed ${seed}:\n${property.describe(found)}\n${fault ?? 'it fails only at times'}`;
}

async function faultsIn<Case>(property: Property<Case>, tried: Case, seed: number): Promise<readonly string[]> {
  try {
    return await property.faultsOf(tried, seed);
  } catch (error) {
    return [describeError(error)];
  }
}

/** What was thrown, and where: the rest of the stack is the test's own. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = error.stack?.split('\n').find((line) => line.startsWith('    at ') && !line.includes('node_modules'));
  return `${error.message}${place === undefined ? '' : `\n${place}`}`;
}

async function findSmallest<Case>(property: Property<Case>, failing: Case, seed: number): Promise<Case> {
  let found = failing;
  let trials = 0;
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (const tried of property.smaller(found)) {
      if (property.isValid?.(tried) === false) continue;
      if ((trials += 1) > trialsMost) return found;
      if ((await faultsIn(property, tried, seed)).length === 0) continue;
      found = tried;
      isSmaller = true;
      break;
    }
  }
  return found;
}

/** A list without each of its items in turn. */
export function* withoutEach<Item>(items: readonly Item[]): Generator<Item[]> {
  for (const index of items.keys()) yield items.toSpliced(index, 1);
}

/** A list with one of its items replaced, in turn, by each of what may stand for it. */
export function* withEach<Item>(items: readonly Item[], smaller: (item: Item) => Iterable<Item>): Generator<Item[]> {
  for (const [index, item] of items.entries()) for (const replaced of smaller(item)) yield items.with(index, replaced);
}
