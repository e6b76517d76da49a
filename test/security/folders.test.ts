/**
 * Folders that somebody else made: an unpacked archive can hold links, pipes and devices at any place. The oracles are the file system, in
 * which nothing outside of the folder may change, and the clock: a command that reads ends.
 */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { openFileStore } from '../../src/stores/file/index.ts';
import { environment, main } from '../cli/cairn.ts';
import { sample, scale } from '../support/scale.ts';
import { createBench, edges, graphOf, node, runToRest } from '../engine-kit.ts';

const top = mkdtempSync(join(tmpdir(), 'cairn-folders-'));
afterAll(() => rmSync(top, { recursive: true, force: true }));

const isUnix = process.platform !== 'win32';
const graph = graphOf('g', [node('a', 'pure', () => 'done')], edges('> a', 'a >'));

async function runIn(path: string, runId: string): Promise<void> {
  const store = openFileStore({ path });
  try {
    await runToRest(createBench({ store }).engine, graph, {}, runId);
  } finally {
    await store.close();
  }
}

/** What a thief, or a vandal, would have the store read or write. */
const targets: Readonly<Record<string, string>> = { 'no end of line': 'TOKEN=secret', lines: 'a\nb\n', empty: '' };
const places = [
  'store.jsonl',
  'lock',
  'runs',
  'runs/default',
  'runs/default/r.jsonl',
  'runs/default/new.jsonl',
] as const;
const kinds = ['link', 'pipe', 'device'] as const;

/** Puts something else at a place of a store. What it leads to has the content of the place, or that of a file of somebody. */
function plant(
  folder: string,
  place: string,
  kind: (typeof kinds)[number],
  content: string | undefined,
  outside: string,
): void {
  const path = join(folder, place);
  mkdirSync(dirname(path), { recursive: true });
  if (kind === 'link' && content === undefined && existsSync(path)) renameSync(path, outside);
  else {
    rmSync(path, { recursive: true, force: true });
    if (place === 'runs' || place === 'runs/default') mkdirSync(outside);
    else writeFileSync(outside, content ?? '');
  }
  if (kind === 'pipe') spawnSync('mkfifo', [path]);
  else symlinkSync(kind === 'device' ? '/dev/null' : outside, path);
}

/** All that stands outside: names and bytes. */
function contentOf(path: string): unknown {
  try {
    return readdirSync(path).map((name) => [name, contentOf(join(path, name))]);
  } catch {
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  }
}

test.skipIf(!isUnix)(
  'a store in a folder writes and reads nothing through what others put into it',
  { timeout: 600_000 },
  async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...places),
        fc.constantFrom(...kinds),
        fc.constantFrom(undefined, ...Object.values(targets)),
        fc.constantFrom('write', 'read'),
        async (place, kind, content, use) => {
          const folder = join(top, `store-${(count += 1)}`);
          const outside = `${folder}-outside`;
          await runIn(folder, 'r');
          plant(folder, place, kind, content, outside);
          const before = contentOf(outside);
          const end = await (
            use === 'write'
              ? runIn(folder, 'new')
              : (async () => openFileStore({ path: folder, readOnly: true }).close())()
          ).then(
            () => 'opened',
            (error: unknown) => (error as { readonly code?: string }).code,
          );
          expect([place, contentOf(outside)]).toEqual([place, before]);
          // Who only reads needs no lock.
          expect(end).toBe(place === 'lock' && use === 'read' ? 'opened' : 'STORE_CORRUPT');
        },
      ),
      { numRuns: scale(60, 1_000) },
    );
  },
);

const yaml = 'name: a\ndescription: d\nblocks:\n  - { id: a, type: Workflow, inputs: { workflow: elsewhere } }\n';
/** Places in a folder, and commands that read what is there. */
const looks: readonly (readonly [place: string, ...words: readonly string[]])[] = [
  ['cairn.config.json', 'completion', 'runs'],
  ['cairn.config.yaml', 'ls'],
  ['.cairn/cairn.db', 'ls'],
  ['store.db', 'ls', '--store', 'store.db'],
  ['beside.yaml', 'lint', 'a.yaml'],
  ['folder/store.jsonl', 'ls', '--store', 'file:folder'],
];

test.skipIf(!isUnix)(
  'no command that reads waits for a pipe or a device that stands in a folder',
  { timeout: 600_000 },
  () => {
    const all = looks.flatMap((look) => ['pipe', '/dev/zero'].map((kind) => [kind, ...look] as const));
    for (const [kind, place, ...words] of sample(all, 3, ([kind]) => kind)) {
      const cwd = mkdtempSync(join(top, 'look-'));
      writeFileSync(join(cwd, 'a.yaml'), yaml);
      mkdirSync(dirname(join(cwd, place)), { recursive: true });
      if (kind === 'pipe') spawnSync('mkfifo', [join(cwd, place)]);
      else symlinkSync(kind, join(cwd, place));
      const { signal } = spawnSync('node', [main, ...words], {
        cwd,
        env: environment(),
        timeout: 20_000,
        killSignal: 'SIGKILL',
      });
      expect([kind, place, ...words, signal]).toEqual([kind, place, ...words, null]);
    }
  },
);
