/** Writes several files as one YAML text: a list `files` of `path` and `content`. */

export function writeYamlListing(entries: readonly { readonly path: string; readonly content: string }[]): string {
  const items = entries.map(
    ({ path, content }) => `  - path: ${JSON.stringify(path)}\n    content: ${writeScalar(content)}\n`,
  );
  return `files:\n${items.join('')}`;
}

/** Writes a text as a literal block if YAML can hold it that way; otherwise quoted. */
function writeScalar(text: string): string {
  // A literal block cannot hold control characters, line ends other than `\n`, or lone surrogates.
  const isPlain = !/[^\P{Cc}\n\t]|[\u2028\u2029\ufeff\ufffe\uffff]/u.test(text) && text.isWellFormed();
  if (!isPlain || text.trim() === '') return JSON.stringify(text);
  const isEnded = text.endsWith('\n');
  const chomping = text.endsWith('\n\n') ? '+' : isEnded ? '' : '-';
  const lines = (isEnded ? text.slice(0, -1) : text).split('\n');
  return [`|2${chomping}`, ...lines.map((line) => (line === '' ? '' : `      ${line}`))].join('\n');
}
