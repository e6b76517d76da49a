/**
 * Runs the examples of docs/guide: each block that begins with ```ts run. What a line prints is compared with the comment behind
 * it, `console.log(x); // text`. All blocks are type-checked too, and so are the files they import, which begin with ```ts file=NAME.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { packageDoors } from './support/package-doors.ts';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'cairn-guide-'));
const execute = promisify(execFile);

// Where what the examples import is: the package by its doors, others as they are installed.
const doors = packageDoors;
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));

interface Example {
  readonly title: string;
  readonly path: string;
  readonly printed: readonly string[];
}

const guides = readdirSync(join(root, 'docs/guide')).filter((name) => name.endsWith('.md'));
const examples = guides.flatMap((guide) => readExamples(guide));

/** Runs the files given, one after another in one process, and prints what each of them printed, as JSON. */
const runner = `
  import { format } from 'node:util';
  const runs = [];
  for (const path of process.argv.slice(1)) {
    const lines = [];
    console.log = (...args) => lines.push(format(...args));
    try {
      await import(path);
      runs.push([path, { lines }]);
    } catch (error) {
      runs.push([path, { lines, error: String(error?.stack ?? error) }]);
    }
  }
  process.stdout.write(JSON.stringify(runs));
`;

/** Writes the files that the guides show, to be imported by examples and type-checked: blocks that begin with ```ts file=NAME. */
function writeShownFiles(): void {
  for (const guide of guides) {
    const text = readFileSync(join(root, 'docs/guide', guide), 'utf8');
    for (const [, name = '', code = ''] of text.matchAll(/^```ts file=(\S+)\.ts\n(.*?)^```$/gmsu)) {
      writeFileSync(join(folder, `${name}.ts`), toRun(code));
      writeFileSync(join(folder, `${name}.check.mts`), toCheck(code));
    }
  }
}

/** The code with URLs for the package's doors. */
function toRun(code: string): string {
  return code.replaceAll(/(from|import\() ?'([^']+)'/gu, (whole, word: string, name: string) => {
    const door = doors[name];
    return door === undefined ? whole : `${word} '${pathToFileURL(door).href}'`;
  });
}

/** The code with paths for the package's doors: the type checker takes paths, not URLs, and its own copies of the files shown. */
function toCheck(code: string): string {
  return code
    .replaceAll(/from '([^']+)'/gu, (whole, name: string) =>
      doors[name] === undefined ? whole : `from '${doors[name]}'`,
    )
    .replaceAll(/from '(\.[^']+)\.ts'/gu, "from '$1.check.mts'");
}

interface Run {
  readonly lines: readonly string[];
  readonly error?: string;
}

writeShownFiles();
const runs = runExamples();
// Each test reports it for its example.
runs.catch(() => undefined);

async function runExamples(): Promise<ReadonlyMap<string, Run>> {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', runner, '--'];
  const { stdout } = await execute(process.execPath, [...args, ...examples.map(({ path }) => path)], {
    cwd: folder,
    timeout: 300_000,
  });
  return new Map(JSON.parse(stdout) as [string, Run][]);
}

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function readExamples(guide: string): readonly Example[] {
  const text = readFileSync(join(root, 'docs/guide', guide), 'utf8');
  return [...text.matchAll(/^```ts run\n(.*?)^```$/gmsu)].map((match) => {
    const code = match[1] ?? '';
    const line = text.slice(0, match.index).split('\n').length;
    const path = join(folder, `${guide.replace('.md', '')}-${line}.mts`);
    writeFileSync(path, toRun(code));
    writeFileSync(path.replace('.mts', '.check.mts'), toCheck(code));
    const printed = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gmu)].map(([, comment = '']) => comment);
    return { title: `${guide}:${line}`, path, printed };
  });
}

test('there are examples in the guide', () => {
  expect(examples.length).toBeGreaterThan(0);
});

test.each(examples)('the example at $title prints what it says', { timeout: 330_000 }, async ({ path, printed }) => {
  const { lines, error } = (await runs).get(path) ?? {};
  expect(error).toBeUndefined();
  expect(lines).toEqual(printed);
});

test('the examples and the files shown fit the types', async () => {
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        typeRoots: [join(root, 'node_modules/@types')],
        types: ['node'],
        allowImportingTsExtensions: true,
        incremental: false,
        rewriteRelativeImportExtensions: false,
      },
      include: ['*.check.mts'],
    }),
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = await execute(process.execPath, [tsc, '--noEmit', '-p', folder]).catch(
    (error: unknown) => error as { stdout: string },
  );
  expect(stdout.split('\n').filter((line) => line.includes('.check.mts'))).toEqual([]);
}, 60_000);
