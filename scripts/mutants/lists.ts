/** Changes of meaning in what composed nodes keep beside their steps: lists. */
import type { Mutant } from './mutant.ts';

export const listMutants: readonly Mutant[] = [
  {
    name: 'an append that is repeated is recorded again',
    file: 'src/engine/calls/append.ts',
    old: 'const recorded = callsOf(activation, list)[n - 1];',
    new: 'const recorded = callsOf(activation, list)[n] ?? undefined;',
    tests: ['src/engine/calls/append.test.ts'],
  },
  {
    name: 'appends to one list are recorded in the order in which they are stored',
    file: 'src/engine/calls/append.ts',
    old: '  await before;\n',
    new: '',
    tests: ['src/engine/calls/append.test.ts'],
  },
  {
    name: 'a list shows what later calls added',
    file: 'src/engine/calls/append.ts',
    old: '.slice(0, cursorOf(activation, list).recorded)',
    new: '.slice(0)',
    tests: ['src/engine/calls/append.test.ts'],
  },
  {
    name: 'calls of append after a save count from the first again',
    file: 'src/engine/record/list-record.ts',
    old: 'const before = callsBeforeSave(activation, list);',
    new: 'const before = 0 * callsBeforeSave(activation, list);',
    tests: ['src/engine/calls/append.test.ts'],
  },
];
