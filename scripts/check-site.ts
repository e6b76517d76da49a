/**
 * Checks that the pages of the documentation site can be built: reads each as the build does (Markdown, then the builder's templates) and
 * names those that it would refuse. The whole build, with the reference and the search, is `npm run docs`: it takes twenty times as long.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { assemblePages, placeInSite } from './docs/assemble-pages.ts';
import { filesUrl } from './docs/markdown.ts';

const root = resolve(import.meta.dirname, '..');
// The builder's packages are the site's own.
const siteRequire = createRequire(join(root, 'site/package.json'));
const load = async (path: string): Promise<unknown> => import(pathToFileURL(path).href);

interface Builder {
  createMarkdownRenderer(folder: string, options: object): Promise<Renderer>;
}
interface Renderer {
  render(text: string, environment: { path: string }): string | Promise<string>;
}
interface Templates {
  parse(text: string): { readonly errors: readonly Error[] };
}
const builder = (await load(siteRequire.resolve('vitepress'))) as Builder;
const templates = (await load(siteRequire.resolve('@vue/compiler-sfc'))) as Templates;
const { markdown } = (await load(join(root, 'site/.vitepress/markdown.mjs'))) as { markdown: object };

const folder = mkdtempSync(join(tmpdir(), 'cairn-site-'));
try {
  const pages = assemblePages({ root, filesUrl }, folder);
  // Colours of code are not what a page can fail by.
  const renderer = await builder.createMarkdownRenderer(folder, { ...markdown, highlight: () => '<pre v-pre></pre>' });
  for (const page of pages) {
    const path = join(folder, placeInSite(page) ?? page);
    const html = await renderer.render(readFileSync(path, 'utf8'), { path });
    const faults = templates.parse(`<template><div>${html}</div></template>`).errors;
    for (const { message } of faults) console.log(`${page}: ${message}`);
    if (faults.length > 0) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}
