/**
 * Marks functions that nearly every program calls, so that V8 compiles them together with their file.
 *
 * V8 compiles a function when it is first called, and what is compiled that late is not in the code that Node keeps for the next process.
 * A function expression or an arrow function in parentheses is compiled at once; so a function statement becomes a variable with one. A
 * method of a class cannot be marked. Lines stay where they are, so source maps stay true.
 */
import { parseAst } from 'rolldown/parseAst';

/** A node of a syntax tree. */
interface Syntax {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** Where a function begins and ends in its file. */
export interface FunctionPlace {
  readonly start: number;
  readonly end: number;
}

const isSyntax = (value: unknown): value is Syntax =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

const partsOf = (node: Syntax): readonly Syntax[] => Object.values(node).flat().filter(isSyntax);

const isFunction = ({ type }: Syntax): boolean => type === 'ArrowFunctionExpression' || type.startsWith('Function');

/** Names of variables that stand anywhere in a piece of code. With `nowOnly`, only where the code runs when its file is loaded. */
function namesIn(node: Syntax, nowOnly: boolean): readonly string[] {
  if (nowOnly && (isFunction(node) || (node.type === 'PropertyDefinition' && node['static'] !== true))) return [];
  if (node.type === 'Identifier') return [node['name'] as string];
  // The names of properties and methods are those of no variable.
  const label = node['computed'] === true ? undefined : (node['property'] ?? node['key']);
  return partsOf(node).flatMap((part) => (part === label ? [] : namesIn(part, nowOnly)));
}

/** What a statement of a file defines: a function, a class, or variables. */
function definedBy(statement: Syntax): readonly string[] {
  if (statement.type === 'VariableDeclaration')
    return (statement['declarations'] as readonly Syntax[]).flatMap(({ id }) => namesIn(id as Syntax, false));
  const id = statement['id'];
  return isSyntax(id) ? namesIn(id, false) : [];
}

/** Names of functions that may be called while the file is loaded, before the place at which they are defined. */
function calledBeforeDefined(statements: readonly Syntax[]): ReadonlySet<string> {
  const definitions = new Map(statements.flatMap((node) => definedBy(node).map((name) => [name, node])));
  const found = new Set<string>();
  for (const statement of statements) {
    const seen = new Set<string>();
    const open = statement.type === 'FunctionDeclaration' ? [] : [...namesIn(statement, true)];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      const definition = definitions.get(name);
      if (definition === undefined || definition === statement || seen.has(name)) continue;
      seen.add(name);
      if (definition.start > statement.start) found.add(name);
      open.push(...namesIn(definition, false));
    }
  }
  return found;
}

/** Whether the value of this node is the function of a method, which is a part of the method and cannot stand in parentheses. */
const isMethod = ({ type, method, kind }: Syntax): boolean =>
  type === 'MethodDefinition' || method === true || kind === 'get' || kind === 'set';

/** Every function below a node that can be marked. @param isFile - whether the node is a whole file: statements below it can be marked */
function markable(node: Syntax, kept: ReadonlySet<string>, isFile: boolean): readonly Syntax[] {
  return partsOf(node).flatMap((part) => {
    const below = markable(part, kept, false);
    const isStatement = part.type === 'FunctionDeclaration';
    const isKept = isStatement && (!isFile || definedBy(part).some((name) => kept.has(name)));
    return !isFunction(part) || isKept || (isMethod(node) && part === node['value']) ? below : [part, ...below];
  });
}

/** @param called - the functions to be marked; others, and those that cannot be marked, stay as they are */
export function compileEarly(code: string, called: readonly FunctionPlace[]): string {
  const program = parseAst(code) as unknown as Syntax;
  const wanted = new Set(called.map(({ start, end }) => `${start} ${end}`));
  const kept = calledBeforeDefined(program['body'] as readonly Syntax[]);
  const inserts = markable(program, kept, true).flatMap((node): readonly [number, string][] => {
    if (!wanted.has(`${node.start} ${node.end}`)) return [];
    const isStatement = node.type === 'FunctionDeclaration';
    const before = isStatement ? `var ${definedBy(node)[0]} = (` : '(';
    return [
      [node.start, before],
      [node.end, isStatement ? ');' : ')'],
    ];
  });
  let marked = '';
  let at = 0;
  for (const [place, text] of inserts.toSorted(([one], [other]) => one - other)) {
    marked += code.slice(at, place) + text;
    at = place;
  }
  return marked + code.slice(at);
}
