/**
 * An SVG with nothing in it that could act: only the elements and attributes that Graphviz draws with, no scripts, links, styles or
 * references to the outside. Whatever a node is called has become text by now, and stays text. Of the titles, which browsers show as
 * tooltips, only the graph's is kept: the others name nodes as Graphviz was given them, `n3`.
 */

const elements: ReadonlySet<string> = new Set([
  'svg',
  'g',
  'title',
  'polygon',
  'polyline',
  'ellipse',
  'path',
  'text',
  'tspan',
]);
const attributes: ReadonlySet<string> = new Set(
  (
    'width height viewBox xmlns id class transform points d cx cy rx ry x y fill stroke stroke-width stroke-dasharray ' +
    'fill-opacity stroke-opacity text-anchor font-family font-size font-weight font-style'
  ).split(' '),
);
/** What a value may be made of: no colon, so no scheme and no namespace; no `url(…)` with a place outside. */
const plainValue = /^(?:[\w\s.,#%()+-]|&#45;)*$/;

const token = /<!--[^]*?-->|<\?[^]*?\?>|<![^>]*>|<(\/?)([A-Za-z][\w:-]*)((?:[^>"']|"[^"]*"|'[^']*')*?)(\/?)>|[^<]+|</g;
const attribute = /([A-Za-z_][\w:-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/** What is between the tags of an element that is left out is left out, too. */
export function cleanSvg(svg: string): string {
  let kept = '';
  let skipped: { readonly name: string; depth: number } | undefined;
  let hasTitle = false;
  for (const [text, close, name, given = '', isEmpty] of svg.matchAll(token)) {
    if (name === undefined) {
      if (skipped === undefined && kept !== '' && !text.startsWith('<')) kept += text;
      continue;
    }
    if (skipped !== undefined) {
      if (name === skipped.name && isEmpty === '') skipped.depth += close === '/' ? -1 : 1;
      if (skipped.depth === 0) skipped = undefined;
      continue;
    }
    if (!elements.has(name) || (name === 'title' && hasTitle && close === '')) {
      if (close === '' && isEmpty === '') skipped = { name, depth: 1 };
      continue;
    }
    hasTitle ||= name === 'title';
    kept += close === '/' ? `</${name}>` : `<${name}${cleanAttributes(given)}${isEmpty === '/' ? '/' : ''}>`;
  }
  return kept.trim();
}

function cleanAttributes(given: string): string {
  return [...given.matchAll(attribute)]
    .filter(([, name = '', double, single]) => {
      const value = double ?? single ?? '';
      return (
        attributes.has(name) && (name === 'xmlns' ? value === 'http://www.w3.org/2000/svg' : plainValue.test(value))
      );
    })
    .map(([, name = '', double, single]) => ` ${name}="${double ?? single ?? ''}"`)
    .join('');
}
