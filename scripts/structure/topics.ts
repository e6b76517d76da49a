/** Where a name does not say what is in a file. Both measures rank candidates for a reader's judgement; neither is a goal. */
import { basename, dirname, join } from 'node:path';

/** A source file: its path from the root, and its text. */
export interface SourceText {
  readonly path: string;
  readonly text: string;
}

const declaration =
  /^(?:export )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type) +([A-Za-z_$][\w$]*)/gm;

/** Parts of a file, each begun by a line comment that stands alone between blank lines. */
function partsOf(text: string): readonly string[] {
  return text.replaceAll(/^import[^]*?from '.*';$/gm, '').split(/\n\n(?=(?:\/\/ [^\n]*\n)+\n)/);
}

/** How many groups of a file's parts never mention each other; 1 if it has one topic. */
export function unrelatedGroups({ text }: SourceText): number {
  const parts = partsOf(text).flatMap((part) => {
    const names = [...part.matchAll(declaration)].map(([, name = '']) => name);
    return names.length === 0 ? [] : [{ names, words: new Set(part.match(/(?<![\w$.])[A-Za-z_$][\w$]*/g)) }];
  });
  const groups: Set<number>[] = [];
  parts.forEach(({ names, words }, index) => {
    const related = groups.filter((group) =>
      [...group].some(
        (other) =>
          parts[other]?.names.some((name) => words.has(name)) || names.some((name) => parts[other]?.words.has(name)),
      ),
    );
    const merged = new Set([index, ...related.flatMap((group) => [...group])]);
    groups.splice(0, groups.length, ...groups.filter((group) => !related.includes(group)), merged);
  });
  return groups.length;
}

const stemsOf = (text: string): readonly string[] =>
  text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word.length > 2)
    .map((word) => word.replace(/(?:ies|es|s|ed|ing)$/, '').slice(0, 5));

/** Imports that take only what the name of the file does not say, and all: the imported names share no word with it. */
export function foreignImports(files: readonly SourceText[]): { readonly foreign: number; readonly all: number } {
  const found = files.flatMap(({ path, text }) =>
    [...text.matchAll(/^(?:import|export) (?:type )?\{([^}]*)\} from '(\.[^']*)';/gm)].flatMap(
      ([, list = '', from = '']) => {
        const name = basename(join(dirname(path), from)).replace(/\.tsx?$/, '');
        if (name === 'index') return [];
        const own = new Set(stemsOf(name));
        const names = list.split(',').map((each) =>
          each
            .trim()
            .replace(/^type /, '')
            .replace(/ as .*/, ''),
        );
        return [names.filter((each) => each !== '').every((each) => !stemsOf(each).some((word) => own.has(word)))];
      },
    ),
  );
  return { foreign: found.filter(Boolean).length, all: found.length };
}
