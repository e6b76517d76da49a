/** Changes of meaning in what is known of the blobs that runs name. */
import type { Mutant } from './mutant.ts';

const walk = ['test/stores/blob-references.test.ts'];
const suite = ['src/stores/memory/memory-store.test.ts'];
const collects = ['src/operations/store/collect-blobs.test.ts'];
const older = ['src/stores/sqlite/older-writers.test.ts'];

export const referenceMutants: readonly Mutant[] = [
  {
    name: 'a checkpoint does not say which blobs it names',
    file: 'src/history/stored/checkpoint.ts',
    old: 'return blobs === undefined ? encoded : { ...encoded, blobs };',
    new: 'return encoded;',
    tests: [...collects, ...walk],
  },
  {
    name: 'a message does not say which blobs it names',
    file: 'src/history/stored/messages.ts',
    old: '...namedByBody(message.body) });',
    new: '});',
    tests: walk,
  },
  {
    name: 'the meta of a run does not say what its labels name',
    file: 'src/operations/runs/label-run.ts',
    old: '    await recordNamed(store, run, [newlyNamed(run.meta, after)]);\n',
    new: '',
    tests: walk,
  },
  {
    name: 'an imported checkpoint does not say which blobs it names',
    file: 'src/history/export-import/imported-run.ts',
    old: ', ...namedByCheckpoint(row.body) };',
    new: ' };',
    tests: walk,
  },
  {
    name: 'a hash that follows another digit too closely is passed over',
    file: 'src/history/stored/named-blobs.ts',
    old: 'at += hashDigits) {',
    new: 'at += hashDigits + 1) {',
    tests: ['src/history/stored/named-blobs.test.ts'],
  },
  {
    name: 'a commit notes nothing',
    file: 'src/stores/run-tables.ts',
    old: 'if (named !== undefined) this.#references.add(run, named);',
    new: '',
    tests: suite,
  },
  {
    name: 'a message notes nothing',
    file: 'src/stores/run-tables.ts',
    old: 'this.#references.add(run, message.blobs);',
    new: '',
    tests: suite,
  },
  {
    name: 'a removed run leaves its references',
    file: 'src/stores/run-tables.ts',
    old: '    this.#references.remove(run);\n',
    new: '',
    tests: suite,
  },
  {
    name: 'what was read of a run counts while somebody has it',
    file: 'src/stores/reference-tables.ts',
    old: ' && (owner === undefined || owner === heldBy);',
    new: ';',
    tests: suite,
  },
  {
    name: 'a reference that was noted again is dropped',
    file: 'src/stores/reference-tables.ts',
    old: 'run.named.get(hash) === times',
    new: 'run.named.has(hash)',
    tests: suite,
  },
  {
    name: 'a claim of this version makes an unread run a read one',
    file: 'src/stores/sqlite/tables/run-writes.ts',
    old: 'read_claims = read_claims + (read_claims = claims),',
    new: 'read_claims = claims + 1,',
    tests: older,
  },
  {
    name: 'texts of unread runs are not looked at',
    file: 'src/history/retention/needed-blobs.ts',
    old: "return left.size === 0 || search === 'fill' || searchUnread(store, references, tenant, left, search);",
    new: 'return true;',
    tests: collects,
  },
  {
    name: 'a sweep notes nothing of what it has read',
    file: 'src/history/retention/needed-blobs.ts',
    old: "if (search === 'fill') await fill(references, run, hashes, read);",
    new: "if (search === 'fill') continue;",
    tests: collects,
  },
  {
    name: 'the definition of a graph goes while runs have it',
    file: 'src/history/retention/needed-blobs.ts',
    old: 'if (!isExact) for (const hash of hashes) left.delete(hash);',
    new: 'if (!isExact) continue;',
    tests: collects,
  },
];
