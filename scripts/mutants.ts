/**
 * `npm run mutants [-- --only TEXT]`: breaks the code on purpose, one change of meaning at a time, in a copy of the project, and tells
 * which of them no test noticed. Slow, and so no part of the gate. Each kill names the test that made it.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { mutantsByRoom as rooms } from './mutants/all-mutants.ts';
import type { Mutant } from './mutants/mutant.ts';
import { ScratchCopy } from './mutants/scratch-copy.ts';

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const chosen = Object.entries(rooms)
  .flatMap(([room, list]) => list.map((mutant) => ({ ...mutant, name: `${room}: ${mutant.name}` })))
  .filter(({ name }) => name.includes(values.only));
const mutants = chosen.filter(({ equivalent }) => equivalent === undefined);
for (const { name, equivalent } of chosen)
  if (equivalent !== undefined) process.stdout.write(`equal   ${name}: ${equivalent}\n`);

/** What becomes of the tests when the change is made: the test that noticed it, or why it counts as unnoticed. */
async function tryMutant(
  copy: ScratchCopy,
  mutant: Mutant,
): Promise<{ readonly killer?: string; readonly fault?: string }> {
  const text = copy.read(mutant.file);
  const found = text.split(mutant.old).length - 1;
  if (found !== 1) return { fault: `its old text is ${found} times in ${mutant.file}` };
  copy.write(
    mutant.file,
    text.replace(mutant.old, () => mutant.new),
  );
  const { hasPassed, failed, output } = await copy.runTests(mutant.tests);
  copy.write(mutant.file, text);
  if (hasPassed) return { fault: `${mutant.tests.join(', ')} passed` };
  return failed === undefined ? { fault: `no test failed, but:\n${output}` } : { killer: failed };
}

/** Files that are run together before anything is changed. */
const filesMax = 12;

let killed = 0;
const copy = new ScratchCopy(resolve(import.meta.dirname, '..'));
try {
  const files = [...new Set(mutants.flatMap(({ tests }) => tests))];
  // Some at a time, as one run is ended after five minutes.
  for (let first = 0; first < files.length; first += filesMax) {
    const unchanged = await copy.runTests(files.slice(first, first + filesMax));
    if (!unchanged.hasPassed) throw new Error(`these tests fail without any change:\n${unchanged.output}`);
  }
  for (const mutant of mutants) {
    const { killer, fault } = await tryMutant(copy, mutant);
    if (killer !== undefined) killed += 1;
    process.stdout.write(
      killer === undefined ? `LIVED   ${mutant.name}: ${fault}\n` : `killed  ${mutant.name}: ${killer}\n`,
    );
  }
} finally {
  copy.remove();
}
process.stdout.write(`${killed} killed, ${mutants.length - killed} lived\n`);
process.exitCode = killed === mutants.length && killed > 0 ? 0 : 1;
