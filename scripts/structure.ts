/** `npm run structure [-- FOLDER]`: the form of the sources in figures: how large files are, who imports whom, what is exported. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { publicNames } from './structure/public-names.ts';

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

const doors = publicNames(root);
const rows: readonly (readonly [string, string])[] = [
  ['files / lines, no tests', `${files.length} / ${lines}`],
  ['median / p90 lines a file', `${percentile(0.5)} / ${percentile(0.9)}`],
  ['import edges', String(sum([...importers.values()]))],
  ['lines per export', (lines / Math.max(1, exported)).toFixed(0)],
  ['files imported by one file only', `${loners.length} (${((100 * loners.length) / files.length).toFixed(0)} %)`],
  ['files of 60 lines or fewer with one importer', String(loners.filter((file) => file.lines <= 60).length)],
  ['public names, doors', `${sum([...doors.values()].map(({ length }) => length))}, ${doors.size}`],
  ['public names of the main door', String(doors.get('.')?.length)],
];
for (const [what, figure] of rows) console.log(`${what.padEnd(46)}${figure}`);
