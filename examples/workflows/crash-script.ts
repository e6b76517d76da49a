/** Any workflow of a folder as a script of the crash kit: it lives in its trial's folder, and CRASH_CASE tells it what to run and to say. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystemIds } from '../../src/app/process/process-ids.ts';
import { systemClock } from '../../src/app/process/system-clock.ts';
import { createFileBlobs } from '../../src/blobs/file-blobs.ts';
import { readBundle, readWorkflow } from '../../src/dialects/yaml/index.ts';
import type { Engine, OpenQuestion } from '../../src/engine/api.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import type { Graph } from '../../src/graph/graph.ts';
import type { Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { runCrashScript } from '../../src/testing/crash-kit/crash-processes.ts';
import { git, makeRepository } from '../release-notes/test-repository.ts';

export interface WorkflowCrashCase {
  /** Folder of the workflows. */
  readonly workflows: string;
  readonly name: string;
  readonly input?: object;
  /** What is said to a question, by a part of its prompt. */
  readonly answers?: Readonly<Record<string, string>>;
  /** Whether it works on a git repository, `repo`. */
  readonly hasRepository?: boolean;
}

const {
  workflows,
  name,
  input = {},
  answers = {},
  hasRepository = false,
} = JSON.parse(process.env['CRASH_CASE'] ?? '{}') as WorkflowCrashCase;

function enter(folder: string): void {
  process.chdir(folder);
  if (!hasRepository || existsSync('repo')) return;
  // The same commits in every trial.
  Object.assign(process.env, { GIT_AUTHOR_DATE: '1700000000 +0000', GIT_COMMITTER_DATE: '1700000000 +0000' });
  makeRepository('repo', 'Add a stone', 'Fix a stone');
  git('repo', 'config', 'user.name', 'Ada');
  git('repo', 'config', 'user.email', 'ada@example.org');
}

const nodeTypes = createNodeTypes();

function readGraph(): ReturnType<typeof readWorkflow>['graph'] {
  const names = readdirSync(workflows).flatMap((file) => (file.endsWith('.yaml') ? [file.slice(0, -5)] : []));
  const textOf = (called: string) => ({
    text: readFileSync(join(workflows, `${called}.yaml`), 'utf8'),
    source: `${called}.yaml`,
  });
  const texts = {
    get: (called: string) => (names.includes(called) ? textOf(called) : undefined),
    names: () => names,
  };
  return readWorkflow(textOf(name).text, { nodeTypes, source: `${name}.yaml`, workflows: texts }).graph;
}

/** A run that is there goes on from the text that is kept with it. */
function openEngine(store: Store, _folder: string, watch: (graph: Graph) => Graph): Engine {
  const engine = createEngine({
    store,
    blobs: createFileBlobs('blobs'),
    clock: systemClock,
    ids: createSystemIds(),
    findGraph: async (_id, _hash, _meta, readText) => {
      const text = await readText();
      return text === undefined ? undefined : watch(readBundle(text, { nodeTypes }).graph);
    },
  });
  const resume: Engine['resume'] = engine.resume.bind(engine);
  return Object.assign(engine, { resume: (runId: string) => resume(runId, { retryFailed: false }) });
}

function answer({ prompt = '' }: OpenQuestion): string | undefined {
  return Object.entries(answers).find(([part]) => prompt.includes(part))?.[1];
}

/** A person looks whether the key of the effect stands in the ledger; of what leaves nothing there, the kit knows whether it was called. */
function decide({ metadata }: OpenQuestion): unknown {
  const { key } = metadata as { readonly key: string };
  if (!existsSync('ledger') || !readFileSync('ledger', 'utf8').includes(key)) return undefined;
  return { decision: 'happened', output: { exit_code: 0, stdout: '', stderr: '', success: true } };
}

/** Every file that the workflow left, its lines sorted, since some come from work side by side; and the tags of the repository. */
function readOutside(): string {
  const own = /^(runs\.db.*|blobs|repo|effects\.jsonl|calls\.jsonl|result\.json)$/;
  const files = readdirSync('.', { recursive: true, encoding: 'utf8', withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    return entry.isFile() && !own.test(path.split('/')[0] ?? '') ? [path] : [];
  });
  const texts = files.map((path) => `${path}:\n${readFileSync(path, 'utf8').split('\n').toSorted().join('\n')}`);
  const format = '--format=%(refname) %(objecttype) %(*objectname) %(subject)';
  const tags = hasRepository
    ? execFileSync('git', ['-C', 'repo', 'for-each-ref', format, 'refs/tags'], { encoding: 'utf8' })
    : '';
  return [...texts.toSorted(), tags].join('\n');
}

await runCrashScript({
  enter,
  inspect: readOutside,
  // Whether a file that is written again was there before is another matter.
  varies: ['outputs.*.created'],
  graph: readGraph,
  input,
  answer,
  decide,
  openStore: () => openSqliteStore({ path: 'runs.db' }),
  openEngine,
});
