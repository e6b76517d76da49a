/** Finds the texts of a file that may contain references, with their places and purposes. */
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import type { Path } from '../file/read-document.ts';
import { isMapping } from '../file/shape.ts';
import type { TextKind } from './translate-text.ts';

type Data = Readonly<Record<string, unknown>>;

export interface FileText {
  readonly path: Path;
  readonly text: string;
  readonly kind: TextKind;
  /** The inputs of the block that contains the text. */
  readonly inputs: Data;
}

/** Goes through the texts of a file's blocks and outputs. */
export function* fileTexts(data: Data, types: ReadonlyMap<string, NodeType>): Generator<FileText> {
  const blocks = Array.isArray(data['blocks']) ? (data['blocks'] as readonly unknown[]) : [];
  for (const [index, block] of blocks.entries())
    if (isMapping(block)) yield* blockTexts(block, ['blocks', index], types);
  yield* textsIn(data['outputs'], ['outputs'], 'text', {});
}

function* blockTexts(block: Data, at: Path, types: ReadonlyMap<string, NodeType>): Generator<FileText> {
  const inputs = isMapping(block['inputs']) ? block['inputs'] : {};
  const type = block['type'];
  const fields = (typeof type === 'string' ? types.get(type)?.inputs : undefined) ?? {};
  for (const [name, value] of Object.entries(inputs)) {
    const kind = Object.hasOwn(fields, name) ? fields[name]?.kind : undefined;
    yield* textsIn(value, [...at, 'inputs', name], kind === 'command' || kind === 'template' ? kind : 'text', inputs);
  }
  yield* textsIn(block['condition'], [...at, 'condition'], 'condition', inputs);
  yield* textsIn(block['for_each'], [...at, 'for_each'], 'text', inputs);
  yield* textsIn(block['outputs'], [...at, 'outputs'], 'text', inputs);
}

function* textsIn(value: unknown, path: Path, kind: TextKind, inputs: Data): Generator<FileText> {
  if (typeof value === 'string') yield { path, text: value, kind, inputs };
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) yield* textsIn(item, [...path, index], kind, inputs);
  else if (isMapping(value))
    for (const [key, item] of Object.entries(value)) yield* textsIn(item, [...path, key], kind, inputs);
}
