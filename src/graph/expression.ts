/** Conditions written as text, in the Common Expression Language (G6). The only file that knows the expression library. */
import { Environment } from '@marcbachmann/cel-js';
import { CairnError } from '../errors.ts';
import { requireBoolean } from './condition.ts';
import type { Choice, Condition, ConditionScope } from './graph.ts';

const variables = ['outcome', 'output', 'error', 'input', 'scratch', 'artifacts', 'diagnostics', 'outputs'] as const;

const arithmetic: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
};

function createEnvironment(): Environment {
  const environment = new Environment({ homogeneousAggregateLiterals: false, enableOptionalTypes: true });
  for (const name of variables) environment.registerVariable(name, 'dyn');
  // Numbers of the state are doubles and whole numbers of an expression are ints; the language itself does not mix the two.
  for (const [operator, compute] of Object.entries(arithmetic)) {
    const mixed = (a: number | bigint, b: number | bigint): number => compute(Number(a), Number(b));
    environment.registerOperator(`double ${operator} int: double`, mixed);
    environment.registerOperator(`int ${operator} double: double`, mixed);
  }
  environment.registerOperator('double == int', (a: number, b: bigint) => a === Number(b));
  environment.registerOperator('double % double', (a: number, b: number) => a % b);
  return environment;
}

const environment = createEnvironment();

/** What an expression sees of an error: a map, since the language knows no classes. */
function errorMap(error: Error | undefined): Readonly<Record<string, unknown>> | null {
  if (error === undefined) return null;
  const { code, data } = error as { readonly code?: unknown; readonly data?: unknown };
  return { name: error.name, message: error.message, code: code ?? null, data: data ?? null };
}

/** Read on demand, so that only what an expression names counts as read. */
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

function syntaxError(text: string, place: string | undefined, cause: LanguageError): CairnError {
  const before = text.slice(0, cause.range?.start ?? 0).split('\n');
  const line = before.length;
  const column = (before.at(-1)?.length ?? 0) + 1;
  const reason = `${cause.summary ?? cause.message} at line ${line}, column ${column}${place === undefined ? '' : ` (${place})`}`;
  return new CairnError('CONDITION_SYNTAX', { condition: text, reason, line, column, place }, { cause });
}

/**
 * Parses an expression over `outcome`, `output`, `error`, `input`, `scratch`, `artifacts`, `diagnostics` and `outputs`.
 * Whole numbers and numbers of the state may be compared and reckoned with freely. The result must be true or false: `evaluate`
 * throws CONDITION_FAILED for anything else, and for a key that is missing (ask with `has(scratch.key)`).
 * @param place - where the expression was written, `file:line`, for messages
 * @throws CONDITION_SYNTAX with `{ condition, line, column, place }`: it cannot be parsed, names an unknown variable, or cannot yield true or false
 */
export function compileExpression(text: string, place?: string): Condition {
  const parsed = parse(text, place, 'true or false', (type) => type === 'bool');
  return { text, evaluate: (scope) => requireBoolean(run(parsed, scope, text), text) };
}

/**
 * Parses an expression over the same variables that yields the name of a target, or a list of names.
 * @throws CONDITION_SYNTAX as {@link compileExpression} does; `choose` throws CONDITION_FAILED for any other value
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
): ReturnType<Environment['parse']> {
  let parsed: ReturnType<Environment['parse']>;
  try {
    parsed = environment.parse(text);
  } catch (error) {
    throw syntaxError(text, place, error as LanguageError);
  }
  const { error, type } = parsed.check();
  if (error !== undefined) throw syntaxError(text, place, error);
  if (type === undefined || (type !== 'dyn' && !isWanted(type))) {
    throw syntaxError(text, place, { message: `the expression gives ${type ?? 'nothing'}, not ${wanted}` });
  }
  return parsed;
}

function run(parsed: ReturnType<Environment['parse']>, scope: ConditionScope, text: string): unknown {
  try {
    return parsed(contextOf(scope)) as unknown;
  } catch (error) {
    const { summary, message } = error as LanguageError;
    throw new CairnError(
      'CONDITION_FAILED',
      { node: 'a node', condition: text, reason: `${text}: ${summary ?? message}` },
      { cause: error },
    );
  }
}
