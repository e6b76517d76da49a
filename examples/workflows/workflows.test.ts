/** The example workflows, run as a user runs them: as commands, in a folder of their own, and killed. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { openFolder } from '../../test/cli/cairn.ts';
import { makeRepository } from '../release-notes/test-repository.ts';

// Each command is a process.
vi.setConfig({ testTimeout: 60_000 });
const folder = openFolder();
const names = [
  'approve-part',
  'crash-recovery',
  'interactive-approval',
  'multi-step-questionnaire',
  'nested-approval',
  'release-checklist',
];
beforeAll(() => {
  for (const name of names) cpSync(join(import.meta.dirname, `${name}.yaml`), join(folder.path, `${name}.yaml`));
});

/** Runs a command that is to end well, and gives what it printed. */
function cairn(...args: readonly string[]): string {
  const { code, out, err } = folder.cairn(...args);
  expect(`${code} ${code === 0 ? '' : err}`).toBe('0 ');
  return out;
}

const read = (file: string): string => readFileSync(join(folder.path, file), 'utf8');
const outputsOf = (run: string): unknown => folder.json('state', run, 'outputs.outputs');

test.each(names)('%s has nothing to be warned of', (name) => {
  const plan = cairn('plan', `${name}.yaml`);
  expect(plan).toContain(`${name} 1.0`);
  expect(plan).not.toContain('Warnings');
});

test('interactive-approval records a release after a yes, and none after a no', () => {
  cairn('run', 'interactive-approval.yaml', '--input', 'project=demo', '--run-id', 'yes');
  cairn('answer', 'yes', 'yes', '--resume');
  expect(JSON.parse(read('releases/demo-staging.json'))).toMatchObject({ project: 'demo', approved_with: 'yes' });
  cairn('run', 'interactive-approval.yaml', '--input', 'project=other', '--run-id', 'no');
  expect(cairn('answer', 'no', 'no', '--resume')).toContain('"approved": false');
  expect(folder.lines('releases/other-staging.json')).toEqual([]);
  cairn('run', 'interactive-approval.yaml', '--input', 'project=broken', '--run-id', 'broken');
  expect(outputsOf('broken')).toMatchObject({ checked: false, approved: null, record: null });
});

test('interactive-approval names all wrong inputs at once', () => {
  const { code, err } = folder.cairn(
    'run',
    'interactive-approval.yaml',
    '--input',
    'environment=moon',
    '--input',
    'x=1',
  );
  expect(code).toBe(2);
  for (const name of ['project', 'environment', 'x']) expect(err).toContain(name);
});

test('a fork answers otherwise, and the first run stays as it is', () => {
  cairn('run', 'interactive-approval.yaml', '--input', 'project=forked', '--run-id', 'first');
  cairn('answer', 'first', 'no', '--resume');
  cairn('fork', 'first', '--answer', 'approve=yes', '--run-id', 'second', '--run');
  expect(outputsOf('first')).toMatchObject({ approved: false, record: null });
  expect(outputsOf('second')).toMatchObject({ approved: true });
  expect(folder.lines('releases/forked-staging.json')).toHaveLength(1);
});

test('multi-step-questionnaire asks four times, one question built on another', () => {
  cairn('run', 'multi-step-questionnaire.yaml', '--run-id', 'wizard');
  cairn('answer', 'wizard', 'yes', '--resume');
  expect(folder.cairn('answer', 'wizard', '7').err).toContain('1 to 3');
  cairn('answer', 'wizard', '2', '--resume');
  expect(folder.cairn('answer', 'wizard', 'Not This').err).toContain('ANSWER_INVALID');
  expect(cairn('answer', 'wizard', 'trail', '--resume')).toContain('- Kind: service');
  cairn('answer', 'wizard', 'y', '--resume');
  expect(JSON.parse(read('projects/trail/project.json'))).toEqual({ name: 'trail', kind: 'service' });
});

test('nested-approval has a question open for each part, answered in any order', () => {
  expect(cairn('run', 'nested-approval.yaml', '--run-id', 'parts')).toContain('3 open');
  cairn('answer', 'parts', 'decide/approve-part[method]/ask', '2');
  cairn('answer', 'parts', 'decide/approve-part[results]/ask', 'publish', '--resume');
  cairn('answer', 'parts', 'decide/approve-part[intro]/ask', 'Publish');
  expect(cairn('resume', 'parts')).toContain('Why is method not published?');
  cairn('answer', 'parts', 'too thin', '--resume');
  expect(read('published/parts.txt')).toBe('intro\nresults');
});

test('release-checklist looks at a git repository and tags it, once', () => {
  const repository = makeRepository(join(folder.path, 'repo'), 'Add a stone', 'Fix a stone');
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', repository, ...args], { encoding: 'utf8' }).trim();
  // A tag with a message needs somebody who made it.
  git('config', 'user.name', 'Tester');
  git('config', 'user.email', 'tester@localhost');
  const question = cairn('run', 'release-checklist.yaml', '--input', `repository=${repository}`, '--run-id', 'release');
  expect(question).toContain('everything is committed: true');
  expect(question).toContain('there is a changelog: false');
  cairn('answer', 'release', 'yes', '--resume');
  expect(folder.cairn('answer', 'release', '1.0').err).toContain('ANSWER_INVALID');
  cairn('answer', 'release', 'v9.8.7', '--resume');
  expect(git('tag', '--points-at', 'HEAD').split('\n')).toContain('v9.8.7');
  const tag = git('rev-parse', 'v9.8.7');
  cairn('fork', 'release@0', '--run-id', 'again', '--run');
  expect(git('rev-parse', 'v9.8.7')).toBe(tag);
});

test(
  'P1 P2 crash-recovery, killed with SIGKILL again and again, leaves one line for each part',
  { timeout: 120_000 },
  async () => {
    const given = ['--input', 'seconds=0.15', '--input', 'folder=ledger-of-run'];
    let deaths = 0;
    const ledger = 'ledger-of-run/ledger';
    for (let args = ['run', 'crash-recovery.yaml', '--run-id', 'killed', ...given]; ; args = ['resume', 'killed']) {
      const before = folder.lines(ledger).length;
      const child = folder.start(...args);
      child.stdout?.resume();
      child.stderr?.resume();
      const isOver = once(child, 'exit').then(() => true);
      // It lives until it has left another line, and dies with the next step under way.
      const hasMore = (async () => {
        while (folder.lines(ledger).length <= before && child.exitCode === null)
          await new Promise((wake) => setTimeout(wake, 5));
        return false;
      })();
      if (await Promise.race([isOver, hasMore])) break;
      child.kill('SIGKILL');
      await isOver;
      deaths += 1;
      if (deaths > 30) throw new Error('it does not come to an end');
    }
    expect(deaths).toBeGreaterThan(2);
    cairn('resume', 'killed');
    expect(outputsOf('killed')).toMatchObject({ fetched: 4, published: true });
    const lines = folder.lines(ledger).map((line) => line.slice(line.indexOf(' ') + 1));
    expect(lines.toSorted((a, b) => a.localeCompare(b))).toEqual([
      'fetch east',
      'fetch north',
      'fetch south',
      'fetch west',
      'publish 4 files',
    ]);
  },
);
