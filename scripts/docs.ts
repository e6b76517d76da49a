/**
 * `npm run docs`: builds the documentation site into site/dist, without network: the pages of `docs`, a reference made of the
 * docstrings, a search, and texts for language models. Its tools are installed in `site`, apart from those of the project.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { assemblePages } from './docs/assemble-pages.ts';
import { llmsTexts } from './docs/llms.ts';
import { filesUrl } from './docs/markdown.ts';
import { siteMapOf } from './docs/site-map.ts';

const root = resolve(import.meta.dirname, '..');
const site = join(root, 'site');
const pagesFolder = join(site, 'pages');

interface Manifest {
  readonly name: string;
  readonly description: string;
  readonly repository: { readonly url: string };
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const repositoryUrl = manifest.repository.url.replace(/^git\+/, '').replace(/\.git$/, '');

/** The doors of the package: what users import, the file behind it, and the name of its page. */
const doors = Object.entries(manifest.exports).flatMap(([door, target]) => {
  if (typeof target === 'string') return [];
  const file = target.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts');
  const page = door === '.' ? 'main' : file.replace(/^src\/|(?:\/index)?\.ts$/g, '');
  return [{ name: join(manifest.name, door), file, page }];
});

function run(tool: string, args: readonly string[]): void {
  const { status } = spawnSync(process.execPath, [join(site, 'node_modules', tool), ...args], {
    cwd: site,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

/** A page for each door, from the docstrings of what it exports. */
function writeReference(): void {
  const out = join(pagesFolder, 'api');
  const entries = doors.flatMap(({ file }) => ['--entryPoints', join(root, file)]);
  run('typedoc/bin/typedoc', ['--options', 'typedoc.json', '--name', manifest.name, ...entries]);
  // The pages are named like the files behind the doors; readers know the doors.
  renameSync(join(out, 'index-1.md'), join(out, 'main.md'));
  for (const { name, page } of doors) {
    const path = join(out, `${page}.md`);
    const text = readFileSync(path, 'utf8').replaceAll('index-1.md', 'main.md');
    writeFileSync(path, text.replace(/^# .*$/m, `# ${name}`));
  }
  const list = doors.map(({ name, page }) => `- [${name}](./${page}.md)`);
  const head = ['# Reference', '', 'What each door of the package exports, from the comments in its code.', ''];
  writeFileSync(join(out, 'index.md'), [...head, ...list, ''].join('\n'));
}

const pages = assemblePages({ root, filesUrl }, pagesFolder);
writeReference();
const sidebar = siteMapOf(
  root,
  doors.map(({ name, page }) => ({ text: name, link: `/api/${page}` })),
);
const title = 'Cairn';
writeFileSync(
  join(pagesFolder, 'site.json'),
  JSON.stringify({ title, description: manifest.description, repositoryUrl, sidebar }, null, 2),
);
run('vitepress/bin/vitepress.js', ['build']);
const dist = join(site, 'dist');
const texts = llmsTexts(root, pages, { name: title, summary: manifest.description });
writeFileSync(join(dist, 'llms.txt'), texts.index);
writeFileSync(join(dist, 'llms-full.txt'), texts.full);
// A page's own text is at its address with `.md`: that is where llms.txt points.
cpSync(pagesFolder, dist, { recursive: true, filter: (path) => !/\.[^/]+$/.test(path) || path.endsWith('.md') });
console.log(`built ${relative(process.cwd(), dist)}`);
