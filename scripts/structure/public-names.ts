/** The names that users import, by the door of the package at which each stands. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** @param root - the folder of package.json @returns the names of each door, sorted */
export function publicNames(root: string): ReadonlyMap<string, readonly string[]> {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  return new Map(
    Object.entries(manifest.exports).flatMap(([door, target]) => {
      if (typeof target === 'string') return [];
      const file = target.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts');
      return [[door, [...new Set(namesOf(join(root, file)))].toSorted()] as const];
    }),
  );
}

function namesOf(path: string): readonly string[] {
  const text = readFileSync(path, 'utf8');
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) =>
    list
      .split(',')
      .map((name) => name.trim().replace(/^type |^.* as /g, ''))
      .filter((name) => name !== ''),
  );
  const declared = text.matchAll(/^export (?:declare )?(?:async )?(?:function|const|class|interface|type) (\w+)/gm);
  const passedOn = text.matchAll(/^export \* from '(\.[^']+)'/gm);
  return [
    ...listed,
    ...[...declared].map(([, name = '']) => name),
    ...[...passedOn].flatMap(([, from = '']) => namesOf(join(dirname(path), from))),
  ];
}
