/** Changes of what agents work with: recorded answers, files, memory. */
import type { Mutant } from './mutant.ts';

export const cassetteMutants: readonly Mutant[] = [
  {
    name: 'a cassette writes secrets that stand in answers',
    file: 'src/models/cassette/cassette.ts',
    old: 'response: clean(response) };',
    new: 'response };',
    tests: ['src/models/cassette/cassette.test.ts'],
  },
  {
    name: 'a cassette knows a request by its messages alone',
    file: 'src/ports/message-keys.ts',
    old: 'hashParts([this.hashOf(settings), this.#chained(messages)])',
    new: 'hashParts([this.#chained(messages)])',
    tests: ['src/models/cassette/cassette.test.ts'],
  },
];
