/** The subgraph node: runs another graph as a child, inside its parent's history. */
import { CairnError } from '../errors.ts';
import type { Graph } from '../graph/graph.ts';
import { graphOf, type GraphOrRunnable } from '../graph/runnable-graph.ts';
import {
  NodeFailure,
  outcome,
  type NodeContext,
  type OutcomeParts,
  type StateView,
} from '../graph/contracts/node-contract.ts';
import { refuseUnknownKeys } from './draft/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { FromState } from './draft/typed-context.ts';

/** @typeParam Parts - what `output` gives */
export interface SubgraphNodeConfig<
  S extends StateView = StateView,
  Input = unknown,
  Child = StateView,
  Parts extends OutcomeParts = OutcomeParts,
> {
  /** The child's input. Default: the parent's input. */
  readonly input?: FromState<Input, S>;
  /** What the child's final state means for the parent: updates and an output. Default: the child's artifacts are the output. */
  readonly output?: (child: { readonly state: Child }) => Parts;
}

/** The child's artifacts, or what `output` makes of its state. */
type SubgraphOutput<Child, Parts> = [Parts] extends [never]
  ? Child extends { readonly artifacts: infer Artifacts }
    ? Artifacts
    : unknown
  : Parts extends { readonly output: infer Output }
    ? Output
    : undefined;

const configKeys = ['input', 'output'] as const satisfies readonly (keyof SubgraphNodeConfig)[];

/**
 * A node that runs a graph (W6): what `toGraph()` gives, or `compile()`. It waits when the child waits, and fails with code `CHILD_FAILED` and the child's error as its cause
 * when the child fails. Effect class `read`: the child's own nodes say what may be repeated.
 */
export function subgraphNode<
  S extends StateView = StateView,
  Input = unknown,
  Child = StateView,
  Parts extends OutcomeParts = never,
>(
  given: GraphOrRunnable<Input, Child>,
  config: SubgraphNodeConfig<S, NoInfer<Input>, NoInfer<Child>, Parts> = {},
  options: NodeOptions = {},
): NodeDraft<S, SubgraphOutput<Child, Parts>> {
  refuseUnknownKeys('subgraphNode', config, configKeys);
  const graph = graphOf(given);
  if (graph === undefined)
    throw new CairnError('CONFIG_INVALID', { reason: 'subgraphNode(graph) needs a graph, or what compile() gives' });
  const { input = ({ state }) => state.input, output = ({ state }) => ({ output: state.artifacts }) } =
    config as unknown as SubgraphNodeConfig;
  return draftNode(
    {
      type: 'subgraph',
      effect: 'read',
      subgraph: graph,
      implementation: {
        run: async (ctx) => outcome(output({ state: await runChild(ctx, graph, input({ state: ctx.state })) })),
        codeText: `${String(config.input)}\n${String(config.output)}`,
      },
    },
    options,
  );
}

/** Runs a child and returns its final state. @throws NodeFailure CHILD_FAILED */
export async function runChild(ctx: NodeContext, graph: Graph, input: unknown, name?: string): Promise<StateView> {
  const { status, state, error } = await ctx.run(graph, input, name === undefined ? {} : { name });
  if (status === 'completed') return state;
  const reason = error === undefined ? '' : `: ${error.message}`;
  throw new NodeFailure(`child run of ${graph.id} failed${reason}`, {
    code: 'CHILD_FAILED',
    data: { graphId: graph.id, ...(name !== undefined && { name }) },
    cause: error,
  });
}
