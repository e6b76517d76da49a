/** Changes of meaning in the dialects. */
import type { Mutant } from './mutant.ts';

export const dialectsMutants: readonly Mutant[] = [
  {
    name: 'items of a sequential for_each start after one that failed',
    file: 'src/dialects/yaml/run/for-each-node.ts',
    old: 'return failures.size === 0 || file.continuesOnError;',
    new: 'return true;',
    tests: ['src/dialects/yaml/run/for-each.test.ts'],
  },
];
