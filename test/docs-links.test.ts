/** The documentation: its links, and how its pages are laid out for the site. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { addressOf, assemblePages } from '../scripts/docs/assemble-pages.ts';
import { brokenLinks } from '../scripts/docs/check-links.ts';
import { llmsTexts } from '../scripts/docs/llms.ts';
import { headingsOf, linksOf } from '../scripts/docs/markdown.ts';
import { siteFaults } from '../scripts/docs/site-faults.ts';
import { siteMapOf } from '../scripts/docs/site-map.ts';

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

function project(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'cairn-docs-'));
  folders.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const small = {
  'README.md': '# Small\n\nIt is small. See [guides](docs/guide/) and [one](docs/guide/one.md#a-code-and-more).\n',
  'docs/guide/README.md': '# Guides\n\nIn short.\n\n## Start\n\n1. [One](one.md): the first.\n',
  'docs/guide/one.md':
    '# One\n\nThe first page: short. More.\n\n## A `code`, and more\n\n## Twice\n\n## Twice\n\n[back](README.md), [file](../../src/a.ts), [web](https://example.org/x)\n',
  'docs/guide/two.md': '# Two\n\nThe second.\n',
  'src/a.ts': '',
};

test('P6 links and headings are those of the prose, code is passed over', () => {
  const text =
    '# A\n\n`[no](x.md)` [yes](y.md#b) ![shown](z.png)\n\n```md\n# No\n[no](x.md)\n```\n\n## [B](c.md) *is* `d.e`\n## B is de\n';
  expect(linksOf(text)).toEqual([
    { target: 'y.md#b', line: 3 },
    { target: 'z.png', line: 3 },
    { target: 'c.md', line: 10 },
  ]);
  expect(headingsOf(text).map(({ anchor }) => anchor)).toEqual(['a', 'b-is-de', 'b-is-de-1']);
});

test('P6 a link to a file or a heading that is not there is told with its place', () => {
  expect(brokenLinks(project(small))).toEqual([]);
  const root = project({
    ...small,
    'docs/guide/two.md':
      '# Two\n\n[a](gone.md) [b](one.md#twice-1)\n[c](one.md#twice-2) [d](#two) [e](#three) [f](../../../out.md)\n',
  });
  expect(brokenLinks(root)).toEqual([
    'docs/guide/two.md:3 gone.md: there is no such file',
    'docs/guide/two.md:4 one.md#twice-2: there is no heading twice-2',
    'docs/guide/two.md:4 #three: there is no heading three',
    'docs/guide/two.md:4 ../../../out.md: there is no such file',
  ]);
});

test('P6 pages of the site link each other, and what is no page where its file can be looked at', () => {
  const root = project(small);
  const out = join(root, 'out');
  const pages = assemblePages({ root, filesUrl: 'https://example.org/main' }, out);
  expect(pages).toEqual(['README.md', 'docs/guide/README.md', 'docs/guide/one.md', 'docs/guide/two.md']);
  expect(readFileSync(join(out, 'index.md'), 'utf8')).toContain(
    '[guides](./guide/index.md) and [one](./guide/one.md#a-code-and-more)',
  );
  expect(readFileSync(join(out, 'guide/one.md'), 'utf8')).toContain(
    '[back](./index.md), [file](https://example.org/main/src/a.ts), [web](https://example.org/x)',
  );
  expect(pages.map(addressOf)).toEqual(['/', '/guide/', '/guide/one', '/guide/two']);
  const { index, full } = llmsTexts(root, pages, { name: 'Small', summary: 'It is small.' });
  expect(index).toBe(
    '# Small\n\n> It is small.\n\n## Guides\n\n- [Guides](/guide/index.md): In short.\n- [One](/guide/one.md): The first page.\n- [Two](/guide/two.md): The second.\n\n## Specification\n\n\n## Optional\n\n- [Small](/index.md): It is small.\n',
  );
  expect(full).toContain('<!-- docs/guide/one.md -->\n\n# One\n');
});

test('P6 the menu of the site names every guide, those that the table of contents leaves out last', () => {
  const root = project({
    ...small,
    'docs/spec/README.md': '# Spec\n',
    'docs/adr/README.md': '# Decisions\n',
    'docs/errors.md': '# Errors\n',
  });
  expect(siteMapOf(root, [])['/guide/']).toEqual([
    {
      text: 'Start',
      items: [
        { text: 'One', link: '/guide/one' },
        { text: 'Two', link: '/guide/two' },
      ],
    },
  ]);
});

test('P6 a built site that lacks a page, a heading or its search, or loads something from elsewhere, has that told', () => {
  const whole = {
    'index.html':
      '<link rel="icon" href="/a.svg"><a href="/guide/one#first">one</a> <a href="https://example.org">web</a>',
    'guide/one.html': '<h2 id="first">First</h2> <a class="back" href="../">home</a> <a href="#first">here</a>',
    'guide/one.md': '',
    'a.svg': '',
    'assets/chunks/localSearchIndex.js': '',
    'llms.txt': '- [One](/guide/one.md): It is one.',
  };
  expect(siteFaults(project(whole))).toEqual([]);
  const faulty = {
    'index.html': '<script src="https://example.org/x.js"></script> <a href="/guide/two">two</a> <img src="/b.svg">',
    'guide/one.html': '<a href="/#last">home</a>',
    'llms.txt': '- [One](/guide/one.md): It is one.',
  };
  expect(siteFaults(project(faulty))).toEqual([
    'guide/one.html: /#last leads to no heading',
    'index.html: https://example.org/x.js is loaded from elsewhere',
    'index.html: /guide/two is not there',
    'index.html: /b.svg is not there',
    'llms.txt: /guide/one.md is not there',
    'there is no index for the search',
  ]);
});

test('P6 the list of guides names each of them', () => {
  const guides = join(import.meta.dirname, '../docs/guide');
  const named = new Set(linksOf(readFileSync(join(guides, 'README.md'), 'utf8')).map(({ target }) => target));
  const isUnnamed = (name: string): boolean => name.endsWith('.md') && name !== 'README.md' && !named.has(name);
  expect(readdirSync(guides).filter(isUnnamed)).toEqual([]);
});
