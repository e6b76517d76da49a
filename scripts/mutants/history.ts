/** Changes of meaning in the histories of runs. */
import type { Mutant } from './mutant.ts';

export const historyMutants: readonly Mutant[] = [
  {
    name: 'a log reads all of a history before it gives any of it',
    file: 'src/history/read/log.ts',
    old: '  let width = pageSize;\n',
    new: '  let width = Math.max(pageSize, 1_000_000);\n',
    tests: ['src/history/read/log.test.ts'],
  },
  {
    name: 'an export to move that is stopped half way keeps the run',
    file: 'src/history/move/export-from.ts',
    old: '    await store.releaseClaim(claim);\n',
    new: '',
    tests: ['test/history/open-history.test.ts'],
  },
  {
    name: 'a program may name what it removes by a checkpoint of it',
    file: 'src/history/history.ts',
    old: 'return removeRun(this.#place, (await this.#run(run)).runId, options);',
    new: 'return removeRun(this.#place, (await this.#find(run)).run.runId, options);',
    tests: ['test/history/open-history.test.ts'],
  },
  {
    name: 'an import does not verify checksums',
    file: 'src/history/stored/checkpoint.ts',
    old: 'parentChecksum !== undefined &&\n    !isChecksumRight(',
    new: 'parentChecksum !== undefined && row.seq < 0 &&\n    !isChecksumRight(',
    tests: ['src/history/move/import.test.ts'],
  },
  {
    name: 'an import does not verify the chain',
    file: 'src/history/move/imported-run.ts',
    old: 'const checkpoint = this.#chain.verify(owner, row);',
    new: 'const checkpoint = decodeCheckpoint({ runKey: owner.key, seq: row.seq }, undefined, row);',
    tests: ['src/history/move/import.test.ts'],
  },
  {
    name: 'a half imported run can be resumed',
    file: 'src/history/move/import-writer.ts',
    old: "const unfinished = 'cancelled';",
    new: "const unfinished = 'paused';",
    tests: ['src/history/move/import.test.ts'],
  },
  {
    name: 'pruning drops states that open activations see',
    file: 'src/history/shorten/prune-needs.ts',
    old: '  await addSeen(store, blobs, run, first, chosen);\n',
    new: '',
    tests: ['src/history/shorten/prune.test.ts'],
  },
  {
    name: 'pruning drops fork points',
    file: 'src/history/shorten/prune-needs.ts',
    old: 'if (fork.parent !== undefined) chosen.add(fork.parent.seq);',
    new: 'if (fork.parent !== undefined) chosen.delete(-1);',
    tests: ['src/history/shorten/prune.test.ts'],
  },
  {
    name: 'pruning drops outcomes of effects',
    file: 'src/history/shorten/prune-needs.ts',
    old: 'if (holdsOutcome(checkpoint.change) || checkpoint.change.some(isOpen))',
    new: 'if (checkpoint.change.some(isOpen))',
    tests: ['src/history/shorten/prune.test.ts'],
  },
  {
    name: 'verify does not compare snapshots with the deltas',
    file: 'src/history/verify/verify.ts',
    old: 'if (hasSnapshot) await this.#verifySnapshot(run, row.seq, id);',
    new: 'if (hasSnapshot) this.#snapshots += 1;',
    tests: ['src/history/verify/damage.test.ts', 'src/history/stored/snapshot.test.ts'],
  },
  {
    name: 'a checkpoint of a later format is read as of this one',
    file: 'src/history/stored/checkpoint.ts',
    old: 'if ((version as number) > formatVersion) {',
    new: 'if ((version as number) > formatVersion + 1) {',
    tests: ['src/history/stored/checkpoint.test.ts'],
  },
  {
    name: 'snapshots come ten times as seldom',
    file: 'src/history/load/snapshot-policy.ts',
    old: 'const dueFactor = 3;',
    new: 'const dueFactor = 30;',
    tests: ['src/history/load/snapshot-policy.test.ts'],
  },
];
