/** Changes of meaning in what expires, and in what removed runs leave. */
import type { Mutant } from './mutant.ts';

const tests = ['src/history/retention/apply-retention.test.ts'];
const suite = ['src/stores/memory/memory-store.test.ts'];

export const retentionMutants: readonly Mutant[] = [
  {
    name: 'open runs count among those that are kept',
    file: 'src/stores/run-queries.ts',
    old: 'isRunOver(run.status) && run.admission.graphId === graphId',
    new: 'run.admission.graphId === graphId',
    tests,
  },
  {
    name: 'an age counts from when the run began',
    file: 'src/stores/run-queries.ts',
    old: 'index < spare || updatedAt < (endedBefore',
    new: 'index < spare || updatedAt >= (endedBefore',
    tests,
  },
  {
    name: 'a tagged run expires in a store that a user wrote',
    file: 'src/history/retention/apply-retention.ts',
    old: ' || (await store.readTags(run)).length > 0) continue;',
    new: ') continue;',
    tests,
  },
  {
    name: 'a removed run is not remembered',
    file: 'src/stores/run-tables.ts',
    old: 'if (line !== undefined && admission.revives !== true) throw expiredError(line);',
    new: '',
    tests: [...tests, ...suite],
  },
  {
    name: 'a line holds after its time',
    file: 'src/stores/run-tables.ts',
    old: 'return line !== undefined && line.until > this.clock.now() ? line : undefined;',
    new: 'return line;',
    tests: [...tests, ...suite],
  },
  {
    name: 'an import does not bring a removed run back',
    file: 'src/history/export-import/import-writer.ts',
    old: '      revives: true,\n',
    new: '',
    tests,
  },
  {
    name: 'a run is removed while a webhook of it is not delivered',
    file: 'src/stores/run-tables.ts',
    old: "if ([...run.waits.values()].some(({ wait }) => wait.kind === 'delivery')) return false;",
    new: '',
    tests: suite,
  },
  {
    name: 'two workers have one duty',
    file: 'src/stores/run-tables.ts',
    old: 'if (duty !== undefined && duty.owner !== owner && duty.until > now) return false;',
    new: '',
    tests: suite,
  },
  {
    name: 'a run that is to be kept for longer goes with the others',
    file: 'src/history/retention/apply-retention.ts',
    old: 'return forMs !== undefined && endedAt + forMs > now();',
    new: 'return forMs !== undefined && endedAt + forMs < now();',
    tests: ['src/history/retention/apply-retention.test.ts'],
  },
];
