/** What the code that writes expressions and the code that writes calls share. */
import type { BraceTree } from './brace-tree.ts';
import type { MarkedText } from './marked-text.ts';

/** Precedences of the parts of an expression, the lowest first. */
export const binding = {
  choice: 1,
  or: 2,
  and: 3,
  not: 4,
  comparison: 5,
  sum: 6,
  product: 7,
  sign: 8,
  part: 9,
} as const;

export interface BraceWriter {
  readonly out: MarkedText;
  /** Writes a tree, in brackets if its precedence is lower than `wanted`. Default: any precedence is accepted. */
  readonly value: (tree: BraceTree, wanted?: number) => void;
  /** Writes trees separated by commas. */
  readonly list: (trees: readonly BraceTree[]) => void;
}
