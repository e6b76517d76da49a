/** Texts as expressions write them. */

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', "'": "\\'", '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** A text without its quotes, where it stands between single ones. */
export function escapedText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for.
  const escaped = text.replaceAll(/[\\'\u0000-\u001f\u007f]/g, (sign) => {
    return escapes[sign] ?? `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return escaped.replaceAll('${', () => '$${');
}

/** A string of the expression language that says a text. */
export function quoted(text: string): string {
  return `'${escapedText(text)}'`;
}
