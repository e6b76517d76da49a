import { expect, test } from 'vitest';
import { type NodeDefinition, END, START } from '../graph.ts';
import { compileGraph } from '../compile/compile-graph.ts';

function warningsOf(charge: Partial<NodeDefinition>, text: string): readonly string[] {
  const implementation = { run: () => undefined };
  const graph = compileGraph({
    id: 'g',
    nodes: [
      { id: 'charge', type: 'function', effect: 'external', implementation, ...charge },
      { id: 'ship', type: 'function', effect: 'pure', implementation },
    ],
    edges: [
      { from: START, to: 'charge' },
      { from: 'charge', to: 'ship', condition: { text, evaluate: () => true } },
      { from: 'charge', to: END },
      { from: 'ship', to: END },
    ],
  });
  return graph.warnings.filter(({ rule }) => rule === 'X3').map(({ place }) => place);
}

test('X3 a condition in text that reads the state after an effect that may be asked about is warned of', () => {
  const reading = ['scratch.paid', "state.artifacts['receipt'] != null", 'diagnostics.tries > 2'];
  for (const text of reading) expect([text, warningsOf({}, text)]).toEqual([text, ['edge charge -> ship']]);
});

test.each<[string, Partial<NodeDefinition>, string]>([
  ['reads its output', {}, 'output.paid'],
  ['is a function', {}, 'isPaid'],
  ['follows an idempotent effect', { idempotent: true }, 'scratch.paid'],
  ['follows no effect', { effect: 'pure' }, 'scratch.paid'],
  [
    'follows an effect that the world can be asked about',
    { implementation: { run: () => undefined, reconcile: () => ({ happened: false }) } },
    'scratch.paid',
  ],
])('X3 a condition that %s is not warned of', (_, charge, text) => {
  expect(warningsOf(charge, text)).toEqual([]);
});
