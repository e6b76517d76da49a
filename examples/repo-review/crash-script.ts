/** The example as a script of the crash kit: it lives in its trial's folder, on the cassette, and each question to the model leaves a line outside. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { runCrashScript } from '../../src/testing/crash-kit/crash-processes.ts';
import type { Models } from '../../src/models/index.ts';
import { graph } from './graph.ts';
import { chooseModels } from './models.ts';
import { makeSampleRepository } from './sample-repository.ts';

const ledger = 'asked.txt';

/** Whoever sells answers counts the calls: a line each, under its key, before it answers. */
function counted(models: Models): Models {
  return {
    generate: (request) => {
      appendFileSync(ledger, `${request.idempotencyKey}\n`);
      return models.generate(request);
    },
  };
}

/** @throws Error an answer was bought twice, beside the one in flight when the process was killed */
function countAnswers(): number {
  const keys = existsSync(ledger) ? readFileSync(ledger, 'utf8').trimEnd().split('\n') : [];
  const bought = new Set(keys).size;
  if (keys.length > bought + 1) throw new Error(`${keys.length} calls for ${bought} answers`);
  return bought;
}

await runCrashScript({
  enter: (folder) => {
    process.chdir(folder);
    makeSampleRepository('sample');
  },
  graph: () => graph.graph,
  models: () => counted(chooseModels(undefined)),
  input: { repo: 'sample', out: 'REVIEW.md' },
  answer: () => '1,3',
  openStore: () => openSqliteStore({ path: 'runs.db' }),
  inspect: () => ({
    answers: countAnswers(),
    report: readFileSync('REVIEW.md', 'utf8'),
  }),
});
