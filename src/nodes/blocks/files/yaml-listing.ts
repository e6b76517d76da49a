/** Several files as one YAML text: `files`, a list of `path` and `content`. */

export function writeYamlListing(entries: readonly { readonly path: string; readonly content: string }[]): string {
  const items = entries.map(
    ({ path, content }) => `  - path: ${JSON.stringify(path)}\n    content: ${writeScalar(content)}\n`,
  );
  return `files:\n${items.join('')}`;
}

/** As it is, line by line, where YAML can hold it so; else quoted. */
function writeScalar(text: string): string {
  // What a block of lines cannot hold as it is: control characters, line ends that are not `\n`, lone surrogates.
  const isPlain = !/[^\P{Cc}\n\t]|[\u2028\u2029\ufeff\ufffe\uffff]/u.test(text) && text.isWellFormed();
  if (!isPlain || text.trim() === '') return JSON.stringify(text);
  const isEnded = text.endsWith('\n');
  const chomping = text.endsWith('\n\n') ? '+' : isEnded ? '' : '-';
  const lines = (isEnded ? text.slice(0, -1) : text).split('\n');
  return [`|2${chomping}`, ...lines.map((line) => (line === '' ? '' : `      ${line}`))].join('\n');
}
