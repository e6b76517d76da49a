/** Changes of meaning in what a fork takes over, in previews, and in what effects leave behind. */
import type { Mutant } from './mutant.ts';

export const forksMutants: readonly Mutant[] = [
  {
    name: 'outputs of steps stand in the order in which they ended',
    file: 'src/engine/run/frame-run.ts',
    old: 'return isSame ? true : called;',
    new: 'return isSame || called.length > 0 ? true : called;',
    tests: ['src/engine/runs/fork-records.test.ts', 'src/nodes/map-node.test.ts'],
  },
  {
    name: 'an outcome that is kept for a resume forgets that its output is that of its steps',
    file: 'src/engine/admit/admit-kept.ts',
    old: '...(kept.outputOfSteps === undefined ? {} : { outputOfSteps: kept.outputOfSteps }),',
    new: '',
    tests: ['src/engine/runs/fork-records.test.ts'],
  },
  {
    name: 'a skip hides the outputs of the steps of the visit before',
    file: 'src/engine/drive/prepare.ts',
    old: ' && left?.outputOfSteps === undefined',
    new: '',
    tests: ['src/engine/runs/fork-records.test.ts'],
  },
  {
    name: 'calls from before a save count among those after it',
    file: 'src/engine/calls/wait-calls.ts',
    old: '  activation.calls = undefined;\n',
    new: '',
    tests: ['src/engine/runs/fork-records.test.ts'],
  },
];
