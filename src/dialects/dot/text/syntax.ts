/** The syntax tree of a DOT file: statements in order, with the offsets and comments that messages and the printer need. */

/** One attribute, `key = value`. */
export interface AttributeSyntax {
  readonly key: string;
  readonly value: string;
  /** Offset of the key. `valueAt` is that of the value. */
  readonly at: number;
  readonly valueAt: number;
}

interface StatementSyntax {
  readonly at: number;
  /** Comments before and inside the statement, with their comment marks. */
  readonly comments: readonly string[];
}

/** `graph [...]`, `node [...]`, `edge [...]`, or `key = value`, which sets an attribute of the graph. */
export interface DefaultsSyntax extends StatementSyntax {
  readonly kind: 'defaults';
  readonly of: 'graph' | 'node' | 'edge';
  readonly attributes: readonly AttributeSyntax[];
}

export interface NodeSyntax extends StatementSyntax {
  readonly kind: 'node';
  readonly id: string;
  readonly attributes: readonly AttributeSyntax[];
}

/** An edge statement, such as `a -> b -> c [...]`. */
export interface EdgeSyntax extends StatementSyntax {
  readonly kind: 'edge';
  readonly ends: readonly { readonly id: string; readonly at: number }[];
  readonly attributes: readonly AttributeSyntax[];
}

export interface SubgraphSyntax extends StatementSyntax {
  readonly kind: 'subgraph';
  readonly id: string | undefined;
  readonly statements: readonly Syntax[];
  readonly comments: readonly string[];
  /** Comments after the last statement. */
  readonly closing: readonly string[];
}

export type Syntax = DefaultsSyntax | NodeSyntax | EdgeSyntax | SubgraphSyntax;

export interface DotSyntax {
  readonly name: string;
  /** Comments before the graph. */
  readonly comments: readonly string[];
  readonly statements: readonly Syntax[];
  /** Comments after the last statement, and after the graph. */
  readonly closing: readonly string[];
}
