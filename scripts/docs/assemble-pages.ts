/** Lays the pages of the documentation out as the site has them, every link leading to where its target is there. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileOfLink, linksOf } from './markdown.ts';

/** Pages outside of `docs` that the site has too, by path from the root, and their names there. */
const rootPages: ReadonlyMap<string, string> = new Map([
  ['README.md', 'index.md'],
  ['ARCHITECTURE.md', 'architecture.md'],
  ['CONTRIBUTING.md', 'contributing.md'],
  ['CHANGELOG.md', 'changes.md'],
]);

const isPicture = (path: string): boolean => /^docs\/guide\/pictures\/[\w-]+\.webp$/u.test(path);

/** Where a file of the project stands in the site; undefined: it is neither a page nor a picture. */
export function placeInSite(path: string): string | undefined {
  const known = rootPages.get(path);
  if (known !== undefined) return known;
  if (isPicture(path)) return path.slice('docs/'.length);
  if (!path.startsWith('docs/') || !path.endsWith('.md')) return undefined;
  return path.slice('docs/'.length).replace(/(^|\/)README\.md$/, '$1index.md');
}

export interface Project {
  readonly root: string;
  /** Where its files can be looked at: what is no page is linked there. */
  readonly filesUrl: string;
}

/** A link as the site has it, from a page at `path`. */
function linkInSite({ root, filesUrl }: Project, path: string, target: string): string {
  const link = target.startsWith('#') ? undefined : fileOfLink(path, target);
  if (link === undefined) return target;
  const { file: found, anchor } = link;
  const isFolder = existsSync(join(root, found)) && statSync(join(root, found)).isDirectory();
  const place = placeInSite(isFolder ? join(found, 'README.md') : found);
  const isThere = place !== undefined && existsSync(join(root, isFolder ? join(found, 'README.md') : found));
  if (!isThere) return `${filesUrl}/${found.replaceAll('\\', '/')}`;
  const from = dirname(placeInSite(path) ?? '');
  const relation = relative(from, place);
  return `${relation.startsWith('.') ? relation : `./${relation}`}${anchor === undefined ? '' : `#${anchor}`}`;
}

/** The text of a page with its links as the site has them. */
function pageInSite(project: Project, path: string): string {
  const text = readFileSync(join(project.root, path), 'utf8');
  const byLine = Map.groupBy(linksOf(text), ({ line }) => line);
  return text
    .split('\n')
    .map((line, index) =>
      (byLine.get(index + 1) ?? []).reduce(
        (changed, { target }) => changed.replace(`](${target})`, `](${linkInSite(project, path, target)})`),
        line,
      ),
    )
    .join('\n');
}

/** Writes all pages into a folder, which is emptied before. @returns their paths in the project */
export function assemblePages(project: Project, folder: string): readonly string[] {
  rmSync(folder, { recursive: true, force: true });
  const docs = readdirSync(join(project.root, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) =>
    join('docs', name),
  );
  const pages = [...rootPages.keys(), ...docs.sort()].filter(
    (path) => placeInSite(path) !== undefined && existsSync(join(project.root, path)),
  );
  for (const path of pages) {
    const place = join(folder, placeInSite(path) ?? basename(path));
    mkdirSync(dirname(place), { recursive: true });
    if (isPicture(path)) cpSync(join(project.root, path), place);
    else writeFileSync(place, pageInSite(project, path));
  }
  const shown = join(project.root, 'site/public');
  if (existsSync(shown)) cpSync(shown, join(folder, 'public'), { recursive: true });
  return pages.filter((path) => !isPicture(path));
}

/** The address of a page in the site, without the ending of its file. */
export function addressOf(path: string): string {
  return `/${(placeInSite(path) ?? path).replace(/(?:^|(?<=\/))index\.md$|\.md$/, '')}`;
}
