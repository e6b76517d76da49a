/** Explains why edges were taken or not: evaluates their conditions again, with the state at the moment when the node ended. */
import { compileExpression } from '../../graph/expression/expression.ts';
import type { Condition, ConditionScope, ChoiceExplainer, ExplainedWay, GraphStructure } from '../../graph/graph.ts';
import { CairnError } from '../../errors.ts';
import { outgoingEdges, type StoredEdge } from '../../graph/compile/outgoing-edges.ts';

// Evaluates the condition of an edge again, to explain why the edge was taken or not.

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

function evaluateAgain(text: string, scope: ConditionScope, fired: boolean): Evaluated {
  const expression = expressionOf(text);
  if (expression === undefined) return { because: `its function said ${fired ? 'yes' : 'no, or was not asked'}` };
  const holds = evaluate(expression, scope);
  if (holds === true) return { holds, because: 'its condition holds' };
  if (holds === false && !fired) return { holds, because: 'its condition does not hold' };
  // The name of a function may also be readable as an expression. What is on record is shown.
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
  readonly error: Error | undefined;
  /** The config of the node. */
  readonly config: unknown;
  readonly onFailure: string | undefined;
  /** Whether it was beyond the node's `maxVisits`: then no edge leads back. */
  readonly isOverBound: boolean;
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
  const waysOf = explainOnce(visit, scope, explainChoice);
  const isFirst = structure.policies.routing === 'first';
  const isPassedOver = isRoutedAsCompleted(visit, edges);
  const isUnroutable = hasNoRoute(visit, edges);
  let isDecided = false;
  return edges.map((edge) => {
    const fired = visit.fired?.includes(edge.key) === true;
    const explained = explainOne(edge, visit, {
      fired,
      isDecided,
      isFirst,
      isPassedOver,
      isUnroutable,
      scope,
      waysOf,
      isOnly: edges.length === 1,
    });
    if (fired && edge.always !== true) isDecided = true;
    const condition = explained.condition ?? edge.condition?.text;
    // Labels of a choice that is data are the dialect's own, and say nothing to people.
    const isOwn = edge.label === edge.to || edge.choice?.text.startsWith('[') === true;
    const label = explained.isKnown === true ? explained.caption : isOwn ? undefined : edge.label;
    return {
      to: edge.to,
      ...(label !== undefined && { label }),
      ...(condition !== undefined && { condition }),
      fired,
      ...(explained.holds !== undefined && { holds: explained.holds }),
      because: explained.because,
    };
  });
}

/** Whether the edges of a completed visit decided although the visit failed: its node ignores failures, and no edge for failures fired. */
function isRoutedAsCompleted({ status, onFailure, fired = [] }: EndedVisit, edges: readonly StoredEdge[]): boolean {
  if (status !== 'failed' || onFailure !== 'continue') return false;
  return !edges.some(({ key, on, always }) => always !== true && on === 'failed' && fired.includes(key));
}

/** Whether an edge or a choice failed that should have routed what the visit came to. */
function hasNoRoute({ status, error }: EndedVisit, edges: readonly StoredEdge[]): boolean {
  const { code, data } = readError(error);
  if (status !== 'failed') return false;
  if (code === 'ROUTE_UNKNOWN') return true;
  return code === 'CONDITION_FAILED' && edges.some(({ key, on }) => key === data['edge'] && on !== 'failed');
}

/** Explains each choice once, however many edges share it. */
function explainOnce(
  { config }: EndedVisit,
  scope: ConditionScope | undefined,
  explain: ChoiceExplainer | undefined,
): EdgeSituation['waysOf'] {
  const known = new Map<string, readonly ExplainedWay[] | undefined>();
  return (choice) => {
    if (!known.has(choice)) known.set(choice, scope === undefined ? undefined : explain?.(choice, scope, config));
    return known.get(choice);
  };
}

