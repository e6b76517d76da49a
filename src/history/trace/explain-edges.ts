/** Explains why edges were taken or not: evaluates their conditions again, with the state at the moment when the node ended. */
import { outgoingEdges, type StoredEdge } from '../../graph/compile/outgoing-edges.ts';
import { compileExpression } from '../../graph/expression/expression.ts';
import type { ChoiceExplainer, Condition, ConditionScope, ExplainedWay, GraphStructure } from '../../graph/graph.ts';
import { CairnError, reasonOf } from '../../errors.ts';

/** One edge that leaves a node, and whether it was taken. */
export interface ExplainedEdge {
  readonly to: string;
  /** Name of the edge for choices, if it is not the target's. */
  readonly label?: string;
  /** The expression, or the name of the function. */
  readonly condition?: string;
  /** Whether it was taken. */
  readonly fired: boolean;
  /** The result of evaluating its condition again. Absent if it has no condition, or if a function of the program decides. */
  readonly holds?: boolean;
  /** Why the edge was taken or not, in words. */
  readonly because: string;
}

/** The parts of a visit's end that edges depend on. */
export interface EndedVisit {
  readonly id: string;
  readonly status: string;
  /** Keys of the edges that fired. Undefined if nothing handled the node's failure. */
  readonly fired: readonly string[] | undefined;
  /** Targets that the node's outcome named. */
  readonly goto: readonly string[] | undefined;
}

/** Texts of the conditions and choices on a node's edges. If there are none, nothing has to be evaluated again. */
export function decidingTexts(structure: GraphStructure, id: string): readonly string[] {
  const texts = outgoingEdges(structure, id).flatMap(({ condition, choice }) => [condition?.text, choice?.text]);
  return [...new Set(texts)].filter((text) => text !== undefined);
}

/** @param scope - values for the conditions. Undefined if nothing has to be evaluated again. */
export function explainEdges(
  structure: GraphStructure,
  visit: EndedVisit,
  scope: ConditionScope | undefined,
  explainChoice: ChoiceExplainer | undefined,
): readonly ExplainedEdge[] {
  const edges = outgoingEdges(structure, visit.id);
  const waysOf = explainOnce(scope, explainChoice);
  const isFirst = structure.policies.routing === 'first';
  let isDecided = false;
  return edges.map((edge) => {
    const fired = visit.fired?.includes(edge.key) === true;
    const told = explainOne(edge, visit, {
      fired,
      isDecided,
      isFirst,
      scope,
      waysOf,
      isOnly: edges.length === 1,
    });
    if (fired && edge.always !== true) isDecided = true;
    const condition = told.condition ?? edge.condition?.text;
    // Labels of a choice that is data are the dialect's own, and say nothing to people.
    const isOwn = edge.label === edge.to || edge.choice?.text.startsWith('[') === true;
    const label = told.isKnown === true ? told.caption : isOwn ? undefined : edge.label;
    return {
      to: edge.to,
      ...(label !== undefined && { label }),
      ...(condition !== undefined && { condition }),
      fired,
      ...(told.holds !== undefined && { holds: told.holds }),
      because: told.because,
    };
  });
}

/** Explains each choice once, however many edges share it. */
function explainOnce(scope: ConditionScope | undefined, explain: ChoiceExplainer | undefined): Asked['waysOf'] {
  const known = new Map<string, readonly ExplainedWay[] | undefined>();
  return (choice) => {
    if (!known.has(choice)) known.set(choice, scope === undefined ? undefined : explain?.(choice, scope));
    return known.get(choice);
  };
}

interface Asked {
  readonly fired: boolean;
  /** Whether another edge was taken, and only one may be. */
  readonly isDecided: boolean;
  readonly isFirst: boolean;
  readonly isOnly: boolean;
  readonly scope: ConditionScope | undefined;
  /** The ways of a choice, as its dialect explains them. */
  readonly waysOf: (choice: string) => readonly ExplainedWay[] | undefined;
}

/** `isKnown`: the dialect explains the edge, and also names it. */
type Told = Omit<ExplainedWay, 'label'> & { readonly isKnown?: true };

function explainOne(edge: StoredEdge, visit: EndedVisit, asked: Asked): Told {
  const { fired, isDecided, isFirst, isOnly, scope } = asked;
  const { condition, choice, on = 'completed', always } = edge;
  if (always === true) return { because: 'it is always taken' };
  if (visit.goto !== undefined && visit.status === 'completed')
    return { because: fired ? 'the outcome names it' : `the outcome names ${visit.goto.join(', ') || 'nothing'}` };
  if (visit.status !== 'completed' && visit.status !== 'failed') return { because: `the node was ${visit.status}` };
  if (on !== 'any' && on !== visit.status && !fired) {
    // Of a failure too, the dialect may know why none of its ways took it.
    const way = choice && asked.waysOf(choice.text)?.find(({ label }) => label === (edge.label ?? edge.to));
    if (way !== undefined) return { ...way, isKnown: true };
    return { because: on === 'failed' ? 'it is for failures' : 'it is for what ended well' };
  }
  if (choice !== undefined && scope !== undefined) {
    const ways = asked.waysOf(choice.text);
    const way = ways?.find(({ label }) => label === (edge.label ?? edge.to));
    if (way !== undefined) return { ...way, isKnown: true };
    if (ways !== undefined) return { because: 'nothing called for it', isKnown: true };
    return {
      because: `${choice.text.length > 60 ? 'a choice' : choice.text} ${fired ? 'named it' : 'did not name it'}`,
    };
  }
  if (condition !== undefined && scope !== undefined) {
    const told = compute(condition.text, scope, fired);
    if (told.holds === true && !fired && isDecided && isFirst)
      return { ...told, because: 'it holds, and one before it was taken' };
    return told;
  }
  if (fired)
    return { because: isOnly ? 'it is the only one' : on === 'failed' ? 'the node failed' : 'it has no condition' };
  return { because: isFirst && isDecided ? 'one before it was taken' : 'it was not taken' };
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

function compute(text: string, scope: ConditionScope, fired: boolean): Told {
  const expression = expressionOf(text);
  const byFunction: Told = { because: `its function said ${fired ? 'yes' : 'no, or was not asked'}` };
  if (expression === undefined) return byFunction;
  try {
    const holds = expression.evaluate(scope);
    return { holds, because: holds ? 'its condition holds' : 'its condition does not hold' };
  } catch (error) {
    // The name of a function may also be readable as an expression.
    return fired ? byFunction : { because: `its condition cannot be computed: ${reasonOf(error)}` };
  }
}
