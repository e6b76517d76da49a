/** What stands beside the pages of the site: the ways to them, as the guides' own table of contents has them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addressOf } from './assemble-pages.ts';
import { headingsOf } from './markdown.ts';

/** As VitePress takes them. */
export interface Entry {
  readonly text: string;
  readonly link: string;
}
interface Group {
  readonly text: string;
  readonly items: readonly Entry[];
  readonly collapsed?: boolean;
}
export type SiteMap = Readonly<Record<string, readonly Group[]>>;

function titleOf(root: string, path: string): string {
  return headingsOf(readFileSync(join(root, path), 'utf8'))[0]?.title ?? path;
}

/** The pages that a page names, in its order, each once, under the headings before them. */
function groupsOf(root: string, folder: string): readonly Group[] {
  const groups: { text: string; items: Entry[] }[] = [{ text: titleOf(root, `${folder}/README.md`), items: [] }];
  const seen = new Set<string>();
  for (const line of readFileSync(join(root, folder, 'README.md'), 'utf8').split('\n')) {
    const [, title] = /^## (.+)$/.exec(line) ?? [];
    if (title !== undefined) groups.push({ text: title, items: [] });
    for (const [, name = ''] of line.matchAll(/\]\(([^)/#]+\.md)(?:#[^)]*)?\)/g)) {
      const path = `${folder}/${name}`;
      if (seen.has(path) || !existsSync(join(root, path))) continue;
      seen.add(path);
      groups.at(-1)?.items.push({ text: titleOf(root, path), link: addressOf(path) });
    }
  }
  const left = readdirSync(join(root, folder))
    .map((name) => `${folder}/${name}`)
    .filter((path) => path.endsWith('.md') && !path.endsWith('README.md') && !seen.has(path));
  groups.at(-1)?.items.push(...left.map((path) => ({ text: titleOf(root, path), link: addressOf(path) })));
  return groups.filter(({ items }) => items.length > 0);
}

/** @param modules - the doors of the package, by the names of their pages below `api` */
export function siteMapOf(root: string, modules: readonly Entry[]): SiteMap {
  const more = [
    { text: 'Errors by code', link: addressOf('docs/errors.md') },
    { text: 'Changes', link: addressOf('CHANGELOG.md') },
    { text: 'Architecture', link: addressOf('ARCHITECTURE.md') },
    { text: 'Contributing', link: addressOf('CONTRIBUTING.md') },
  ];
  return {
    '/guide/': groupsOf(root, 'docs/guide'),
    '/spec/': groupsOf(root, 'docs/spec'),
    '/adr/': groupsOf(root, 'docs/adr'),
    '/api/': [{ text: 'Reference', items: modules }],
    '/': [...groupsOf(root, 'docs/guide'), { text: 'More', items: more }],
  };
}
