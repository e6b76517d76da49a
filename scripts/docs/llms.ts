/** The documentation for language models: `llms.txt` names every page, `llms-full.txt` has them all. See llmstxt.org. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addressOf } from './assemble-pages.ts';
import { headingsOf, proseLines } from './markdown.ts';

const sections: readonly (readonly [title: string, isIn: (path: string) => boolean])[] = [
  ['Guides', (path) => path.startsWith('docs/guide/')],
  ['Specification', (path) => path.startsWith('docs/spec/') || path === 'docs/errors.md'],
  ['Optional', (path) => path.startsWith('docs/adr/') || !path.startsWith('docs/')],
];

/** The first paragraph's first sentence. */
function firstSentence(text: string): string {
  const paragraph = proseLines(text).find((line) => /^[\p{L}`*[]/u.test(line)) ?? '';
  return (/^.*?[.:](?= |$)/.exec(paragraph)?.[0] ?? paragraph)
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/:$/, '.');
}

/** @param pages - paths from the root @param summary - one line */
export function llmsTexts(
  root: string,
  pages: readonly string[],
  { name, summary }: { readonly name: string; readonly summary: string },
): { readonly index: string; readonly full: string } {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8').trimEnd();
  const lineOf = (path: string): string => {
    const text = read(path);
    const address = addressOf(path);
    const link = address.endsWith('/') ? `${address}index.md` : `${address}.md`;
    return `- [${headingsOf(text)[0]?.title ?? path}](${link}): ${firstSentence(text)}`;
  };
  const listed = sections.flatMap(([title, isIn]) => [`\n## ${title}\n`, ...pages.filter(isIn).map(lineOf)]);
  const full = sections.slice(0, 2).flatMap(([, isIn]) => pages.filter(isIn));
  return {
    index: `${[`# ${name}`, '', `> ${summary}`, ...listed].join('\n')}\n`,
    full: full.map((path) => `<!-- ${path} -->\n\n${read(path)}\n`).join('\n'),
  };
}
