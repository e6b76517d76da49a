/** Changes some values in a YAML file; comments, order and style of the rest are kept. */
import { isAlias, isScalar, parseDocument } from 'yaml';
import type { Path } from './read-document.ts';

/** A value to change. */
export interface ValueChange {
  readonly path: Path;
  /** The new value; undefined removes it. */
  readonly value: unknown;
}

/** The text with changed values. A value under an alias is that of its anchor, and is changed there. */
export function writeDocument(text: string, changes: readonly ValueChange[]): string {
  const document = parseDocument(text, { version: '1.2', schema: 'core', merge: false, uniqueKeys: false });
  for (const { path, value } of changes) {
    const node = document.getIn(path, true);
    if (value === undefined) document.deleteIn(path);
    else if (isScalar(node)) node.value = value;
    else if (node === undefined && !path.some((_, depth) => isAlias(document.getIn(path.slice(0, depth), true))))
      document.setIn(path, document.createNode(value, { flow: true }));
  }
  return document.toString({ lineWidth: 0 });
}
