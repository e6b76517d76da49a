/** The review on its cassette, on a repository made on the fly, and as the demo shows it (L11, A30, A32). */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { createCassetteModels, createScriptedModels, type Models } from '../../src/models/index.ts';
import { git, makeRepository } from '../release-notes/test-repository.ts';
import { repoReview } from './graph.ts';
import { builtMain } from '../../test/support/built-package.ts';
import { cassette } from './models.ts';
import { recordCassette } from './record.ts';
import { createReviewer } from './reviewer.ts';
import { makeSampleRepository } from './sample-repository.ts';

const top = mkdtempSync(join(tmpdir(), 'cairn-repo-review-'));
afterAll(() => rmSync(top, { recursive: true, force: true }));

const example = (file: string): string => join(import.meta.dirname, file);

/** The report on a repository, with the findings that are kept. */
async function reviewed(models: Models, repo: string, keep: string): Promise<string> {
  const compiled = repoReview.compile({ models });
  const out = `${repo}-review.md`;
  let result = await compiled.invoke({ repo, out });
  const [wait] = result.waits;
  if (wait !== undefined)
    result = await compiled.resume(result.runId, {
      answers: { [wait.waitId]: keep },
    });
  await compiled.close();
  expect(result.error).toBeUndefined();
  return readFileSync(out, 'utf8');
}

test('L11 the review runs on its cassette, and the report holds the findings that a person kept', async () => {
  const repo = makeSampleRepository(join(top, 'sample'));
  expect(await reviewed(createCassetteModels({ path: cassette }), repo, '1,3')).toBe(`# Review

## Text is run as code

src/filter.js:3, high

Whoever can change this text runs programs here. Read it as data.

## A failure is swallowed

src/register.js:6, high

Nobody learns that this failed, and what follows works with what is not there. Handle it, or let it pass.
`);
});

test('L11 the cassette is what the recorder makes: after a change of prompt or tools, run node examples/repo-review/record.ts', async () => {
  const path = join(top, 'again.jsonl');
  await recordCassette(path, createReviewer());
  expect(readFileSync(path, 'utf8').split('\n')).toEqual(readFileSync(cassette, 'utf8').split('\n'));
});

test('another repository is reviewed as it is, and one without faults needs no person', async () => {
  const repo = makeRepository(join(top, 'other'), 'Begin');
  writeFileSync(join(repo, 'a file.js'), 'const id = Math.random();\n\ntry { go(); } catch (error) {}\n');
  git(repo, 'add', '--all');
  const report = await reviewed(createReviewer(), repo, 'all');
  expect(report.match(/^a file\.js:\d+, \w+$/gmu)).toEqual(['a file.js:1, medium', 'a file.js:3, high']);
  expect(await reviewed(createReviewer(), repo, 'none')).toBe('# Review\n\nNothing to report.\n');
  const clean = makeRepository(join(top, 'clean'), 'Begin');
  expect(await reviewed(createReviewer(), clean, 'all')).toBe('# Review\n\nNothing to report.\n');
});

test('A32 the agent runs nothing but commands of git that look', async () => {
  const commands = [
    ['git', 'push'],
    ['git', 'log', '--output=x'],
    ['git', '-c', 'core.pager=x', 'log'],
    ['sh', '-c', 'x'],
    ['git', 'status', '--short'],
  ];
  const models = createScriptedModels([
    {
      calls: commands.map((command) => ({ tool: 'shell', input: { command } })),
    },
    '{"findings":[]}',
  ]);
  await reviewed(models, makeRepository(join(top, 'looked'), 'Begin'), 'none');
  const told = models.requests[1]?.messages.at(-1);
  const outputs = told?.role === 'tool' ? told.content.map(({ output }) => output) : [];
  const refusal = 'shell failed: only git log, show, diff, status and blame may be run here';
  expect(outputs).toEqual([refusal, refusal, refusal, refusal, { exitCode: 0, stdout: '' }]);
});

test('the demo stops at its question without a terminal, and prints the command that answers it', async () => {
  const folder = join(top, 'demo');
  mkdirSync(folder);
  const run = promisify(execFile);
  const env = { ...process.env, npm_lifecycle_event: 'cairn' };
  const { stdout, stderr } = await run(process.execPath, [example('../demo.ts'), 'agent', '--run-id', 'r'], {
    cwd: folder,
    env,
  });
  const text = `${stdout}${stderr}`;
  expect(text).toContain('1. [high] src/filter.js:3 Text is run as code');
  const [, printed = ''] = /npm run -s cairn -- (answer r w_[A-Za-z0-9_-]+ .*)$/mu.exec(text) ?? [];
  expect(printed).toContain('--config');
  const config = ['--config', example('cairn.config.ts')];
  await run(process.execPath, [builtMain, 'answer', 'r', 'keep', '2', '--resume', ...config], {
    cwd: folder,
    env,
  });
  expect(readFileSync(join(folder, '.cairn/demo/REVIEW.md'), 'utf8')).toContain('## Unfinished work');
});
