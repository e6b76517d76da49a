/** What `scripts/draw-mutants.ts` may do to a source: small changes of meaning, found in its syntax. */
import { parseSync } from 'oxc-parser';

/** Each operator, and what it does. */
export const operators = {
  negate: 'a condition is negated',
  dropCall: 'a call is left out',
  swapBound: 'a bound counts with what it excludes, or the other way round',
  swapEquality: 'equal and unequal are swapped',
  swapLogic: 'and and or are swapped',
  dropElement: 'an element is left out',
  returnEarly: 'a function returns early',
  offByOne: 'a number is one more',
} as const;

export type Operator = keyof typeof operators;

/** One change: the text from `start` to `end`, in UTF-16 units, becomes the replacement. */
export interface Edit {
  readonly operator: Operator;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';
const childrenOf = (node: Node): readonly Node[] =>
  Object.values(node)
    .flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value]))
    .filter(isNode);

/** Types mean nothing when the code runs; what is said of a value is looked through. */
const isType = ({ type }: Node): boolean =>
  type.startsWith('TS') && !['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression'].includes(type);

const counterparts: Readonly<Record<string, readonly [Operator, string]>> = {
  '<': ['swapBound', '<='],
  '<=': ['swapBound', '<'],
  '>': ['swapBound', '>='],
  '>=': ['swapBound', '>'],
  '===': ['swapEquality', '!=='],
  '!==': ['swapEquality', '==='],
  '&&': ['swapLogic', '||'],
  '||': ['swapLogic', '&&'],
};

/** Every change that an operator can make, in the order of the text. What could not be parsed any more is left out. */
export function findEdits(file: string, text: string): readonly Edit[] {
  const edits: Edit[] = [];
  const add = (operator: Operator, { start, end }: Pick<Node, 'start' | 'end'>, replacement: string): void =>
    void edits.push({ operator, start, end, replacement });
  const visit = (node: Node): void => {
    if (isType(node) || node.type === 'ImportDeclaration') return;
    editsOf(node, text, add);
    for (const child of childrenOf(node)) visit(child);
  };
  visit(parseSync(file, text).program as unknown as Node);
  return edits
    .filter(({ start, end, replacement }) => isProgram(file, text.slice(0, start) + replacement + text.slice(end)))
    .toSorted((one, other) => one.start - other.start || one.end - other.end);
}

const isProgram = (file: string, text: string): boolean => parseSync(file, text).errors.length === 0;

function editsOf(
  node: Node,
  text: string,
  add: (operator: Operator, range: Pick<Node, 'start' | 'end'>, replacement: string) => void,
): void {
  const { type, test, expression, operator, left, right, body, value } = node;
  if (isNode(test)) add('negate', test, `!(${text.slice(test.start, test.end)})`);
  if (type === 'ExpressionStatement' && isCall(expression)) add('dropCall', node, ';');
  if (typeof operator === 'string' && isNode(left) && isNode(right)) {
    const [kind, word] = counterparts[operator] ?? [];
    const between = { start: left.end, end: right.start };
    const words = text.slice(between.start, between.end);
    if (kind !== undefined && word !== undefined) add(kind, between, words.replace(operator, word));
  }
  if (type === 'ArrayExpression') for (const element of listOf(node['elements'])) addDropped(element);
  if (type === 'ObjectExpression')
    for (const property of listOf(node['properties'])) if (property.type === 'SpreadElement') addDropped(property);
  if (/Function/u.test(type) && isNode(body) && Array.isArray(body['body']))
    for (const { start } of listOf(body['body'])) add('returnEarly', { start, end: start }, 'return undefined; ');
  if (type === 'Literal' && Number.isInteger(value)) add('offByOne', node, String(Number(value) + 1));

  /** With the comma behind it. */
  function addDropped({ start, end }: Node): void {
    const comma = /^\s*,/u.exec(text.slice(end))?.[0].length ?? 0;
    add('dropElement', { start, end: end + comma }, '');
  }
}

const listOf = (value: unknown): readonly Node[] => (Array.isArray(value) ? (value as unknown[]).filter(isNode) : []);

function isCall(node: unknown): boolean {
  if (!isNode(node)) return false;
  if (node.type === 'AwaitExpression' || node.type === 'UnaryExpression') return isCall(node['argument']);
  return node.type === 'CallExpression';
}
