/** Workflows written as a line of steps. See docs/guide/workflow.md. */
import type { MemoryConsistency } from '../../graph/contracts/memory-consistency.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { Webhook } from '../../graph/webhooks.ts';
import type { NoNames, StateView } from '../../graph/contracts/node-contract.ts';
import {
  END,
  type GraphPolicies,
  type OnBudget,
  type CheckpointPolicy,
  type Graph,
  type GraphSchemas,
  type NodeDefinition,
  type Reducer,
  type StandardSchema,
  type TimeLimit,
} from '../../graph/graph.ts';
import type { RunResult } from '../../engine/api.ts';
import { CairnError } from '../../errors.ts';
import { callPlace } from './agent-graph.ts';
import { layApprovals } from '../approval.ts';
import { withDerived } from '../derived-names.ts';
import { CompiledGraph, type GraphResult } from './compiled-graph.ts';
import type { CompileOptions, GraphParts } from './run-options.ts';
import type { NodeDraft } from '../../graph/node-draft.ts';
import type {
  Fits,
  NodeFunction,
  OutputOf,
  SchemaInput,
  SchemaOutput,
  TypedAnswers,
  TypedOutputs,
  TypedState,
} from './typed-state.ts';
import { type AnyWork, type NodeSettings, type Choose, defineNode, Trail } from './graph-parts.ts';
import { defineReturns, returnsId, type ReturnsFunction } from './returns-node.ts';
import {
  layBranch,
  layParallel,
  layStep,
  type BranchSettings,
  type ParallelSettings,
  type Part,
} from './workflow-parts.ts';
import type { LimitRef } from '../../graph/limit.ts';
import type { RunTitle } from '../../graph/run-title.ts';

/** Options of {@link workflow}. */
export interface WorkflowOptions<Scratch extends StandardSchema = StandardSchema> {
  /** Schema of `state.scratch`. */
  readonly scratch?: Scratch;
  /** Reducers by dotted path: `scratch.messages`. */
  readonly reducers?: Readonly<Record<string, Reducer>>;
  /** Which activations get a checkpoint of their own. Default `every_node`. */
  readonly checkpointPolicy?: CheckpointPolicy;
  /** How many activations may run at once. Default 64. */
  readonly concurrency?: number;
  /** When commits become durable (E4). Default `barrier`. */
  readonly durability?: GraphPolicies['durability'];
  /** What a run may spend, by unit: `{ usd: 5 }`. */
  readonly budget?: Amounts;
  /** What happens to an attempt that would start after the budget is spent. Default `ask`. */
  readonly onBudget?: OnBudget;
  /** How steps remember over sessions, unless their own settings say otherwise (A43). Default: as their memory says. */
  readonly memoryConsistency?: MemoryConsistency;
  /** The limits that each run is under, over all workers: `limit: perUser`, or their names (docs/guide/limits-and-rates.md). */
  readonly limit?: LimitRef | readonly LimitRef[];
  /** What the ends of its runs and their questions are told to. See docs/guide/webhooks.md. */
  readonly webhooks?: readonly Webhook[];
  /** How long a run may take from its admission on, in ms; `{ ms, countsWaits: false }`: without the time in which it is paused. */
  readonly timeLimit?: TimeLimit;
  /** Makes the title of a run from its input, by which people find it in lists. Called once, when the run is started. */
  readonly title?: RunTitle;
}

/** A workflow's state: a graph's state, with each step's output also in `artifacts` under the step's id. */
export interface WorkflowState<Schemas extends GraphSchemas, Nodes> extends Omit<
  TypedState<Schemas, Nodes>,
  'artifacts'
> {
  readonly artifacts: TypedOutputs<Nodes>;
}

/** Where a run of a workflow stands. */
export interface WorkflowResult<State, Value> extends GraphResult<State> {
  /** What the workflow returned; present when the status is `completed`. */
  readonly output?: Value;
}

/** Carries the types of a workflow's nodes and of their answers. Nothing of it exists at run time. */
interface HasNodes<Nodes, Answers> {
  readonly '~nodes': Nodes;
  readonly '~asked': Answers;
}

/** What an arm may be: one node, whose id is the arm's key, or steps begun from the `arm` that the callback form receives. */
type ArmWork<State extends { readonly input: unknown }> =
  | NodeDraft<State>
  | NodeFunction<State>
  | HasNodes<unknown, unknown>;
type Arms<State extends { readonly input: unknown }> = Readonly<Record<string, ArmWork<State>>>;

type ArmNodes<Work, Key extends string> =
  Work extends HasNodes<infer Nodes, unknown>
    ? Nodes
    : Work extends (ctx: never) => infer Result
      ? Record<Key, OutputOf<Result>>
      : Work extends NodeDraft<never, infer Result>
        ? Record<Key, OutputOf<Result>>
        : Record<Key, unknown>;
