/** Lays out a workflow's steps as nodes and edges, one after another. */
import { CairnError } from '../../errors.ts';
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import {
  type Graph,
  type GraphDefinition,
  type Violation,
  type Choice,
  type Condition,
  type ConditionScope,
  type NodeDefinition,
  START,
  type EdgeDefinition,
  type Reducer,
} from '../../graph/graph.ts';
import { checkApproval, contextWith, type ApprovedNode, type NodeApproval } from '../approval.ts';
import { nearest } from '../../graph/nearest.ts';
import { functionChoice, functionCondition } from '../../graph/condition.ts';
import type { SettledOutcome } from './typed-state.ts';
import type { NodeDraft, Tools } from '../../graph/node-draft.ts';
import type { EffectClass, NodeContext, NodeImplementation, StateView } from '../../graph/contracts/node-contract.ts';

// Collects the faults found while a graph is being written, so that they can be reported all at once with those of the graph itself (G7).

type Fault = Omit<Violation, 'severity' | 'place'> & { readonly place?: string | undefined };

export class Faults {
  readonly #violations: Violation[] = [];

  constructor(from: Iterable<Violation> = []) {
    this.#violations.push(...from);
  }

  /** A copy of the faults found so far. */
  get list(): readonly Violation[] {
    return [...this.#violations];
  }

  add({ rule, message, fix, place }: Fault): void {
    this.#violations.push({ rule, severity: 'error', place: place ?? 'graph', message, fix });
  }

  /** The known options. Each other one has a fault added, since it would have no effect (G9). */
  checkOptions<Options extends object>(
    options: Options | undefined,
    known: readonly string[],
    of: string,
    place?: string,
  ): Partial<Options> {
    const entries = Object.entries(options ?? {});
    for (const [key] of entries.filter(([name]) => !known.includes(name))) {
      const guess = nearest(key, known);
      const hint = guess === undefined ? '' : `did you mean ${guess}? `;
      this.add({
        rule: 'G9',
        place,
        message: `${of} has no option ${key}`,
        fix: `${hint}use one of: ${known.join(', ')}`,
      });
    }
    return Object.fromEntries(entries.filter(([name]) => known.includes(name))) as Partial<Options>;
  }

  /**
   * Compiles a definition. Reports the faults collected here together with those the compiler finds.
   * @throws GRAPH_INVALID
   */
  compile(definition: GraphDefinition): Graph {
    const compiled = tryCompile(definition);
    const violations = [...this.#violations, ...compiled.violations];
    if (violations.length > 0 || compiled.graph === undefined) {
      throw new CairnError('GRAPH_INVALID', { graphId: definition.id, violations });
    }
    return compiled.graph;
  }
}

function tryCompile(definition: GraphDefinition): {
  readonly graph?: Graph;
  readonly violations: readonly Violation[];
} {
  try {
    return { graph: compileGraph(definition), violations: [] };
  } catch (error) {
    if (!CairnError.is(error, 'GRAPH_INVALID')) throw error;
    return { violations: error.data['violations'] as readonly Violation[] };
  }
}

// Conditions and choices written as functions of the state.

/** What a condition or a choice receives: the state, and how the edge's source node settled. */
export interface TypedScope<State> {
  readonly state: State;
  readonly outcome: SettledOutcome;
}

/** A pure function of the scope, or a ready-made condition, which can carry a version. */
export type Predicate<State> = Condition | ((scope: TypedScope<State>) => boolean);

/** A pure function that returns the label of one target, or of several. */
export type Choose<State, Label extends string> = (scope: TypedScope<State>) => Label | readonly Label[];

/**
 * Makes a condition from a predicate; reports a fault if it is neither a function nor a condition. In the graph's hash the function is
 * represented by its name, not its source, so reformatting the code does not change the graph (G1).
 */
export function asCondition<State>(
  predicate: Predicate<State>,
  fallbackName: string,
  faults: Faults,
  place: string | undefined,
): Condition {
  if (typeof predicate !== 'function') {
    if (typeof predicate?.evaluate === 'function') return predicate;
    const message = `the condition of ${fallbackName} is neither a function nor a condition`;
    faults.add({ rule: 'G6', place, message, fix: 'write it as ({ state, outcome }) => ...' });
    return { text: fallbackName, evaluate: () => false };
  }
  const isUnnamed = predicate.name === '' || predicate.name === 'when';
  return functionCondition(predicate as (scope: ConditionScope) => boolean, {
    text: isUnnamed ? fallbackName : predicate.name,
  });
}

/** @param name - what the choice is called in the graph's hash and in messages */
export function asChoice<State>(choose: Choose<State, string>, name: string, version: string | undefined): Choice {
  return functionChoice(choose as (scope: ConditionScope) => string | readonly string[], {
    text: name,
    ...(version === undefined ? {} : { version }),
  });
}

// Turns what an author adds as a node (a draft or a plain function, plus settings) into a node definition.

/** Settings of a node, passed where it is added. They override those of the draft. */
export interface NodeSettings<State> extends Pick<
  NodeDraft,
  | 'version'
  | 'reads'
  | 'join'
  | 'retry'
  | 'timeoutMs'
  | 'onFailure'
  | 'checkpoint'
  | 'idempotent'
  | 'budget'
  | 'onBudget'
  | 'atMost'
  | 'memoryConsistency'
  | 'limit'
  | 'maxVisits'
  | 'outputAs'
  | 'uses'
> {
  /** The node's effect class: what recovery may do with it. */
  readonly effectClass?: EffectClass;
  /** Finds out whether the effect with this key happened, and its result: an output, or an `outcome(…)`. Overrides the draft's own (X3). */
  readonly reconcile?: NodeImplementation['reconcile'];
  /** What `ctx.input` is in the node: made of the state that the node sees. Default: the graph's input. */
  readonly input?: ((scope: { readonly state: State }) => unknown) | undefined;
  /** Asks a person before the node runs: by the node `ID?`, whose answer fixes the node's input (G14). */
  readonly approval?: NodeApproval<State> | undefined;
  /** A condition that is evaluated when the node's join is satisfied. If it is false, the node is skipped (G2). */
  readonly when?: Predicate<State> | undefined;
}

/** Names of all settings of a node. */
export const settingNames: readonly (keyof NodeSettings<never>)[] = [
  'version',
  'effectClass',
  'reconcile',
  'reads',
  'input',
  'approval',
  'when',
  'join',
  'retry',
  'timeoutMs',
  'onFailure',
  'checkpoint',
  'idempotent',
  'budget',
  'onBudget',
  'atMost',
  'memoryConsistency',
  'limit',
  'maxVisits',
  'outputAs',
  'uses',
];

/** A draft or a function, whatever the type of its state. */
export type AnyWork = NodeDraft<never> | ((ctx: never) => unknown);

/** What is needed to define nodes: where to report faults, and the tools that nodes may refer to by name. */
export interface Drafting {
  readonly faults: Faults;
  readonly tools: Tools;
  /** The nodes that a person is asked about, by id. `layApprovals` puts the questions before them. */
  readonly approvals: Map<string, ApprovedNode>;
}

/**
 * Makes a node definition from a draft or a function and the settings it was added with. If they cannot be used, a fault is reported and a
 * node that does nothing is returned, so that the rest of the graph is still checked.
 */
export function defineNode<State>(
  id: string,
  work: AnyWork,
  settings: Partial<NodeSettings<State>> | undefined,
  place: string | undefined,
  { faults, tools, approvals }: Drafting,
): NodeDefinition {
  const known = faults.checkOptions(settings, settingNames, `node ${id}`, place);
  const { when, effectClass, reconcile, input, approval, ...rest } = known;
  if (approval !== undefined) {
    const checked = checkApproval(id, approval, faults, place);
    const inputOf = (input ?? (({ state }: { readonly state: StateView }) => state.input)) as ApprovedNode['input'];
    if (checked !== undefined) approvals.set(id, { approval: checked, input: inputOf });
  }
  const draft = bindTool(id, draftOf(id, work, place, faults), tools, place, faults);
  const own = reconcile === undefined ? draft.implementation : { ...draft.implementation, reconcile };
  const { isDeclared, ...drafted } = draft;
  return {
    ...drafted,
    ...(isDeclared === false && effectClass === undefined && { isDeclared }),
    implementation: input === undefined || approval !== undefined ? own : withInput(own, input),
    ...rest,
    ...(effectClass === undefined ? {} : { effect: effectClass }),
    ...(when === undefined ? {} : { when: asCondition(when, `${id} when`, faults, place) }),
    ...(place === undefined ? {} : { place }),
    id,
  };
}

/** The implementation with a context whose `input` is made of the state, when it is first read. */
function withInput(own: NodeImplementation, input: (scope: { state: never }) => unknown): NodeImplementation {
  const codeText = `${own.codeText ?? String(own.run)}\n${String(input)}`;
  const scoped = (ctx: NodeContext): NodeContext =>
    contextWith(ctx, { input: () => input({ state: ctx.state as never }) });
  return { ...own, codeText, run: (ctx) => own.run(scoped(ctx)) };
}

function draftOf(id: string, work: AnyWork, place: string | undefined, faults: Faults): NodeDraft<never> {
  if (typeof work === 'function') return functionDraft(work as (ctx: NodeContext) => unknown);
  if (typeof work === 'object' && work !== null && typeof work.implementation?.run === 'function') return work;
  faults.add({
    rule: 'G2',
    place,
    message: `node ${id} is neither a function nor what a node builder returns`,
    fix: 'pass a function, or functionNode(...), shellNode(...) and their like',
  });
  return functionDraft(() => undefined);
}

function bindTool(
  id: string,
  draft: NodeDraft<never>,
  tools: Tools,
  place: string | undefined,
  faults: Faults,
): NodeDraft<never> {
  if (draft.byTool === undefined) return draft;
  const { name, bind } = draft.byTool;
  if (Object.hasOwn(tools, name)) return bind(tools[name]!);
  const known = Object.keys(tools);
  faults.add({
    rule: 'G7',
    place,
    message: `node ${id} calls the tool ${name}, which the graph is not given`,
    fix: `compile({ tools: { ${name}: { execute } } })${known.length === 0 ? '' : `; given are ${known.join(', ')}`}`,
  });
  return functionDraft(() => undefined);
}

function functionDraft(run: (ctx: NodeContext) => unknown): NodeDraft<never> {
  return { type: 'function', effect: 'pure', isDeclared: false, implementation: { run } };
}

/** An edge that has no target yet. The node that is laid next becomes its target. */
interface LooseEnd {
  readonly from: string;
  readonly choice?: Choice;
  readonly label?: string;
}

/** What all trails of one workflow write to. */
export interface Layout extends Drafting {
  readonly nodes: NodeDefinition[];
  readonly edges: EdgeDefinition[];
  readonly reducers: Map<string, Reducer>;
}

/**
 * One line of steps. A branch or a parallel part walks several trails over the same layout, and continues where they end.
 *
 * Nodes that the author did not name get ids made from the names next to them, never from a counter, so that adding a step elsewhere does
 * not rename them.
 */
export class Trail {
  readonly layout: Layout;
  #ends: readonly LooseEnd[];
  #name: string;

  private constructor(layout: Layout, ends: readonly LooseEnd[], name: string) {
    this.layout = layout;
    this.#ends = ends;
    this.#name = name;
  }

  static begin(tools: Tools): Trail {
    return new Trail(
      { nodes: [], edges: [], reducers: new Map(), faults: new Faults(), tools, approvals: new Map() },
      [{ from: START }],
      'start',
    );
  }

  /** Id of the last named node. Ids of unnamed nodes after it are made from this. */
  get name(): string {
    return this.#name;
  }

  get isForked(): boolean {
    return this.#ends.length > 1;
  }

  /** Adds a node at the end of the trail. */
  lay(node: NodeDefinition): void {
    this.layout.nodes.push(node);
    this.leadTo(node.id, node.place);
    this.#ends = [{ from: node.id }];
    this.#name = node.id;
  }

  /** Connects every loose end to a node. */
  leadTo(to: string, place?: string): void {
    for (const end of this.#ends) this.layout.edges.push({ ...end, to, ...(place === undefined ? {} : { place }) });
  }

  /** Begins a new trail with its own name where this one ends. If there is a choice, the new trail begins with an edge of that choice. */
  split(name: string, choice?: Choice): Trail {
    const ends = choice === undefined ? this.#ends : this.#ends.map((end) => ({ ...end, choice, label: name }));
    return new Trail(this.layout, ends, name);
  }

  /** Continues this trail from the ends of all these trails. */
  gather(trails: readonly Trail[]): void {
    this.#ends = trails.flatMap((trail) => trail.#ends);
  }
}
