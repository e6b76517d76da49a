/** The folder of a run: what is in it, whose it is, and where it may stand. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { digraph, runDot } from '../../../test/dot-kit.ts';
import { rowOf } from '../../../test/engine-kit.ts';
import { explainChoice } from '../../dialects/explain-choice.ts';
import type { StatePlace } from '../../history/access/place.ts';
import type { ResolvedReference } from '../../history/read/references.ts';
import { writeRunFolder } from './run-folder.ts';

let top = '';
let place: StatePlace;
let found: ResolvedReference;
beforeEach(async () => {
  top = mkdtempSync(join(tmpdir(), 'cairn-folder-'));
  mkdirSync(join(top, 'work'));
  const { bench, result } = await runDot(
    digraph('work [retry_target=mend, prompt="Do it."]\nstart -> work -> exit\nmend -> work', 'graph [goal="Ship"]'),
    {
      script: {
        work: [
          { status: 'fail', failureReason: 'no' },
          {
            status: 'success',
            response: 'All of it.',
            contextUpdates: {
              password: 'hunter2',
              long: 'x'.repeat(300_000),
              config: { token: 'hunter2', text: 'y'.repeat(300_000) },
            },
          },
        ],
      },
    },
  );
  const run = await rowOf(bench, result.runId);
  const { store, blobs } = bench.options;
  place = {
    tenant: run.tenant,
    store,
    blobs,
    isWorkerDead: () => undefined,
    now: () => 0,
    explainChoice: () => Promise.resolve(explainChoice),
  };
  found = { run, seq: run.head };
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const workspaces = (): { readonly workspaces: readonly string[] } => ({ workspaces: [join(top, 'work')] });
const read = (...path: readonly string[]): unknown => JSON.parse(readFileSync(join(top, 'out', ...path), 'utf8'));

test('DOT32 a manifest, a checkpoint for each stage that ended, a folder for each visit, artifacts, and all that happened', async () => {
  const { visits, checkpoints, artifacts } = await writeRunFolder(place, found, join(top, 'out'), workspaces());
  expect(read('manifest.json')).toMatchObject({
    runId: found.run.runId,
    status: 'completed',
    goal: 'Ship',
    visits,
    checkpoints,
  });
  const stages = readdirSync(join(top, 'out/stages'));
  expect(stages.map((name) => name.slice(7))).toEqual(['start@1', 'work@1', 'mend@1', 'work@2', 'exit@1', 'outputs@1']);
  const [, failed = '', , worked = ''] = stages;
  expect(read('stages', failed, 'status.json')).toMatchObject({
    outcome: 'fail',
    failure_reason: 'no',
    edges: [{}, { to: 'mend', fired: true }],
  });
  expect(readFileSync(join(top, 'out/stages', worked, 'response.md'), 'utf8')).toBe('All of it.\n');
  expect(readFileSync(join(top, 'out/stages', worked, 'prompt.md'), 'utf8')).toBe('Do it.\n');
  const files = readdirSync(join(top, 'out/checkpoints'));
  expect(files).toHaveLength(checkpoints);
  expect(read('checkpoints', files.find((name) => name.endsWith('mend.json')) ?? '')).toMatchObject({
    currentNode: 'mend',
    selectedEdge: { to: 'work' },
  });
  const events = readFileSync(join(top, 'out/events.ndjson'), 'utf8').trimEnd().split('\n');
  expect(events.map((line) => (JSON.parse(line) as { readonly seq: number }).seq)).toEqual(events.map((_, seq) => seq));
  expect(artifacts).toBeGreaterThan(0);
  expect(readdirSync(join(top, 'out/artifacts'))).toHaveLength(artifacts);
});

test('C2.1 P14 all of it is for the owner alone, and masked', async () => {
  await writeRunFolder(place, found, join(top, 'out'), workspaces());
  const all = readdirSync(join(top, 'out'), { recursive: true, encoding: 'utf8' }).map((name) =>
    join(top, 'out', name),
  );
  for (const path of [join(top, 'out'), ...all]) {
    const stat = statSync(path);
    expect([path, (stat.mode & 0o777).toString(8)]).toEqual([path, stat.isDirectory() ? '700' : '600']);
    expect(stat.isDirectory() ? '' : readFileSync(path, 'utf8')).not.toContain('hunter2');
  }
});

test('DOT32 it stands in no folder that stages can write, also not by a link, and nothing there is written over', async () => {
  const refuse = (folder: string): Promise<unknown> =>
    expect(writeRunFolder(place, found, join(top, folder), workspaces())).rejects.toMatchObject({
      code: 'USAGE_INVALID',
    });
  await refuse('work/out');
  await refuse('work');
  symlinkSync(join(top, 'work'), join(top, 'link'));
  await refuse('link/out');
  await refuse('nowhere/out');
  mkdirSync(join(top, 'full'));
  writeFileSync(join(top, 'full/mine.txt'), 'mine');
  await refuse('full');
  expect(readdirSync(join(top, 'full'))).toEqual(['mine.txt']);
  expect(readdirSync(join(top, 'work'))).toEqual([]);
});
