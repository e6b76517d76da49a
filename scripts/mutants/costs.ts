/** Changes of meaning in what work costs. */
import type { Mutant } from './mutant.ts';

export const costMutants: readonly Mutant[] = [
  {
    name: 'an attempt of a node that is tried again costs nothing',
    file: 'src/engine/drive/attempt.ts',
    old: '  bookAll(core, activation);\n  planRetry(',
    new: '  planRetry(',
    tests: ['src/engine/calls/spend.test.ts'],
  },
  {
    name: 'a fork pays again for what it takes over',
    file: 'src/engine/record/account.ts',
    old: "addToVisit(core, activation, 'spared', spared);",
    new: "addToVisit(core, activation, 'spent', spared);",
    tests: ['src/engine/calls/spend.test.ts'],
  },
  {
    name: 'a failed attempt of a step costs nothing',
    file: 'src/engine/calls/steps.ts',
    old: '        book(core, charge);\n        if',
    new: '        core.ledger.close(charge);\n        if',
    tests: ['src/engine/calls/spend.test.ts'],
  },
];