type ArmAnswers<Work, Key extends string> =
  Work extends HasNodes<unknown, infer Answers>
    ? Answers
    : Work extends NodeDraft<never, unknown, infer Answer>
      ? Record<Key, Answer>
      : Record<Key, unknown>;
type UnionToIntersection<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void
  ? I
  : never;
type NodesOfArms<A> = UnionToIntersection<{ [Key in keyof A & string]: ArmNodes<A[Key], Key> }[keyof A & string]>;
type AnswersOfArms<A> = UnionToIntersection<{ [Key in keyof A & string]: ArmAnswers<A[Key], Key> }[keyof A & string]>;

type ArmsOrCallback<Schemas extends GraphSchemas, Nodes, A> = A | ((arm: Workflow<Schemas, Nodes, unknown>) => A);
type CompiledWorkflow<Schemas extends GraphSchemas, Nodes, Value, Answers> = CompiledGraph<
  SchemaInput<Schemas['input']>,
  WorkflowResult<WorkflowState<Schemas, Nodes>, Value>,
  TypedAnswers<Answers>
>;
type StateOf<Schemas extends GraphSchemas, Nodes> = WorkflowState<Schemas, Nodes>;

/** What a step may be. An update may give a part of a channel, because it is not known here which channels have reducers. */
type StepWork<Schemas extends GraphSchemas, Nodes, Result, Answer> =
  | NodeFunction<StateOf<Schemas, Nodes>, Result & Fits<Result, Schemas, AnyReducers>>
  | NodeDraft<StateOf<Schemas, Nodes>, Result & Fits<Result, Schemas, AnyReducers>, Answer>;
type AnyReducers = Readonly<Record<string, 'merge'>>;
/** Settings of a step. Its output is typed under its id and under its `outputAs`. */
type StepSettings<Schemas extends GraphSchemas, Nodes, As> = Omit<NodeSettings<StateOf<Schemas, Nodes>>, 'outputAs'> & {
  readonly outputAs?: As;
};

/** Everything said about a workflow so far. */
interface Plan {
  readonly name: string;
  readonly options: WorkflowOptions;
  readonly parts: readonly Part[];
  readonly input?: StandardSchema;
  readonly returns?: NodeDefinition;
  readonly onCancel?: { readonly id: string; readonly lay: Part };
  readonly onRunFailure?: { readonly id: string; readonly lay: Part };
  readonly place?: string;
}

const optionNames = [
  'scratch',
  'reducers',
  'checkpointPolicy',
  'concurrency',
  'durability',
  'budget',
  'onBudget',
  'memoryConsistency',
  'limit',
  'webhooks',
  'timeLimit',
  'title',
] as const satisfies readonly (keyof WorkflowOptions)[];

/**
 * Builds a workflow. Each method returns a new builder and leaves the original unchanged. Nothing is checked before {@link
 * Workflow.compile}, which reports every fault at once (G7).
 */
export class Workflow<Schemas extends GraphSchemas, Nodes, Result, Answers = NoNames> implements HasNodes<
  Nodes,
  Answers
