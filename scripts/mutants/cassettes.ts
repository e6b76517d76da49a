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
    file: 'src/model-calls/model-access.ts',
    old: 'hashParts([this.hashOf(settings), this.#chained(messages)])',
    new: 'hashParts([this.#chained(messages)])',
    tests: ['src/models/cassette/cassette.test.ts'],
  },
  {
    name: 'an agent writes over what somebody else wrote since it looked',
    file: 'src/agents/files/local-files.ts',
    old: 'if ((await this.#hashAt(place)) !== before)',
    new: 'if (before === undefined)',
    tests: ['src/agents/files/files.test.ts'],
  },
  {
    name: 'an agent’s write in doubt is taken for one that did not happen',
    file: 'src/agents/files/local-files.ts',
    old: 'if (now === file.hash) return { happened: true, output: { path, file } };',
    new: '',
    tests: ['src/agents/files/files.test.ts'],
  },
  {
    name: 'an agent may reach what is git’s own over a link',
    file: 'src/agents/files/local-files.ts',
    old: 'relative(resolveLinks(this.#root), place.path).split(sep)',
    new: 'path.split(sep)',
    tests: ['src/agents/files/files.test.ts'],
  },
  {
    name: 'files in memory are forgotten when an agent’s function is repeated',
    file: 'src/agents/files/file-tools.ts',
    old: 'for (const written of writtenIn(node)) files.take(written);',
    new: 'void writtenIn;',
    tests: ['src/agents/files/files.test.ts'],
  },
  {
    name: 'the reviewing agent may run any command of git',
    file: 'examples/repo-review/graph.ts',
    old: "program === 'git' && reads && isPlain",
    new: "program === 'git'",
    tests: ['examples/repo-review/repo-review.test.ts'],
  },
  {
    name: 'a write of a memory is made again by who repeats it',
    file: 'src/stores/sqlite/sqlite-memories.ts',
    old: 'if (Number(isNew) === 0) return;',
    new: '',
    tests: ['src/stores/sqlite/sqlite-memories.test.ts'],
  },
  {
    name: 'a memory writes before what was read is durable',
    file: 'src/agents/memory/session-memory.ts',
    old: "if (this.#consistency === 'snapshot')",
    new: "if (this.#name === '')",
    tests: ['src/agents/memory/memory.test.ts'],
  },
];
