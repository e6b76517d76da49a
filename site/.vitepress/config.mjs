/** How the site looks; what is in it, scripts/docs.ts lays out in `pages`. */
import { readFileSync } from 'node:fs';

// Imported when it runs: bundled, it would be read under the project's own compiler settings.
const { markdown } = await import(String(new URL('./markdown.mjs', import.meta.url)));
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
  markdown,
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
