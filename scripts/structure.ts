/**
 * `npm run structure [-- FOLDER]`: the form of the sources in figures: how large files are, who imports whom, what is exported, and where a
 * name does not say what is in a file. Nothing fails on them.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import * as operations from '../src/operations/table.ts';
import { mutantsByRoom } from './mutants/all-mutants.ts';
import { before } from './structure/before.ts';
import { publicNames } from './structure/public-names.ts';
import { foreignImports, unrelatedGroups } from './structure/topics.ts';

const root = resolve(import.meta.dirname, '..');
const [top = 'src'] = process.argv.slice(2);
const paths = globSync(`${top}/**/*.ts`, { cwd: root }).filter((path) => !/\.(test|d)\.ts$/.test(path));
const files = paths.map((path) => {
  const text = readFileSync(join(root, path), 'utf8');
  const imports = [
    ...text.matchAll(/(?:^|\n)\s*(?:import|export)\b[^;]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/g),
  ].map(([, from, lazy]) => join(dirname(path), from ?? lazy ?? ''));
  const names = /\nexport (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type)\b/g;
  return {
    path,
    text,
    lines: text.split('\n').length - 1,
    targets: new Set(imports),
    exports: [...`\n${text}`.matchAll(names)].length,
  };
});

const known = new Set(paths);
const importers = new Map<string, number>();
for (const { targets } of files)
  for (const target of targets) if (known.has(target)) importers.set(target, (importers.get(target) ?? 0) + 1);

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const sizes = files.map(({ lines }) => lines).toSorted((a, b) => a - b);
const percentile = (share: number): number => sizes[Math.min(sizes.length - 1, Math.floor(sizes.length * share))] ?? 0;
const lines = sum(sizes);
const loners = files.filter(({ path }) => importers.get(path) === 1);
const exported = sum(files.map(({ exports }) => exports));

/** Lines that are neither blank nor of a comment alone. */
const codeLines = sum(
  files.map(
    ({ text }) =>
      text
        .replaceAll(/^\s*\/\*[^]*?\*\/\s*$/gm, '')
        .split('\n')
        .filter((line) => !/^\s*(?:\/\/|$)/.test(line)).length,
  ),
);

const groups = files.map(unrelatedGroups).filter((count) => count > 1);
const { foreign, all } = foreignImports(files);

/** Files outside the operations that take ten of them or more by name, as a list would. */
const operationNames = new Set(Object.values(operations).map(({ name }) => toCamel(name)));
const lists = files.filter(({ path, text }) => {
  const named = text.matchAll(/import (?:type )?\{([^}]*)\} from '[^']*operations\/[^']*'/g);
  const names = [...named].flatMap(([, list = '']) => list.split(',').map((name) => name.trim()));
  return !path.startsWith('src/operations/') && names.filter((name) => operationNames.has(name)).length >= 10;
});

function toCamel(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function unusedExports(): string {
  const knip = spawnSync('npx', ['knip', '--no-progress', '--no-config-hints', '--reporter', 'json'], {
    cwd: root,
    encoding: 'utf8',
  });
  const { issues } = JSON.parse(knip.stdout) as {
    readonly issues: readonly { readonly exports: readonly unknown[] }[];
  };
  return String(sum(issues.map((issue) => issue.exports.length)));
}

const doors = publicNames(root);
const rows: [string, string][] = [
  ['files / lines, no tests', `${files.length} / ${lines}`],
  ['lines without comments and blank lines', String(codeLines)],
  ['median / p90 lines a file', `${percentile(0.5)} / ${percentile(0.9)}`],
  ['import edges', String(sum([...importers.values()]))],
  ['lines per export', (lines / Math.max(1, exported)).toFixed(0)],
  ['files imported by one file only', `${loners.length} (${((100 * loners.length) / files.length).toFixed(0)} %)`],
  ['files of 60 lines or fewer with one importer', String(loners.filter((file) => file.lines <= 60).length)],
  ['files of several topics / groups in them', `${groups.length} / ${sum(groups)}`],
  ['imports of what the file’s name does not say', `${foreign} of ${all}`],
  ['exported values that no other file uses', unusedExports()],
  ['lists of operations beside the table', String(lists.length)],
  ['mutants', String(sum(Object.values(mutantsByRoom).map(({ length }) => length)))],
  ['public names, doors', `${sum([...doors.values()].map(({ length }) => length))}, ${doors.size}`],
];
for (const [door, names] of doors) rows.push([`  ${door}`, String(names.length)]);
console.log(`${''.padEnd(50)}${'now'.padEnd(16)}before`);
for (const [what, figure] of rows) console.log(`${what.padEnd(50)}${figure.padEnd(16)}${before[what] ?? ''}`.trimEnd());
