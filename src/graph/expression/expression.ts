/**
 * Conditions and other expressions written as text, in the Common Expression Language (CEL) (G6). No other file imports the CEL library.
 */
import { FileRef } from '../file-ref.ts';
import { Environment } from './cel.ts';
import { CairnError } from '../../errors.ts';
import { requireBoolean } from '../condition.ts';
import { currentBudget, withBudget } from './expression-budget.ts';
import { isTruthy, matchFunction, matchSignature, textFunctions } from './expression-functions.ts';
import { pathOf, referencesOf, renameMethod, type ExpressionReference, type Tree } from './expression-references.ts';
import { meter, payForWhole, errorMap, FieldReader, plainValue } from './expression-meter.ts';
import type { Choice, Condition, ConditionScope } from '../graph.ts';

// What people write in a condition who know another language, and what is written here in its place (G6).

const quoted = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g;

const slips: readonly (readonly [RegExp, hint: string])[] = [
  [/\$\{/, 'Write names as they are, without ${ and }.'],
  [/!==|<>/, 'Compare with !=.'],
  [/===/, 'Compare with ==.'],
  [/(?<![=!<>])=(?!=)/, 'Compare with ==.'],
  [/\band\b/i, 'Write && for and.'],
  [/\bor\b/i, 'Write || for or.'],
  [/\bis\s+not\b/i, 'Compare with !=.'],
  [/\bis\b/i, 'Compare with ==.'],
  [/\bnot\s+in\b/i, 'Write !(VALUE in LIST).'],
  [/\bnot\b/i, 'Write ! for not.'],
  [/(?<!&)&(?!&)/, 'Write && for and.'],
  [/(?<!\|)\|(?!\|)/, 'Write || for or.'],
  [/\b(None|nil|undefined|NULL)\b/, 'Write null.'],
  [/\b(True|TRUE|False|FALSE)\b/, 'Write true and false.'],
];

/**
 * A hint for a condition that cannot be read; undefined if nothing in it is known from elsewhere.
 * @param reason - what the language says
 * @param names - the variables that the condition may read
 */
function slipHint(text: string, reason: string, names: readonly string[]): string | undefined {
  const bare = text.replaceAll(quoted, '""');
  const slip = slips.find(([pattern]) => pattern.test(bare))?.[1];
  if (slip !== undefined || !reason.startsWith('Unknown variable')) return slip;
  return `There are ${names.join(', ')}; a key of the scratch state is written scratch.KEY.`;
}

const variables = ['outcome', 'output', 'error', 'input', 'scratch', 'artifacts', 'diagnostics', 'outputs'] as const;

const arithmetic: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
};

/**
 * Returns a function that makes a value at its first call, and gives the same one at each call. Environments are made so: making one takes
 * as long as much of a command, and many graphs have no expressions.
 */
function onFirstUse<Value>(create: () => Value): () => Value {
  let created: Value | undefined;
  return () => (created ??= create());
}

/** The language for conditions and texts, so that both calculate and compare alike. */
const openLanguage = onFirstUse(() => {
  const environment = new Environment({ homogeneousAggregateLiterals: false, enableOptionalTypes: true });
  // Numbers in the state are doubles, and whole numbers in an expression are ints. CEL itself does not mix the two, so mixed operators are
  // added.
  for (const [operator, compute] of Object.entries(arithmetic)) {
    const mixed = (a: number | bigint, b: number | bigint): number => compute(Number(a), Number(b));
    environment.registerOperator(`double ${operator} int: double`, mixed);
    environment.registerOperator(`int ${operator} double: double`, mixed);
  }
  environment.registerOperator('double == int', (a: number, b: bigint) => a === Number(b));
  environment.registerOperator('double % double', (a: number, b: number) => a % b);
  environment.registerFunction(matchSignature, matchFunction, { async: false });
  return environment;
});

/** Parses an expression. Calls of CEL's own `matches`, which may take exponential time, are replaced by calls of ours. */
function parseWith(parser: Environment, text: string): ReturnType<Environment['parse']> {
  const parsed = parser.parse(text);
  renameMethod(parsed.ast, 'matches', 'matches_');
  return parsed;
}

/**
 * Type-checks a parsed expression, then wraps it so that its evaluation is paid for. In this order, because the check binds the functions
 * that the meter wraps.
 */
