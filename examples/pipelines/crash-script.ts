/** A pipeline of this folder as a script of the crash kit; CRASH_CASE tells which. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystemIds } from '../../src/app/process/process-ids.ts';
import { systemClock } from '../../src/app/process/system-clock.ts';
import { createFileBlobs } from '../../src/blobs/file-blobs.ts';
import { readDot, readSavedDot } from '../../src/dialects/dot/index.ts';
import type { Engine } from '../../src/engine/api.ts';
import { createEngine } from '../../src/engine/engine.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import type { Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { runCrashScript } from '../../src/testing/crash-kit/crash-processes.ts';
import { createAnswers } from './scripted-answers.ts';
import { describeRepository, makeRepository } from './small-repository.ts';

const name = process.env['CRASH_CASE'] ?? '';
const worksOnRepository = name === 'release' || name === 'mend';
const nodeTypes = createNodeTypes();

/** A run that is there goes on from the text that is kept with it. */
function openEngine(store: Store, _folder: string, watch: (graph: Graph) => Graph): Engine {
  const engine = createEngine({
    store,
    blobs: createFileBlobs('blobs'),
    clock: systemClock,
    ids: createSystemIds(),
    models: createAnswers(),
    findGraph: async (_id, _hash, _meta, readText) => {
      const text = await readText();
      return text === undefined ? undefined : watch(readSavedDot(text, { nodeTypes }).graph);
    },
  });
  const resume: Engine['resume'] = engine.resume.bind(engine);
  return Object.assign(engine, { resume: (runId: string) => resume(runId, { retryFailed: false }) });
}

await runCrashScript({
  enter: (folder) => {
    process.chdir(folder);
    if (worksOnRepository) makeRepository(folder, name === 'release');
  },
  inspect: () =>
    worksOnRepository
      ? describeRepository(process.cwd())
      : ['notes.txt', 'verdict.txt', 'letter.txt']
          .map((file) => (existsSync(file) ? readFileSync(file, 'utf8') : ''))
          .join(''),
  graph: () =>
    readDot(readFileSync(join(import.meta.dirname, `${name}.dot`), 'utf8'), { nodeTypes, source: `${name}.dot` }).graph,
  input: {},
  answer: ({ prompt = '' }) => (prompt.includes('Publish') ? 'Yes' : undefined),
  decide: () => undefined,
  openStore: () => openSqliteStore({ path: 'runs.db' }),
  openEngine,
});
