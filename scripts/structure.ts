/** `npm run structure [-- FOLDER]`: the form of the sources in figures: how large files are, who imports whom, what is exported. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

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

/** Names that a user can import, by the doors of package.json; the main door is counted with the others. */
function countPublicNames(): { readonly names: number; readonly doors: number } {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  const doors = Object.values(manifest.exports).flatMap((door) => (typeof door === 'string' ? [] : [door.default]));
  const names = doors.flatMap((door) => {
    const text = readFileSync(join(root, door.replace('./dist/', 'src/').replace(/\.js$/, '.ts')), 'utf8');
    const listed = [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, list = '']) =>
      list.split(',').filter((name) => name.trim() !== ''),
    );
    return [
      ...listed,
      ...text.matchAll(/^export (?:declare )?(?:async )?(?:function|const|class|interface|type) \w+/gm),
    ];
  });
  return { names: names.length, doors: doors.length };
}

const { names, doors } = countPublicNames();
const rows: readonly (readonly [string, string])[] = [
  ['files / lines, no tests', `${files.length} / ${lines}`],
  ['median / p90 lines a file', `${percentile(0.5)} / ${percentile(0.9)}`],
  ['import edges', String(sum([...importers.values()]))],
  ['lines per export', (lines / Math.max(1, exported)).toFixed(0)],
  ['files imported by one file only', `${loners.length} (${((100 * loners.length) / files.length).toFixed(0)} %)`],
  ['files of 60 lines or fewer with one importer', String(loners.filter((file) => file.lines <= 60).length)],
  ['public names, doors', `${names}, ${doors}`],
];
for (const [what, figure] of rows) console.log(`${what.padEnd(46)}${figure}`);
