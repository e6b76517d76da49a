/** How pages are read, in the build and in the check that they can be built. */
import { slugOf } from '../../scripts/docs/markdown.ts';

export const markdown = {
  anchor: { slugify: slugOf },
  // Braces in pages are shown as they are written. The builder would read `{name}` behind code as attributes of it,
  attrs: { disable: true },
  // and `{{ name }}` as its own templates.
  config: ({ renderer, utils }) => {
    const shown = (content) => utils.escapeHtml(content).replaceAll('{{', '&#123;&#123;');
    renderer.rules.text = (tokens, index) => shown(tokens[index].content);
    renderer.rules.code_inline = (tokens, index) => `<code v-pre>${utils.escapeHtml(tokens[index].content)}</code>`;
  },
  // The builder has no colours for Graphviz; those of C fit its strings and comments.
  languageAlias: { dot: 'c' },
};
