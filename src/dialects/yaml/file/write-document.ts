/** Writes YAML files: anew, or with some values changed, where comments, order and style of the rest stay. */
import type { Path } from './read-document.ts';
import { Document, isAlias, isScalar, parseDocument, visit } from 'yaml';

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

/** Data as a file, in one way only: lists of plain values on one line, texts in quotes where they could be read as anything else. */
export function printDocument(data: unknown): string {
  const document = new Document(data, { version: '1.2', schema: 'core', aliasDuplicateObjects: false });
  visit(document, {
    Seq: (_, node) => {
      node.flow = node.items.every((item) => isScalar(item));
    },
  });
  return document.toString({ lineWidth: 0, singleQuote: true, flowCollectionPadding: false });
}
