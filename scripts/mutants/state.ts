/** Changes of meaning in the state of runs. */
import type { Mutant } from './mutant.ts';

export const stateMutants: readonly Mutant[] = [
  {
    name: 'the reducer `first` replaces a stored null',
    file: 'src/state/channels/reducers.ts',
    old: 'first: (slot, update) => (slot.exists ? keep : set(update)),',
    new: 'first: (slot, update) => (slot.exists && slot.value !== null ? keep : set(update)),',
    tests: ['src/state/channels/reducers.test.ts'],
  },
];