function checkAndMeter(parsed: ReturnType<Environment['parse']>): ReturnType<Environment['check']> {
  const checked = parsed.check();
  if (checked.error !== undefined) return checked;
  try {
    meter(parsed.ast);
    return checked;
  } catch (error) {
    return { valid: false, error: error as NonNullable<typeof checked.error> };
  }
}

/** The library's message, with the names that the author wrote. */
function messageOf({ summary, message }: LanguageError): string {
  return (summary ?? message).replaceAll('matches_(', 'matches(');
}

/** The language with variables of these names. */
function withVariables(names: readonly string[]): Environment {
  const environment = openLanguage().clone();
  for (const name of names) environment.registerVariable(name, 'dyn');
  return environment;
}

const openConditions = onFirstUse(() => withVariables(variables));

/** Values are read on demand, so that only what an expression names is recorded as read. */
function contextOf({ outcome, state }: ConditionScope): Readonly<Record<(typeof variables)[number], unknown>> {
  return {
    get outcome() {
      return { status: outcome.status, output: outcome.output ?? null, error: errorMap(outcome.error) };
    },
    get output() {
      return outcome.output ?? null;
    },
    get error() {
      return errorMap(outcome.error);
    },
    get input() {
      return state.input ?? null;
    },
    get scratch() {
      return state.scratch;
    },
    get artifacts() {
      return state.artifacts;
    },
    get diagnostics() {
      return state.diagnostics;
    },
    get outputs() {
      return state.outputs;
    },
  };
}

interface LanguageError {
  readonly message: string;
  readonly summary?: string;
  readonly range?: { readonly start: number };
}

function syntaxError(text: string, place: string | undefined, cause: LanguageError, parser: Environment): CairnError {
  const before = text.slice(0, cause.range?.start ?? 0).split('\n');
  const line = before.length;
  const column = (before.at(-1)?.length ?? 0) + 1;
  const reason = `${messageOf(cause)} at line ${line}, column ${column}${place === undefined ? '' : ` (${place})`}`;
  const hint = slipHint(text, messageOf(cause), parser === openConditions() ? variables : stateVariables);
  return new CairnError('CONDITION_SYNTAX', { condition: text, reason, line, column, place, hint }, { cause });
}

/**
 * Parses an expression over `outcome`, `output`, `error`, `input`, `scratch`, `artifacts`, `diagnostics` and `outputs`. Whole numbers and
 * numbers of the state may be mixed. The result must be true or false: `evaluate` throws CONDITION_FAILED for any other value, and for a
 * key that is missing (test with `has(scratch.key)`).
 * @param place - where the expression was written (`file:line`), for messages
 * @throws CONDITION_SYNTAX with `{ condition, line, column, place }`: it cannot be parsed, uses an unknown variable, or cannot give true or
 * false
 */
export function compileExpression(text: string, place?: string): Condition {
  const parsed = parse(text, place, 'true or false', (type) => type === 'bool');
  return { text, evaluate: (scope) => requireBoolean(run(parsed, scope, text), text) };
}

/**
 * Parses an expression over the same variables that gives the label of an edge, or a list of labels.
 * @throws CONDITION_SYNTAX like {@link compileExpression}; `choose` throws CONDITION_FAILED for any other value
 */
export function compileChoice(text: string, place?: string): Choice {
  const parsed = parse(
    text,
    place,
    'a text or a list of texts',
    (type) => type === 'string' || type.startsWith('list'),
  );
  return { text, choose: (scope) => requireTexts(run(parsed, scope, text), text) };
}

function requireTexts(value: unknown, text: string): string | readonly string[] {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw new CairnError('CONDITION_FAILED', { node: 'a node', reason: `${text} gives no text and no list of texts` });
}

function parse(
  text: string,
  place: string | undefined,
  wanted: string,
  isWanted: (type: string) => boolean,
  parser: Environment = openConditions(),
): ReturnType<Environment['parse']> {
  let parsed: ReturnType<Environment['parse']>;
  try {
    parsed = parseWith(parser, text);
  } catch (error) {
    throw syntaxError(text, place, error as LanguageError, parser);
  }
  const { error, type } = checkAndMeter(parsed);
  if (error !== undefined) throw syntaxError(text, place, error, parser);
  if (type === undefined || (type !== 'dyn' && !isWanted(type))) {
    throw syntaxError(text, place, { message: `the expression gives ${type ?? 'nothing'}, not ${wanted}` }, parser);
  }
  return parsed;
}

