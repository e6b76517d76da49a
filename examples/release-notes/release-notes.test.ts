/** The example on a real repository, killed with a real SIGKILL in each of its nodes and resumed by another process (P1, P2). */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { RunResult } from '../../src/engine/api.ts';
import type { CompiledGraph } from '../../src/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { builtMain } from '../../test/support/built-package.ts';
import { sample } from '../../test/support/scale.ts';
import { graph, releaseNotes } from './graph.ts';
import { readLedger } from './ledger.ts';
import { git, makeRepository } from './test-repository.ts';

// Many processes on a machine that may have other work.
vi.setConfig({ testTimeout: 60_000, maxConcurrency: 2 });

const top = mkdtempSync(join(tmpdir(), 'cairn-release-notes-'));
const repo = join(top, 'repo');
const nodeIds = [...graph.graph.nodeIndex.keys()].filter((id) => !id.startsWith('__'));

beforeAll(() => {
  makeRepository(repo, 'Old news');
  git(repo, 'tag', 'v1.2.3');
  for (const subject of [
    'Add cairns',
    'Paint the hut',
    'fix(path): mend the bridge',
    'docs: draw a map',
    '$(touch x); `y` "z"',
  ])
    git(repo, 'commit', '--quiet', '--allow-empty', '-m', subject);
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

interface Walk {
  readonly folder: string;
  readonly input: { readonly repo: string; readonly out: string; readonly ledger: string };
}

function openWalk(name: string): Walk {
  const folder = join(top, name);
  mkdirSync(folder);
  return { folder, input: { repo, out: join(folder, 'NOTES.md'), ledger: join(folder, 'ledger.jsonl') } };
}

const runId = 'notes';
type Answers = Readonly<Record<string, unknown>>;
const edited: Answers = { approve: 'edit', title: 'Stones', version: '2.0.0' };

/** Does something with the graph over a walk's store, in this process. */
async function withGraph<T>({ folder }: Walk, act: (compiled: CompiledGraph) => Promise<T>): Promise<T> {
  const store = openSqliteStore({ path: join(folder, 'runs.db') });
  const compiled = releaseNotes.compile({ store }) as unknown as CompiledGraph;
  try {
    return await act(compiled);
  } finally {
    await compiled.close();
    await store.close();
  }
}

const start = (walk: Walk): Promise<RunResult> => withGraph(walk, (compiled) => compiled.invoke(walk.input, { runId }));

/** Resumes and answers until the run has ended. */
function finish(walk: Walk, answers: Answers, run = runId): Promise<RunResult> {
  return withGraph(walk, async (compiled) => {
    let result = await compiled.resume(run);
    while (result.waits.length > 0) {
      const [wait] = result.waits;
      const name = wait?.name === 'question' ? wait.node.at(-1) : wait?.name;
      result = await compiled.resume(run, { answers: { [wait?.waitId ?? '']: answers[name ?? ''] } });
    }
    return result;
  });
}

interface CommandEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly text: string;
}

const example = (file: string): string => join(import.meta.dirname, file);

function run(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CommandEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (text += bytes.toString()));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, text }));
  });
}

/** Kills a process in a node: the one that starts the run, or the one that goes on after the first answer. */
async function killIn(walk: Walk, node: string): Promise<CommandEnd> {
  const module = example('kill-in-node.ts');
  const store = ['--store', join(walk.folder, 'runs.db')];
  if (nodeIds.indexOf(node) <= nodeIds.indexOf('approve')) {
    const inputs = Object.entries(walk.input).flatMap(([key, value]) => ['--input', `${key}=${value}`]);
    return run(walk.folder, [builtMain, 'run', module, '--run-id', runId, ...inputs, ...store], { KILL_IN: node });
  }
  await start(walk);
  await withGraph(walk, (compiled) => compiled.answer(runId, 'approve', node === 'edit' ? 'edit' : 'approve'));
  return run(walk.folder, [builtMain, 'resume', runId, '--file', module, ...store], { KILL_IN: node });
}

/** What the outside saw: a line for each effect, under a key of its own, and one file. */
async function readEffects({ input, folder }: Walk): Promise<readonly string[]> {
  const entries = await readLedger(input.ledger);
  expect(new Set(entries.map(({ key }) => key)).size).toBe(entries.length);
  expect(readdirSync(folder).filter((name) => name.includes('NOTES'))).toEqual(['NOTES.md']);
  return entries.map(({ effect }) => effect).sort();
}
const eachOnce = ['draft Added', 'draft Changed', 'draft Documentation', 'draft Fixed', 'publish'];

