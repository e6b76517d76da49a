/** Prints a DOT file in canonical form: one statement in each line, attributes separated by commas, comments before their statement. */

// The syntax tree of a DOT file: statements in order, with the offsets and comments that messages and the printer need.

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

const bare = /^(?:-?\d+(?:ms|[smhd])?|-?\d*\.\d+|true|false|[A-Za-z_][A-Za-z0-9_]*(?:[.:-][A-Za-z0-9_]+)*)$/;
const plainName = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const lineMax = 100;

/** Parsing the result gives the same graph, and printing that gives the same text. */
export function printDot({ name, comments, statements, closing }: DotSyntax): string {
  const lines = [
    ...comments,
    `digraph ${plainName.test(name) ? name : quoted(name)} {`,
    ...statements.flatMap((statement) => printed(statement, '  ')),
    ...closing.map((comment) => `  ${comment}`),
    '}',
  ];
  return `${lines.join('\n')}\n`;
}

function printed(statement: Syntax, margin: string): readonly string[] {
  const comments = statement.comments.map((comment) => margin + comment);
  if (statement.kind === 'subgraph')
    return [
      ...comments,
      `${margin}subgraph ${statement.id === undefined ? '' : `${plainName.test(statement.id) ? statement.id : quoted(statement.id)} `}{`,
      ...statement.statements.flatMap((inner) => printed(inner, `${margin}  `)),
      ...statement.closing.map((comment) => `${margin}  ${comment}`),
      `${margin}}`,
    ];
  const isBare = statement.kind === 'defaults' && statement.attributes.length === 0;
  return [...comments, margin + headOf(statement) + (isBare ? ' []' : block(statement.attributes, margin))];
}

function headOf(statement: Exclude<Syntax, { readonly kind: 'subgraph' }>): string {
  if (statement.kind === 'node') return statement.id;
  if (statement.kind === 'edge') return statement.ends.map(({ id }) => id).join(' -> ');
  return statement.of;
}

function block(attributes: readonly AttributeSyntax[], margin: string): string {
  if (attributes.length === 0) return '';
  const pairs = attributes.map(({ key, value }) => `${key}=${bare.test(value) ? value : quoted(value)}`);
  const short = ` [${pairs.join(', ')}]`;
  if (short.length <= lineMax && !short.includes('\n')) return short;
  return ` [\n${pairs.map((pair) => `${margin}  ${pair}`).join(',\n')}\n${margin}]`;
}

/** Quotes a string. Line breaks stay as they are, so that prompts are easy to read. */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, (mark) => `\\${mark}`)}"`;
}
