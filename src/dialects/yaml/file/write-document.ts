/** Writes a YAML file again with some of its values changed: comments, order and style of the others stay. */
import { isAlias, isScalar, parseDocument } from 'yaml';
import type { Path } from './read-document.ts';

/** A value that is written otherwise. */
export interface ValueChange {
  readonly path: Path;
  /** Undefined: it is left out. */
  readonly value: unknown;
}

/** The text of a file with other values. What stands under an alias is that of its anchor, and changed there. */
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
