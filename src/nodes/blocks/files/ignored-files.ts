/** Which files a search skips: the rules of .gitignore files, and patterns in their syntax. No other file imports the `ignore` package. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ignore, { type Ignore } from 'ignore';

/** Always skipped, unless a path is named explicitly: version histories, installed and built files, and files that are not text. */
const always: readonly string[] = [
  '.git/ .hg/ .svn/ node_modules/ vendor/ venv/ .venv/ env/ __pycache__/ build/ dist/',
  '*.log *.tmp *.swp *.so *.dll *.dylib *.exe *.o *.a *.class *.jar *.pyc',
  '*.zip *.tar *.gz *.tgz *.bz2 *.xz *.7z *.rar',
].flatMap((line) => line.split(' '));

/** Whether a file or folder is skipped. @param path - absolute, inside the folder */
export type IsIgnored = (path: string, isFolder: boolean) => boolean;

/** @param patterns - in the syntax of a .gitignore in the folder */
export function createIgnoreRules(folder: string, patterns: readonly string[], respectsGit: boolean): IsIgnored {
  const own = ignore().add([...always, ...patterns]);
  const readGit = createGitRules(folder);
  return (path, isFolder) => {
    const below = relative(folder, path) + (isFolder ? '/' : '');
    return own.ignores(below) || (respectsGit && readGit(path, isFolder));
  };
}

/** The .gitignore rules of the folder's repository, or of the folder alone. Rules in deeper folders win over those above them. */
function createGitRules(folder: string): IsIgnored {
  const top = findRepository(folder);
  const rules = new Map<string, Ignore | undefined>();
  const verdicts = new Map<string, boolean>([[top, false]]);
  const rulesOf = (place: string): Ignore | undefined => {
    if (!rules.has(place)) rules.set(place, readRules(place));
    return rules.get(place);
  };
  const isIgnored = (path: string, isFolder: boolean): boolean => {
    const parent = dirname(path);
    // As in git, a file in a skipped folder cannot be included again.
    if (path !== top && parent !== path && isFolderIgnored(parent)) return true;
    let verdict = false;
    for (let place = parent, deciding = true; deciding; place = dirname(place)) {
      const found = rulesOf(place)?.test(relative(place, path) + (isFolder ? '/' : ''));
      if (found?.ignored === true || found?.unignored === true) {
        verdict = found.ignored;
        deciding = false;
      }
      if (place === top || dirname(place) === place) deciding = false;
    }
    return verdict;
  };
  const isFolderIgnored = (path: string): boolean => {
    const known = verdicts.get(path) ?? isIgnored(path, true);
    verdicts.set(path, known);
    return known;
  };
  return isIgnored;
}

function findRepository(folder: string): string {
  for (let place = folder; ; place = dirname(place)) {
    if (existsSync(join(place, '.git'))) return place;
    if (dirname(place) === place) return folder;
  }
}

function readRules(place: string): Ignore | undefined {
  try {
    return ignore().add(readFileSync(join(place, '.gitignore'), 'utf8'));
  } catch {
    return undefined;
  }
}
