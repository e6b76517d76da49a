/** Changes of meaning in the stores. */
import type { Mutant } from './mutant.ts';

export const storesMutants: readonly Mutant[] = [
  {
    name: 'a commit is acknowledged without its checkpoint in the checkpoint store',
    file: 'src/app/checkpoint-store/checkpoint-backed-store.ts',
    old: '      await saved.save(commit.claim, commit.checkpoint.seq);\n',
    new: '',
    tests: ['test/checkpoints/in-memory.test.ts'],
  },
  {
    name: "a checkpoint store's fork loses what was changed",
    file: 'src/app/checkpoint-store/checkpoint-backed-store.ts',
    old: 'patchesOf(root, checkpoint.state);',
    new: '[];\n    void patchesOf;',
    tests: ['test/checkpoints/in-memory.test.ts'],
  },
  {
    name: "memory: a run within another's lease is claimed",
    file: 'src/stores/memory/memory-tables.ts',
    old: 'if (run.owner !== undefined && isClaimed(run, now) && run.owner !== request.takeFrom) {',
    new: 'if (run.owner !== undefined && isClaimed(run, now) && run.owner === request.takeFrom) {',
    tests: ['src/stores/memory/memory-store.test.ts'],
  },
  {
    name: 'memory: a claim that was given back still writes',
    file: 'src/stores/memory/memory-tables.ts',
    old: '    run.token = ++this.#lastToken;\n    run.owner = undefined;',
    new: '    run.owner = undefined;',
    tests: ['src/stores/memory/memory-store.test.ts'],
  },
  {
    name: 'memory: a run with forks is removed',
    file: 'src/stores/memory/memory-tables.ts',
    old: "if (forks.length > 0) throw new CairnError('HISTORY_HAS_FORKS', { runId: key.runId, forks });",
    new: '',
    tests: ['src/stores/memory/memory-store.test.ts'],
  },
  {
    name: 'SQLite: an older token still writes',
    file: 'src/stores/sqlite/tables/commit-write.ts',
    old: 'if (run?.token !== claim.token || run.head + 1 !== checkpoint.seq)',
    new: 'if (run === undefined || run.head + 1 !== checkpoint.seq)',
    tests: ['src/stores/sqlite/sqlite-store.test.ts'],
  },
  {
    name: 'SQLite: a commit may leave a gap',
    file: 'src/stores/sqlite/tables/commit-write.ts',
    old: 'if (run?.token !== claim.token || run.head + 1 !== checkpoint.seq)',
    new: 'if (run?.token !== claim.token || run.head >= checkpoint.seq)',
    tests: ['src/stores/sqlite/sqlite-store.test.ts'],
  },
  {
    name: 'SQLite: a repeated commit says that a lost claim holds',
    file: 'src/stores/sqlite/tables/commit-write.ts',
    old: 'return { isHeld: run.token === token };',
    new: 'return { isHeld: true };',
    tests: ['src/stores/sqlite/sqlite-store.test.ts'],
  },
  {
    name: 'SQLite: a second answer replaces the first',
    file: 'src/stores/sqlite/tables/message-write.ts',
    old: "const isSpent = first?.is_taken === 1 && (isOpen || kind === 'cancel');",
    new: "const isSpent = isOpen || kind === 'cancel';",
    tests: ['src/stores/sqlite/sqlite-store.test.ts'],
  },
  {
    name: 'a lost place is looked for among the next thousand checkpoints only',
    file: 'src/stores/sqlite/tables/checkpoint-places.ts',
    old: 'return !this.#arePlacesWhole;',
    new: 'return this.#arePlacesWhole === undefined;',
    tests: ['src/stores/sqlite/file/file-damage.test.ts'],
  },
  {
    name: 'places that are removed count as lost',
    file: 'src/stores/sqlite/tables/checkpoint-places.ts',
    old: '    this.#count(-this.#deletePlacesOfRun().run(run).changes);',
    new: '    this.#deletePlacesOfRun().run(run);',
    tests: ['src/stores/sqlite/file/file-damage.test.ts'],
  },
];