function run(parsed: ReturnType<Environment['parse']>, scope: ConditionScope, text: string): unknown {
  try {
    return withBudget(() => parsed(contextOf(scope)) as unknown);
  } catch (error) {
    throw new CairnError(
      'CONDITION_FAILED',
      { node: 'a node', condition: text, reason: `${text}: ${messageOf(error as LanguageError)}` },
      { cause: error },
    );
  }
}

/** Variables of a question about a run's state: its parts, by the names under which people see them. */
const stateVariables = ['status', 'input', 'scratch', 'artifacts', 'diagnostics', 'outputs', 'failures'] as const;
const openQuestions = onFirstUse(() => withVariables(stateVariables));

/** A condition over a run's state at a checkpoint, written in the language of conditions. */
export interface StateQuestion {
  /** The variables that it reads, each with the keys that follow it, as far as they are not computed. */
  readonly reads: readonly { readonly name: string; readonly path: readonly string[] }[];
  /** Whether it is true for these values. @throws CONDITION_FAILED no boolean; with `isAbsent` in the data: it reads an absent value */
  readonly holds: (values: Readonly<Record<string, unknown>>) => boolean;
}

/** Parses a question about a state. @throws CONDITION_SYNTAX as {@link compileExpression} does */
export function compileQuestion(text: string): StateQuestion {
  const parsed = parse(text, undefined, 'true or false', (type) => type === 'bool', openQuestions());
  const reads = referencesOf(parsed.ast).map(({ name, path }) => ({ name, path: knownKeys(path) }));
  const holds = (values: Readonly<Record<string, unknown>>): boolean => {
    let value: unknown;
    try {
      value = withBudget(() => parsed(values) as unknown);
    } catch (error) {
      const reason = `${text}: ${messageOf(error as LanguageError)}`;
      const isAbsent = isAbsence(error);
      throw new CairnError(
        'CONDITION_FAILED',
        { node: 'the question', condition: text, reason, isAbsent },
        { cause: error },
      );
    }
    return requireBoolean(value, text);
  };
  return { reads, holds };
}

/** The keys of a path down to the first that is computed, or is a place in a list. */
function knownKeys(path: ExpressionReference['path']): readonly string[] {
  const end = path.findIndex(({ key }) => typeof key !== 'string');
  return path.slice(0, end < 0 ? path.length : end).map(({ key }) => String(key));
}

/** Why an expression cannot be parsed or evaluated, and the offset of the fault in its text. */
export class ExpressionError extends Error {
  readonly offset: number;
  /** The path that leads to an absent value, if that is the reason. */
  readonly absent: ExpressionReference | undefined;

  constructor(reason: string, offset: number, absent?: ExpressionReference, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.name = 'ExpressionError';
    this.offset = offset;
    this.absent = absent;
  }
}

/** Whether a value is plain data already. Values of the state are; readers, and lists of them, have to be converted. */
function isPlain(value: unknown): boolean {
  return !(value instanceof FieldReader) && !(Array.isArray(value) && value[0] instanceof FieldReader);
}

/** An expression whose variables are not declared: they are the names that it uses. */
export interface ParsedExpression {
  readonly references: readonly ExpressionReference[];
  /** The type of its result, as far as the text tells: `bool`, `string`, `int`, `double`, `list`, `map`, …, or `dyn`. */
  readonly type: string;
  /** Evaluates it with values for its variables. @throws ExpressionError */
  readonly evaluate: (values: Readonly<Record<string, unknown>>) => unknown;
}

interface LibraryError extends LanguageError {
  readonly code?: string;
  readonly node?: unknown;
}

const isAbsence = (error: unknown): boolean =>
  ['no_such_key', 'index_out_of_bounds', 'unknown_variable'].includes((error as LibraryError).code ?? '');

interface MacroCall {
  readonly args: readonly Tree[];
}
interface Checker {
  check(tree: Tree, context: unknown): unknown;
  getType(name: string): unknown;
}
interface Evaluator {
  run(tree: Tree, context: unknown): unknown;
}

