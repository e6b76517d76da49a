/** Maps killed at every commit: they end, and have done outside, what they might have without. */
import { expect, test } from 'vitest';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { tellFaults } from '../support/smallest.ts';
import { killedAt, type MapEnd } from './killed-map.ts';
import { begunInSomeOrder, itemEnd } from './map-orders.ts';
import { describeMap, drawMap, smallerMaps, type MapPlan } from './map-plan.ts';

const commitsMost = 80;

/** What can be told of a map's end from outside, in one line. */
function told({ result, world, said }: MapEnd, plan: MapPlan): string {
  // Of an effect that a person decided about nobody knows whether it is in the world.
  const made = [...world].filter((call) => !said.has(call)).toSorted();
  return `${statuses(result, plan)}; done: ${made.join(' ')}`;
}

/** How each item ended, as the map tells: the failed ones if it failed. */
function statuses({ status, state, error }: MapEnd['result'], plan: MapPlan): string {
  const output = state.outputs['map'] as
    | readonly { readonly status: string }[]
    | { readonly iterations: readonly { readonly status: string }[] }
    | undefined;
  if (status === 'completed' && !plan.gathers) return 'completed';
  if (status === 'completed') {
    const items = Array.isArray(output) ? output : (output as { readonly iterations: [] }).iterations;
    return items.map((item: { readonly status: string }) => item.status).join(' ');
  }
  const { data } = (error?.cause ?? {}) as { readonly data?: { readonly failed?: readonly string[] } };
  return `${status}: ${data?.failed?.join(' ') ?? String(error)}`;
}

/** The same for a map to which nothing happened, of which so many items began. */
function expected(plan: MapPlan, begun: number, said: MapEnd['said']): string {
  const ends = plan.items.slice(0, begun).map((_, index) => itemEnd(plan, index, said));
  const made = ends
    .flatMap((end, index) => end.made.map((at) => ({ call: `${index}:${at}`, what: plan.items[index]?.calls[at] })))
    .filter(({ call, what }) => what === 'act' && !said.has(call))
    .map(({ call }) => call);
  const failed = ends.flatMap(({ fails }, index) => (fails ? [`i${index}`] : []));
  const status = plan.gathers
    ? ends.map(({ fails }) => (fails ? 'failed' : 'completed')).join(' ')
    : failed.length === 0
      ? 'completed'
      : `failed: ${failed.join(' ')}`;
  return `${status}; done: ${made.toSorted().join(' ')}`;
}

function faultOf(plan: MapPlan, commits: readonly number[], end: MapEnd): string | undefined {
  const ends = [...begunInSomeOrder(plan, end.said)].map((begun) => expected(plan, begun, end.said));
  const found = told(end, plan);
  if (ends.includes(found)) return undefined;
  const answers = [...end.said].map(([call, word]) => `${call} ${word}`).join(', ');
  return `killed at commits ${commits.join(' and ')}, told [${answers}], it ended: ${found}. Without: ${ends.join(' | ')}`;
}

async function faultsOf(plan: MapPlan): Promise<readonly string[]> {
  const random = createSeededRandom(plan.seed);
  const faults: string[] = [];
  const undisturbed = faultOf(plan, [], (await killedAt(plan, [])) as MapEnd);
  if (undisturbed !== undefined) return [undisturbed];
  for (let commit = 1; commit < commitsMost; commit += 1) {
    const isTwice = random.chance(0.3);
    const commits = isTwice ? [commit, 1 + random.integer(6)] : [commit];
    const end = await killedAt(plan, commits);
    if (end === undefined) break;
    const fault = faultOf(plan, commits, end);
    if (fault !== undefined) faults.push(fault);
  }
  return faults;
}

test('P1 W2.5 a map that is killed ends as it might have without', { timeout: 300_000 }, async () => {
  const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
  const count = Number(process.env['CAIRN_GRAPHS'] ?? 40);
  const seeds = Array.from({ length: count }, (_, index) => firstSeed + index);
  expect(await tellFaults(seeds, { make: drawMap, smaller: smallerMaps, describe: describeMap, faultsOf })).toEqual([]);
});