it.concurrent.each(sample(nodeIds, 5))(
  'P1 P2 killed in %s, it is resumed by another process, with each effect once',
  async (node) => {
    const walk = openWalk(`killed-${node}`);
    const killed = await killIn(walk, node);
    expect(killed).toMatchObject({ signal: 'SIGKILL' });
    const { status, state } = await finish(walk, edited);
    expect(status).toBe('completed');
    const isEdited = state.outputs['approve'] === 'edit';
    expect(readFileSync(walk.input.out, 'utf8').split('\n')[0]).toBe(isEdited ? '# Stones 2.0.0' : '# repo 1.3.0');
    expect(await readEffects(walk)).toEqual(eachOnce);
  },
);

it('X2 a fork without a change does nothing again, and one with another answer only what depends on it', async () => {
  const walk = openWalk('forked');
  await start(walk);
  await finish(walk, { approve: 'approve' });
  const forkTo = (at: number | undefined, approve: string): Promise<RunResult> =>
    withGraph(walk, async (compiled) => {
      const from = at === undefined ? runId : { runId, seq: at };
      return compiled.resume(await compiled.fork(from, at === undefined ? { answers: { approve } } : {}));
    });
  expect((await forkTo(0, 'approve')).status).toBe('completed');
  expect((await forkTo(undefined, 'stop')).status).toBe('completed');
  expect(await readEffects(walk)).toEqual(eachOnce);
  const { runId: other, waits } = await forkTo(undefined, 'edit');
  expect(waits.map(({ name }) => name)).toEqual(['title']);
  const { status } = await finish(walk, edited, other);
  expect(status).toBe('completed');
  expect(await readEffects(walk)).toEqual([...eachOnce, 'publish']);
});

describe('input', () => {
  it('takes what subjects hold for text', async () => {
    const walk = openWalk('text');
    await start(walk);
    await finish(walk, { approve: 'approve' });
    expect(readFileSync(walk.input.out, 'utf8').replaceAll(/\([0-9a-f]{7,}\)/g, '(id)')).toBe(`# repo 1.3.0

## Added

- Add cairns (id)

## Changed

- $(touch x); \`y\` "z" (id)
- Paint the hut (id)

## Fixed

- Path: mend the bridge (id)

## Documentation

- Draw a map (id)

Thanks to Ada.
`);
  });

  async function notesOf(name: string, input: Readonly<Record<string, unknown>>): Promise<string> {
    const walk = openWalk(name);
    await start({ ...walk, input: { ...walk.input, ...input } });
    await finish(walk, { approve: 'approve' });
    return readFileSync(walk.input.out, 'utf8');
  }

  it('has nothing to say of a repository without commits', async () => {
    const empty = makeRepository(join(top, 'empty'));
    expect(await notesOf('of-empty', { repo: empty })).toBe('# empty 0.1.0\n\nNo changes.\n');
  });

  it('takes the last commits where there is no tag, and no more than it may', async () => {
    const subjects = Array.from({ length: 12 }, (_, index) => `Add stone ${index + 1}`);
    const notes = await notesOf('of-untagged', { repo: makeRepository(join(top, 'untagged'), ...subjects), limit: 10 });
    expect(notes.match(/^- /gm)?.length).toBe(10);
    expect(notes).toContain('Add stone 12 ');
  });

  it('takes the commits since a given one', async () => {
    expect((await notesOf('since', { since: 'HEAD~1' })).match(/^- /gm)?.length).toBe(1);
  });

  it.each([
    ['a folder without a repository', { repo: top }, `${top} is not in a git repository`],
    ['a commit that does not exist', { since: 'nope' }, 'bad revision'],
    ["an option in a commit's place", { since: '--output=x' }, 'bad revision'],
  ])('P6 fails with a clear error for %s', async (title, input, message) => {
    const walk = openWalk(title.replaceAll(/\W/g, '-'));
    const { status, error } = await start({ ...walk, input: { ...walk.input, ...input } });
    expect(status).toBe('failed');
    expect(error?.message).toContain(message);
  });
});

it('the demo stops at its question without a terminal, and prints the commands that go on', async () => {
  const { folder, input } = openWalk('demo');
  const inputs = Object.entries({ ...input, paceMs: 0 }).flatMap(([key, value]) => ['--input', `${key}=${value}`]);
  const env = { npm_lifecycle_event: 'cairn' };
  const demo = await run(folder, [example('demo.ts'), '--run-id', runId, ...inputs]);
  expect(demo).toMatchObject({ code: 0 });
  expect(demo.text).toMatch(new RegExp(`npm run -s cairn -- answer ${runId} w_[A-Za-z0-9_-]+ approve`, 'u'));
  const answered = await run(folder, [builtMain, 'answer', runId, 'approve', 'approve', '--resume'], env);
  expect(answered).toMatchObject({ code: 0 });
  expect(readFileSync(input.out, 'utf8')).toContain('# repo 1.3.0');
  expect(demo.text).not.toContain('start over');
  const again = await run(folder, [example('demo.ts'), '--run-id', runId, ...inputs]);
  expect(again.text).toContain(`To start over, take another id: npm run demo -- --run-id ${runId}-2`);
});
