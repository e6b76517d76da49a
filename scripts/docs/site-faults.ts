/** Checks a built site: whatever a page loads or links within the site is there, and nothing is loaded from elsewhere. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One sentence for each fault. @param folder - the built site */
export function siteFaults(folder: string): readonly string[] {
  const pages = globSync('**/*.html', { cwd: folder }).toSorted();
  const texts = new Map(pages.map((page) => [page, readFileSync(join(folder, page), 'utf8')]));
  const faults = new Set<string>();
  for (const [page, html] of texts) {
    for (const [, tag = '', address = ''] of html.matchAll(/<(\w+)\b[^>]*?\s(?:href|src)="([^"]*)"/g)) {
      const fault = /^(?:\w+:)?\/\//.test(address) ? loadedFault(tag) : linkFault(folder, texts, page, address);
      if (fault !== undefined) faults.add(`${page}: ${address} ${fault}`);
    }
  }
  const list = readFileSync(join(folder, 'llms.txt'), 'utf8');
  for (const [, path = ''] of list.matchAll(/\]\(\/([^)]*)\)/g))
    if (!existsSync(join(folder, path))) faults.add(`llms.txt: /${path} is not there`);
  const hasSearch = globSync('assets/**/*localSearchIndex*', { cwd: folder }).length > 0;
  if (!hasSearch) faults.add('there is no index for the search');
  return [...faults];
}

/** A page may lead elsewhere, but needs nothing from there. */
function loadedFault(tag: string): string | undefined {
  return tag === 'a' ? undefined : 'is loaded from elsewhere';
}

function linkFault(
  folder: string,
  texts: ReadonlyMap<string, string>,
  page: string,
  address: string,
): string | undefined {
  if (/^(?:mailto|data):/.test(address)) return undefined;
  const { pathname, hash } = new URL(address, `http://site/${page}`);
  const path = decodeURIComponent(pathname.slice(1));
  const target = [path, `${path}.html`, join(path, 'index.html')].find((each) => isFile(folder, texts, each));
  if (target === undefined) return 'is not there';
  const id = decodeURIComponent(hash.slice(1));
  const html = texts.get(target);
  if (id === '' || html === undefined || html.includes(` id="${id}"`)) return undefined;
  return 'leads to no heading';
}

function isFile(folder: string, texts: ReadonlyMap<string, string>, path: string): boolean {
  return texts.has(path) || (/\.\w+$/.test(path) && existsSync(join(folder, path)));
}
