/** Writes texts as string literals of expressions. */

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', "'": "\\'", '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** A text escaped for single quotes, without the quotes. */
export function escapedText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for.
  const escaped = text.replaceAll(/[\\'\u0000-\u001f\u007f]/g, (sign) => {
    return escapes[sign] ?? `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return escaped.replaceAll('${', () => '$${');
}

/** A text as a string literal. */
export function quoted(text: string): string {
  return `'${escapedText(text)}'`;
}