interface EdgeSituation {
  readonly fired: boolean;
  /** Whether another edge was taken, and only one may be. */
  readonly isDecided: boolean;
  readonly isFirst: boolean;
  readonly isPassedOver: boolean;
  readonly isUnroutable: boolean;
  readonly isOnly: boolean;
  readonly scope: ConditionScope | undefined;
  /** The ways of a choice, as its dialect explains them. */
  readonly waysOf: (choice: string) => readonly ExplainedWay[] | undefined;
}

/** `isKnown`: the dialect explains the edge, and also names it. */
type EdgeExplanation = Omit<ExplainedWay, 'label'> & { readonly isKnown?: true };

function explainOne(edge: StoredEdge, visit: EndedVisit, situation: EdgeSituation): EdgeExplanation {
  const { fired, isDecided, isFirst, isOnly, isUnroutable, scope } = situation;
  const { condition, choice, on = 'completed', always } = edge;
  const { status, goto } = visit;
  if (always === true && fired) return { because: 'it is always taken' };
  // Only a failure that nothing handles, and a visit that was cut short, do not take it.
  if (always === true)
    return { because: status === 'failed' ? 'nothing handled the failure' : `the node was ${status}` };
  if (goto !== undefined && status === 'completed')
    return { because: fired ? 'the outcome names it' : `the outcome names ${goto.join(', ') || 'nothing'}` };
  if (status !== 'completed' && status !== 'failed') return { because: `the node was ${status}` };
  const ways = choice === undefined ? undefined : situation.waysOf(choice.text);
  const way = ways?.find(({ label }) => label === (edge.label ?? edge.to));
  if (way !== undefined) return { ...way, isKnown: true };
  if (ways !== undefined) return { because: 'nothing called for it', isKnown: true };
  const isAsWell = on === 'completed' && (situation.isPassedOver || isUnroutable);
  if (on !== 'any' && on !== status && !fired && !isAsWell)
    return { because: on === 'failed' ? 'it is for failures' : 'it is for what ended well' };
  const barred = fired ? undefined : whyBarred(edge, visit, isUnroutable);
  if (choice !== undefined && scope !== undefined) {
    const name = choice.text.length > 60 ? 'a choice' : choice.text;
    return { because: barred ?? `${name} ${fired ? 'named it' : 'did not name it'}` };
  }
  if (condition !== undefined && scope !== undefined) {
    const evaluated = evaluateAgain(condition.text, isAsWell ? asCompleted(scope) : scope, fired);
    if (evaluated.holds !== true || fired)
      return isUnroutable && evaluated.holds === undefined
        ? { ...evaluated, because: barred ?? evaluated.because }
        : evaluated;
    if (isDecided && isFirst) return { ...evaluated, because: 'it holds, and one before it was taken' };
    // It would have been taken, so that the text is the name of a function.
    return barred === undefined
      ? { because: 'it was not taken' }
      : { ...evaluated, because: `it holds, and ${barred}` };
  }
  if (fired)
    return { because: isOnly ? 'it is the only one' : on === 'failed' ? 'the node failed' : 'it has no condition' };
  return { because: isFirst && isDecided ? 'one before it was taken' : (barred ?? 'it was not taken') };
}

/** Why an edge was not taken that would else have been. Undefined if nothing is known to stand against it. */
function whyBarred({ key }: StoredEdge, visit: EndedVisit, isUnroutable: boolean): string | undefined {
  const { code, data } = readError(visit.error);
  if (code === 'STATE_WRITE_CONFLICT') return 'a conflict of writes fails the run';
  if (isUnroutable) {
    if (code === 'ROUTE_UNKNOWN') return `${String(data['target'])} was named, which is none of the ways`;
    return data['edge'] === key ? `it cannot be decided: ${String(data['reason'])}` : 'another could not be decided';
  }
  return visit.isOverBound ? 'it leads back, and no visit is left' : undefined;
}

interface ReadError {
  readonly code?: unknown;
  readonly data: Readonly<Record<string, unknown>>;
}

function readError(error: Error | undefined): ReadError {
  const { code, data } = (error ?? {}) as Partial<ReadError>;
  return { code, data: data ?? {} };
}

function asCompleted({ outcome: { output }, state }: ConditionScope): ConditionScope {
  return { outcome: { status: 'completed', output, error: undefined }, state };
}
