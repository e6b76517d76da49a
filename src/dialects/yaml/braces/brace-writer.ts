/** What the writing of an expression and of the calls in it share. */
import type { BraceTree } from './brace-tree.ts';
import type { MarkedText } from './marked-text.ts';

/** How tightly the parts of an expression bind, from the loosest. */
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
  /** Writes a tree, in brackets if it binds less than its place wants. Default: it may bind as little as it likes. */
  readonly value: (tree: BraceTree, wanted?: number) => void;
  /** Writes values between commas. */
  readonly list: (trees: readonly BraceTree[]) => void;
}
