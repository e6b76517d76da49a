/** Parses and writes arrays in the text format of Postgres: `{1,NULL,"a b"}`. */

/** An item of an array: a text, NULL, or an array. */
export type ArrayItem = string | null | readonly ArrayItem[];

export function writeArray(items: readonly ArrayItem[]): string {
  return `{${items.map(writeItem).join(',')}}`;
}

function writeItem(item: ArrayItem): string {
  if (item === null) return 'NULL';
  return typeof item === 'string' ? `"${item.replaceAll(/["\\]/gu, '\\$&')}"` : writeArray(item);
}

const piece = /"((?:[^"\\]|\\[\s\S])*)"|[{},]|[^{},"]+/gu;

/** Parses an array. @param parse - converts an item that is not NULL */
export function readArray(text: string, parse: (item: string) => unknown): readonly unknown[] {
  const outer: unknown[] = [];
  const open: unknown[][] = [outer];
  // If the lower bounds are not 1, the text begins with them: `[0:1]={7,8}`.
  for (const { 0: found, 1: quoted } of text.slice(text.indexOf('{')).matchAll(piece)) {
    const list = open.at(-1) ?? outer;
    if (found === '{') {
      const inner: unknown[] = [];
      list.push(inner);
      open.push(inner);
    } else if (found === '}') open.pop();
    else if (quoted !== undefined) list.push(parse(quoted.replaceAll(/\\([\s\S])/gu, '$1')));
    else if (found !== ',') list.push(found === 'NULL' ? null : parse(found));
  }
  return outer[0] as readonly unknown[];
}
