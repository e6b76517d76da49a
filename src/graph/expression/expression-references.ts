/** Finds the variables that an expression uses, and the paths that it reads from them. */

/** The part of the library's syntax tree that is read here. */
export interface Tree {
  readonly op: string;
  readonly args: unknown;
  readonly start: number;
  readonly end: number;
}

/** One step of a path: `.key`, `["key"]` or `[0]`. The key is undefined if it is computed. */
export interface PathStep {
  readonly key: string | number | undefined;
  readonly isBracket: boolean;
  /** Offset at which the path up to and including this step ends. */
  readonly end: number;
}

/** A variable and the path that is read from it. Offsets count characters of the expression's text. */
export interface ExpressionReference {
  readonly name: string;
  readonly path: readonly PathStep[];
  readonly start: number;
  readonly end: number;
}

/** Operations whose first argument declares a variable for the other arguments. */
const binders: readonly string[] = ['all', 'exists', 'exists_one', 'map', 'filter'];

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && 'op' in value;

function stepOf(tree: Tree): PathStep {
  const [, key] = tree.args as readonly [Tree, unknown];
  if (typeof key === 'string') return { key, isBracket: false, end: tree.end };
  const value = isTree(key) && key.op === 'value' ? key.args : undefined;
  const known = typeof value === 'bigint' ? Number(value) : value;
  const isKnown = typeof known === 'string' || typeof known === 'number';
  return { key: isKnown ? known : undefined, isBracket: true, end: tree.end };
}

/** The variable and path, if the tree is nothing but such a path; otherwise undefined. */
export function pathOf(tree: Tree): ExpressionReference | undefined {
  const path: PathStep[] = [];
  let at = tree;
  while (at.op === '.' || at.op === '[]') {
    path.unshift(stepOf(at));
    at = (at.args as readonly [Tree])[0];
  }
  return at.op === 'id' ? { name: at.args as string, path, start: at.start, end: tree.end } : undefined;
}

/** All references of an expression to its variables, in written order. Variables that the expression itself declares are omitted. */
export function referencesOf(root: Tree): readonly ExpressionReference[] {
  const found: ExpressionReference[] = [];
  const visitAll = (values: unknown, bound: ReadonlySet<string>): void => {
    if (Array.isArray(values)) for (const value of values) visitAll(value, bound);
    else if (isTree(values)) visit(values, bound);
  };
  const visit = (tree: Tree, bound: ReadonlySet<string>): void => {
    const reference = pathOf(tree);
    if (reference !== undefined && !bound.has(reference.name)) found.push(reference);
    if (tree.op === 'value' || tree.op === 'id') return;
    if (tree.op === 'rcall') {
      const [method, receiver, args] = tree.args as readonly [string, Tree, readonly Tree[]];
      visit(receiver, bound);
      const [variable, ...others] = args;
      const binds = binders.includes(method) && variable?.op === 'id' && others.length > 0;
      visitAll(binds ? others : args, binds ? new Set([...bound, variable.args as string]) : bound);
    } else if (reference === undefined) visitAll(tree.args, bound);
    else visitIndexes(tree, bound);
  };
  /** Visits the rest of a path: the computed expressions within its brackets. */
  const visitIndexes = (tree: Tree, bound: ReadonlySet<string>): void => {
    for (let at = tree; at.op === '.' || at.op === '[]'; at = (at.args as readonly [Tree])[0]) {
      if (at.op === '[]') visit((at.args as readonly [Tree, Tree])[1], bound);
    }
  };
  visit(root, new Set());
  return found;
}

/** Renames a method in all calls of it. Must be done before the tree is checked, because the check binds the calls. */
export function renameMethod(root: Tree, from: string, to: string): void {
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    if (!isTree(value)) return;
    if (value.op === 'rcall' && Array.isArray(value.args) && value.args[0] === from) value.args[0] = to;
    visit(value.args);
  };
  visit(root);
}
