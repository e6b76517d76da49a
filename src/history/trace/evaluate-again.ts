/** Evaluates the condition of an edge again, to tell people why the edge was taken or not. */
import { compileExpression } from '../../graph/expression/expression.ts';
import type { Condition, ConditionScope } from '../../graph/graph.ts';
import { CairnError } from '../../errors.ts';

/** What came of a condition. */
export interface Evaluated {
  /** Absent if a function of the program decides, or if it cannot be computed. */
  readonly holds?: boolean;
  readonly because: string;
}

const compiled = new Map<string, Condition | undefined>();
const compiledMax = 1_000;

/** Compiles a text as an expression. Undefined if it is the name of a function. */
function expressionOf(text: string): Condition | undefined {
  if (!compiled.has(text)) {
    if (compiled.size >= compiledMax) compiled.clear();
    compiled.set(text, tryCompile(text));
  }
  return compiled.get(text);
}

function tryCompile(text: string): Condition | undefined {
  try {
    return compileExpression(text);
  } catch (error) {
    if (CairnError.is(error, 'CONDITION_SYNTAX')) return undefined;
    throw error;
  }
}

export function evaluateAgain(text: string, scope: ConditionScope, fired: boolean): Evaluated {
  const expression = expressionOf(text);
  if (expression === undefined) return { because: `its function said ${fired ? 'yes' : 'no, or was not asked'}` };
  const holds = evaluate(expression, scope);
  if (holds === true) return { holds, because: 'its condition holds' };
  if (holds === false && !fired) return { holds, because: 'its condition does not hold' };
  // The name of a function may also be readable as an expression. What is on record is told.
  return { because: fired ? 'its condition held' : 'it was not taken' };
}

/** Undefined if it cannot be computed. */
function evaluate(expression: Condition, scope: ConditionScope): boolean | undefined {
  try {
    return expression.evaluate(scope);
  } catch {
    return undefined;
  }
}
