/** Whether every link of the documentation leads somewhere: to a file that is there, and in a page to a heading of it. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileOfLink, filesUrl, headingsOf, linksOf } from './markdown.ts';

/** Folders whose pages are looked at, besides those of the root itself. */
const folders = ['docs', 'examples', 'site'];

/** Every page of a project, by path from its root. */
function listPages(root: string): readonly string[] {
  const below = folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((path) => !/(?:^|[\\/])(?:node_modules|pages|dist)[\\/]/.test(path));
  return [...readdirSync(root), ...below].filter((path) => path.endsWith('.md')).sort();
}

/** @returns a line for each link that leads nowhere: its place, the target and why; addresses of the web are not requested */
export function brokenLinks(root: string, options: { readonly isPackage?: boolean } = {}): readonly string[] {
  const anchors = new Map<string, ReadonlySet<string>>();
  const anchorsOf = (path: string): ReadonlySet<string> => {
    const known = anchors.get(path) ?? new Set(headingsOf(readFileSync(path, 'utf8')).map(({ anchor }) => anchor));
    anchors.set(path, known);
    return known;
  };
  const faultOf = (page: string, target: string): string | undefined => {
    // A package has neither what is linked in the repository nor the pictures.
    if (options.isPackage && (target.startsWith(filesUrl) || target.startsWith('pictures/'))) return undefined;
    const found = fileOfLink(page, target);
    if (found === undefined) return undefined;
    const { anchor } = found;
    const file = join(root, found.file);
    if (!existsSync(file)) return 'there is no such file';
    if (relative(root, file).startsWith('..')) return 'it leads out of the project';
    if (anchor === undefined) return undefined;
    if (statSync(file).isDirectory() || !file.endsWith('.md')) return 'only a page has headings';
    return anchorsOf(file).has(anchor) ? undefined : `there is no heading ${anchor}`;
  };
  return listPages(root).flatMap((page) =>
    linksOf(readFileSync(join(root, page), 'utf8')).flatMap(({ target, line }) => {
      const fault = faultOf(page, target);
      return fault === undefined ? [] : [`${page}:${line} ${target}: ${fault}`];
    }),
  );
}