> {
  declare readonly '~nodes': Nodes;
  declare readonly '~asked': Answers;
  readonly #plan: Plan;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  /** Sets the schema of the workflow's input. */
  input<Input extends StandardSchema>(
    schema: Input,
  ): Workflow<Schemas & { readonly input: Input }, Nodes, Result, Answers> {
    return new Workflow({ ...this.#plan, input: schema });
  }

  /**
   * Adds a step: a function of the context, or the result of a node builder, with settings that override the builder's. A plain function is
   * `pure` unless its settings say otherwise. The step's output is in `state.artifacts` under `outputAs`, by default its id.
   */
  step<const Id extends string, Output, Answer = unknown, const As extends string = Id>(
    id: Id,
    work: StepWork<Schemas, Nodes, Output, Answer>,
    settings?: StepSettings<Schemas, Nodes, As>,
  ): Workflow<Schemas, Nodes & Record<Id | As, OutputOf<Output>>, Result, Answers & Record<Id, Answer>> {
    return this.#with(layStep(id, work as AnyWork, settings, callPlace()));
  }

  /**
   * The same as {@link Workflow.step}; reads better after a branch.
   * @throws USAGE_INVALID a workflow was awaited
   */
  // oxlint-disable unicorn/no-thenable -- the name that authors know; awaiting a workflow is refused.
  then<const Id extends string, Output, Answer = unknown, const As extends string = Id>(
    id: Id,
    work: StepWork<Schemas, Nodes, Output, Answer>,
    settings?: StepSettings<Schemas, Nodes, As>,
  ): Workflow<Schemas, Nodes & Record<Id | As, OutputOf<Output>>, Result, Answers & Record<Id, Answer>> {
    refuseAwait(id);
    return this.#with(layStep(id, work as AnyWork, settings, callPlace()));
  }
  // oxlint-enable unicorn/no-thenable

  /**
   * Goes on with the arm whose key `choose` returns; the next step follows whichever arm was taken. An arm that is a single node gets its
   * key as its id. For arms of several steps, or of none, use the callback form: `(arm) => ({ yes: arm.step(...), no: arm })`.
   */
  branch<const A extends Arms<StateOf<Schemas, Nodes>>>(
    choose: Choose<StateOf<Schemas, Nodes>, NoInfer<keyof A & string>>,
    arms: ArmsOrCallback<Schemas, Nodes, A>,
    settings: BranchSettings = {},
  ): Workflow<Schemas, Nodes & NodesOfArms<A>, Result, Answers & AnswersOfArms<A>> {
    const place = callPlace();
    return this.#with(layBranch(choose as Choose<never, string>, this.#armParts(arms, place), settings, place));
  }

  /**
   * Runs its arms in parallel. The next step starts when the condition in `join` is met. Arms are written as in {@link Workflow.branch}.
   */
  parallel<const A extends Arms<StateOf<Schemas, Nodes>>>(
    arms: ArmsOrCallback<Schemas, Nodes, A>,
    settings: ParallelSettings = {},
  ): Workflow<Schemas, Nodes & NodesOfArms<A>, Result, Answers & AnswersOfArms<A>> {
    const place = callPlace();
    return this.#with(layParallel(this.#armParts(arms, place), settings, place));
  }

  /**
   * Sets what the workflow returns: a schema that `state.artifacts` must fit, or a function of the state, or both, in which case the schema
   * applies to the function's result. A last node, `returns`, computes it, so the result is part of the history.
   */
  returns<Schema extends StandardSchema>(
    schema: Schema,
    compute?: ReturnsFunction<StateOf<Schemas, Nodes>, unknown>,
  ): Workflow<Schemas, Nodes, SchemaOutput<Schema, unknown>, Answers>;
  returns<Value>(
    compute: ReturnsFunction<StateOf<Schemas, Nodes>, Value>,
  ): Workflow<Schemas, Nodes, Awaited<Value>, Answers>;
  returns(
    first: StandardSchema | ReturnsFunction<never, unknown>,
    second?: ReturnsFunction<never, unknown>,
  ): Workflow<Schemas, Nodes, never, Answers> {
    return new Workflow({ ...this.#plan, returns: defineReturns(first, second, callPlace()) });
  }

  /**
   * Sets what runs once after a cancel, when what was under way has ended: a step beside the line, which undoes what the run did outside.
   * It sees the state as it was then, and `ctx.cancel` has the reason. See docs/guide/cancel.md.
   */
  onCancel<const Id extends string, Output, Answer = unknown>(
    id: Id,
    work: StepWork<Schemas, Nodes, Output, Answer>,
    settings?: StepSettings<Schemas, Nodes, Id>,
  ): Workflow<Schemas, Nodes, Result, Answers & Record<Id, Answer>> {
    return new Workflow({
      ...this.#plan,
      onCancel: { id, lay: layBeside(id, work, settings, callPlace()) },
    });
  }

  /**
   * Sets what runs once when the run has failed for good, before it stands failed: a step beside the line. `ctx.failure` says why it fails.
   * See docs/guide/run-ends.md.
   */
  onRunFailure<const Id extends string, Output, Answer = unknown>(
    id: Id,
    work: StepWork<Schemas, Nodes, Output, Answer>,
    settings?: StepSettings<Schemas, Nodes, Id>,
  ): Workflow<Schemas, Nodes, Result, Answers & Record<Id, Answer>> {
    const lay = layBeside(id, work, settings, callPlace());
    return new Workflow({ ...this.#plan, onRunFailure: { id, lay } });
  }

  /**
   * Builds the graph model.
   * @throws GRAPH_INVALID with every fault, each with its place and its fix
   */
  toGraph({ tools = {}, renamed, migrations, version }: GraphParts = {}): Graph {
    const { name, options, input, returns, onCancel, onRunFailure, parts, place } = this.#plan;
    const { scratch, reducers, checkpointPolicy = 'every_node', webhooks, ...policies } = options;
    const trail = Trail.begin(tools);
    const { nodes, edges, faults } = trail.layout;
    faults.checkOptions(options, optionNames, `workflow ${name}`, place);
    for (const [path, reducer] of Object.entries(reducers ?? {})) trail.layout.reducers.set(path, reducer);
    for (const part of parts) part(trail);
    if (nodes.length === 0)
      faults.add({ rule: 'G7', place, message: `workflow ${name} has no steps`, fix: 'add one with .step(id, work)' });
    if (input === undefined)
      faults.add({
        rule: 'G7',
        place,
        message: `workflow ${name} has no input`,
        fix: 'say what it takes with .input(schema)',
      });
    if (returns === undefined)
      faults.add({
        rule: 'G7',
        place,
        message: `workflow ${name} has no returns`,
        fix: 'say what it gives with .returns(schema)',
      });
    else trail.lay(returns);
    trail.leadTo(END);
    onCancel?.lay(trail);
    onRunFailure?.lay(trail);
    const laid = layApprovals(nodes, edges, trail.layout.approvals, renamed);
    return faults.compile({
      id: name,
      ...laid,
      ...(renamed !== undefined && { renamed: withDerived(renamed, laid.nodes) }),
      ...(migrations !== undefined && { migrations }),
      ...(version !== undefined && { version }),
      ...(webhooks !== undefined && { webhooks }),
      reducers: Object.fromEntries(trail.layout.reducers),
      schemas: { ...(input === undefined ? {} : { input }), ...(scratch === undefined ? {} : { scratch }) },
      policies: {
        ...policies,
        checkpoint: checkpointPolicy,
        ...(onCancel !== undefined && { onCancel: onCancel.id }),
        ...(onRunFailure !== undefined && { onRunFailure: onRunFailure.id }),
      },
      ...(returns !== undefined && { result: returnsId }),
    });
  }

  /**
   * Builds the workflow and makes it ready to run. Without a store, runs live in memory.
   * @throws GRAPH_INVALID, CONFIG_INVALID
   */
  compile(options: CompileOptions = {}): CompiledWorkflow<Schemas, Nodes, Result, Answers> {
    return new CompiledGraph(
      (parts) => this.toGraph(parts),
      options,
      (result) => addOutput(result) as unknown as WorkflowResult<StateOf<Schemas, Nodes>, Result>,
    );
  }

  #with<NewNodes, NewAnswers>(part: Part): Workflow<Schemas, NewNodes, Result, NewAnswers> {
    return new Workflow({ ...this.#plan, parts: [...this.#plan.parts, part] });
  }

  /** Turns arms into parts, in order, with their keys. */
  #armParts<A extends object>(
    arms: ArmsOrCallback<Schemas, Nodes, A>,
    place: string | undefined,
  ): ReadonlyMap<string, Part> {
    const blank = new Workflow<Schemas, Nodes, unknown>({ name: this.#plan.name, options: {}, parts: [] });
    const made: object = typeof arms === 'function' ? arms(blank) : arms;
    return new Map(
      Object.entries(made).map(([key, work]) => [
        key,
        work instanceof Workflow ? layArm(key, work.#plan, place) : layStep(key, work as AnyWork, undefined, place),
      ]),
    );
  }
}

/** Begins a workflow. The name is the id of its graph. */
export function workflow<const Scratch extends StandardSchema = StandardSchema<Readonly<Record<string, unknown>>>>(
  name: string,
  options: WorkflowOptions<Scratch> = {},
): Workflow<{ readonly scratch: Scratch }, NoNames, unknown> {
  const place = callPlace();
  return new Workflow({ name, options, parts: [], ...(place === undefined ? {} : { place }) });
}

/** Makes a part that adds a step beside the line: nothing leads to it. */
function layBeside(id: string, work: unknown, settings: unknown, place: string | undefined): Part {
  return ({ layout }) =>
    void layout.nodes.push(defineNode(id, work as AnyWork, settings as NodeSettings<StateView>, place, layout));
}

/** Makes a part from an arm of several steps. Such an arm may not declare an input or a result of its own. */
function layArm(key: string, { parts, input, returns, onCancel, onRunFailure }: Plan, place: string | undefined): Part {
  return (trail) => {
    if ([input, returns, onCancel, onRunFailure].some((own) => own !== undefined)) {
      trail.layout.faults.add({
        rule: 'G9',
        place,
        message: `arm ${key} has an input, returns, onCancel or onRunFailure of its own`,
        fix: 'write .input, .returns, .onCancel and .onRunFailure on the workflow only',
      });
    }
    for (const part of parts) part(trail);
  };
}

function addOutput(result: RunResult): WorkflowResult<StateView, unknown> {
  return result.status === 'completed' ? { ...result, output: result.state.outputs[returnsId] } : result;
}

/** Refuses `await workflow`. JavaScript takes any object with a `then` method for a promise, so awaiting one would hang forever. */
function refuseAwait(id: unknown): void {
  if (typeof id !== 'function') return;
  throw new CairnError('USAGE_INVALID', {
    reason: 'a workflow is not a promise',
    hint: 'Compile it, and await its invoke().',
  });
}