/** The value of a tree, or null if it reads something that is absent. */
function readOrNull(evaluator: Evaluator, tree: Tree | undefined, context: unknown): unknown {
  try {
    return tree === undefined ? null : evaluator.run(tree, context);
  } catch (error) {
    if (isAbsence(error)) return null;
    throw error;
  }
}

const macro =
  (type: string, evaluate: (evaluator: Evaluator, context: unknown, trees: readonly Tree[]) => unknown) =>
  ({ args }: MacroCall): object => ({
    typeCheck: (checker: Checker, _macro: unknown, context: unknown) => {
      for (const tree of args) checker.check(tree, context);
      return checker.getType(type);
    },
    evaluate: (evaluator: Evaluator, _macro: unknown, context: unknown) => evaluate(evaluator, context, args),
    async: false,
  });

/** Name that replaces `has(…)` in texts, because CEL's own works only on keys of maps. */
export const presenceFunction = 'has_';

const openTexts = onFirstUse(() => {
  const texts = openLanguage().clone({ unlistedVariablesAreDyn: true, enableOptionalTypes: false });
  texts.registerType('Fields', FieldReader).registerType('Url', URL).registerType('Failure', Error);
  texts.registerType('File', FileRef);
  const metadata = { async: false };
  for (const [signature, handler] of Object.entries(textFunctions)) {
    texts.registerFunction(signature, handler, metadata);
  }
  texts.registerOperator('string in string: bool', (part: string, text: string) => text.includes(part));
  texts.registerFunction(
    `${presenceFunction}(ast): bool`,
    macro('bool', (evaluator, context, [wanted]) => readOrNull(evaluator, wanted, context) !== null),
    metadata,
  );
  texts.registerFunction(
    'default(ast, ast): dyn',
    macro('dyn', (evaluator, context, [wanted, otherwise]) => {
      const value = readOrNull(evaluator, wanted, context);
      return value === null && otherwise !== undefined ? evaluator.run(otherwise, context) : value;
    }),
    metadata,
  );
  // If the third argument is true, empty values are replaced too.
  texts.registerFunction(
    'default(ast, ast, ast): dyn',
    macro('dyn', (evaluator, context, [wanted, otherwise, isEmpty]) => {
      const value = readOrNull(evaluator, wanted, context);
      const isPresent = readOrNull(evaluator, isEmpty, context) === true ? isTruthy(value) : value !== null;
      return isPresent || otherwise === undefined ? value : evaluator.run(otherwise, context);
    }),
    metadata,
  );
  return texts;
});

/** Names of the functions and methods that {@link parseExpression} knows. */
export const knownFunctions: () => readonly string[] = onFirstUse(() => {
  const names = openTexts()
    .getDefinitions()
    .functions.map(({ name }) => name);
  return [...new Set(names)].filter((name) => !name.endsWith('_'));
});

const errorOf = (error: LibraryError): ExpressionError => {
  const reference = isAbsence(error) && error.node !== undefined ? pathOf(error.node as Tree) : undefined;
  return new ExpressionError(messageOf(error), error.range?.start ?? 0, reference, error);
};

/**
 * Parses an expression over any variables, with the functions in docs/spec/yaml-expressions.md added to those of the language. Values that
 * it computes are converted to plain data; values that it only reads are returned as they are.
 * @throws ExpressionError it cannot be parsed, or cannot give a value
 */
export function parseExpression(text: string): ParsedExpression {
  let parsed: ReturnType<Environment['parse']>;
  try {
    parsed = parseWith(openTexts(), text);
  } catch (error) {
    throw errorOf(error as LibraryError);
  }
  const { error, type } = checkAndMeter(parsed);
  if (error !== undefined) throw errorOf(error);
  const tree: Tree = parsed.ast;
  const isPath = pathOf(tree) !== undefined;
  const evaluate = (values: Readonly<Record<string, unknown>>): unknown => {
    try {
      return withBudget(() => {
        const value = parsed(values) as unknown;
        if (isPath && isPlain(value)) return value;
        payForWhole(value, currentBudget());
        return plainValue(value);
      });
    } catch (cause) {
      throw errorOf(cause as LibraryError);
    }
  };
  return { references: referencesOf(tree), type: type ?? 'dyn', evaluate };
}
