/** How the site looks; what is in it, scripts/docs.ts lays out in `pages`. */
import { readFileSync } from 'node:fs';

// Imported when it runs: bundled, it would be read under the project's own compiler settings.
const { slugOf } = await import(String(new URL('../../scripts/docs/markdown.ts', import.meta.url)));
const { title, description, repositoryUrl, sidebar } = JSON.parse(
  readFileSync(new URL('../pages/site.json', import.meta.url), 'utf8'),
);

export default {
  title,
  description,
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: '.vitepress/cache',
  cleanUrls: true,
  lastUpdated: false,
  markdown: {
    anchor: { slugify: slugOf },
    // The builder has no colours for Graphviz; those of C fit its strings and comments.
    languageAlias: { dot: 'c' },
    // Braces in pages are shown as they are written: the builder would take them for its own templates.
    config: ({ renderer, utils }) => {
      const shown = (content) => utils.escapeHtml(content).replaceAll('{{', '&#123;&#123;');
      renderer.rules.text = (tokens, index) => shown(tokens[index].content);
      renderer.rules.code_inline = (tokens, index) => `<code v-pre>${utils.escapeHtml(tokens[index].content)}</code>`;
    },
  },
  // The index of the search is one piece.
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/guide/', activeMatch: '^/guide/' },
      { text: 'Reference', link: '/api/', activeMatch: '^/api/' },
      { text: 'Specification', link: '/spec/', activeMatch: '^/spec/' },
    ],
    sidebar,
    socialLinks: [{ icon: 'github', link: repositoryUrl }],
  },
};
