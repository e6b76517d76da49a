/** A DOT file as it is written: statements in their order, with the places and comments that messages and the printer need. */

/** One `key = value`. */
export interface AttributeSyntax {
  readonly key: string;
  readonly value: string;
  /** Offset of the key, and of the value. */
  readonly at: number;
  readonly valueAt: number;
}

interface StatementSyntax {
  readonly at: number;
  /** Comments before it and inside it, with their marks. */
  readonly comments: readonly string[];
}

/** `graph [...]`, `node [...]`, `edge [...]`, or `key = value`, which is one of the graph. */
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

/** `a -> b -> c [...]`. */
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
  /** After the last statement. */
  readonly closing: readonly string[];
}

export type Syntax = DefaultsSyntax | NodeSyntax | EdgeSyntax | SubgraphSyntax;

export interface DotSyntax {
  readonly name: string;
  /** Before the graph. */
  readonly comments: readonly string[];
  readonly statements: readonly Syntax[];
  /** After the last statement, and after the graph. */
  readonly closing: readonly string[];
}
