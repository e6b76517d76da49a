/** Which edges a settled visit fires (G3, G5, G6, G8). */
import { describe, expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest } from '../../../test/engine-kit.ts';
import type { EdgeDefinition, Graph } from '../../graph/graph.ts';
import { outcome } from '../../graph/contracts/node-contract.ts';

const no = { text: 'no', evaluate: () => false };
const yes = { text: 'yes', evaluate: () => true };

/** A graph in which `a` leads to b, c, d and e, as the edges say. */
function fan(
  routing: Graph['policies']['routing'],
  from: readonly Partial<EdgeDefinition>[],
  run: () => unknown,
): Graph {
  const ids = ['b', 'c', 'd', 'e'].slice(0, from.length);
  return graphOf(
    'g',
    [node('a', 'pure', run, { onFailure: 'skip-dependents' }), ...ids.map((id) => node(id, 'pure', () => id))],
    [...edges('> a'), ...from.map((edge, index) => ({ from: 'a', to: ids[index] as string, ...edge }))],
    { policies: { routing } },
  );
}

/** Which of the nodes behind `a` ran. */
async function taken(
  routing: Graph['policies']['routing'],
  from: readonly Partial<EdgeDefinition>[],
  run: () => unknown = () => 1,
): Promise<string> {
  const { state } = await runToRest(createBench().engine, fan(routing, from, run));
  return Object.keys(state.outputs)
    .filter((id) => id !== 'a')
    .toSorted()
    .join('');
}

const fail = (): never => {
  throw new Error('no');
};

describe('G5 `first` fires at most one edge', () => {
  test.each<[string, readonly Partial<EdgeDefinition>[], string]>([
    ['the heaviest', [{ weight: 1 }, { weight: 3 }, { weight: 2 }], 'c'],
    ['the first declared of those of equal weight', [{ weight: 1 }, { weight: 2 }, { weight: 2 }], 'c'],
    ['the first declared where no weight is given', [{}, {}, {}], 'b'],
    ['one without a weight before one below zero', [{ weight: -1 }, {}, { weight: -2 }], 'c'],
    [
      'the heaviest whose condition holds',
      [{ weight: 1 }, { weight: 3, condition: no }, { weight: 2, condition: yes }],
      'd',
    ],
    ['none if no condition holds', [{ condition: no }, { condition: no }], ''],
    ['besides those marked `always`', [{ weight: 1 }, { weight: 9, always: true }, { weight: 2 }], 'cd'],
  ])('G5 %s', async (_, from, expected) => {
    expect(await taken('first', from)).toBe(expected);
  });

  test('G5 G8 of a failure, the heaviest that takes failures', async () => {
    const from = [{ weight: 9 }, { weight: 1, on: 'failed' }, { weight: 2, on: 'any' }] as const;
    expect(await taken('first', from, fail)).toBe('d');
    expect(await taken('first', from)).toBe('b');
  });
});

describe('G5 `all` fires every edge whose condition holds', () => {
  test.each<[string, readonly Partial<EdgeDefinition>[], string]>([
    ['whatever their weights', [{ weight: 1 }, { weight: 3 }, { weight: 2 }], 'bcd'],
    ['and no other', [{ condition: no }, { condition: yes }, {}], 'cd'],
    ['and none for a failure', [{ on: 'failed' }, {}, { on: 'any' }], 'cd'],
  ])('G5 %s', async (_, from, expected) => {
    expect(await taken('all', from)).toBe(expected);
  });

  test('G8 of a failure, every edge that takes failures', async () => {
    expect(await taken('all', [{ on: 'failed' }, {}, { on: 'any' }, { always: true }], fail)).toBe('bde');
  });
});

test('G5 an outcome that names its targets fires those, whatever their conditions, and those marked `always`', async () => {
  const from = [{ condition: no }, { condition: yes }, { always: true }, {}];
  expect(await taken('all', from, () => outcome({ goto: ['b', 'e'] }))).toBe('bde');
  expect(await taken('all', from, () => outcome({ goto: [] }))).toBe('d');
});

test('G5 under `first` an outcome that names several targets leads to the one it names first', async () => {
  const from = [{ condition: no }, { weight: 9 }, { always: true }, {}];
  expect(await taken('first', from, () => outcome({ goto: ['e', 'b', 'c'] }))).toBe('de');
  expect(await taken('first', from, () => outcome({ goto: ['b', 'c'] }))).toBe('bd');
  expect(await taken('first', from, () => outcome({ goto: ['d', 'c', 'e'] }))).toBe('cd');
  expect(await taken('first', from, () => outcome({ goto: [] }))).toBe('d');
});

test.each(['all', 'first'] as const)(
  'G4 the failure of a visit beyond maxVisits leads on, never back (routing %s)',
  async (routing) => {
    const ran: string[] = [];
    const step = (id: string, more = {}): ReturnType<typeof node> => node(id, 'pure', () => void ran.push(id), more);
    const graph = graphOf(
      'g',
      [step('a'), step('b', { maxVisits: 2 }), step('c')],
      [
        ...edges('> a', 'a > b', 'c >'),
        { from: 'b', to: 'a', on: 'any', weight: 2 },
        { from: 'b', to: 'c', on: 'failed' },
      ],
      { policies: { routing } },
    );
    const { status } = await runToRest(createBench().engine, graph);
    expect([status, ran.join(' ')]).toEqual(['completed', 'a b a b a c']);
  },
);
