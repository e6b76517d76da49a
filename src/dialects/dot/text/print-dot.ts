/** Prints a DOT file in canonical form: one statement in each line, attributes separated by commas, comments before their statement. */
import type { AttributeSyntax, DotSyntax, Syntax } from './syntax.ts';

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
