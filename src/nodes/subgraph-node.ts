/** The subgraph node: runs another graph as a child run, inside of its parent's history. */
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
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { FromState } from './draft/typed-context.ts';

/** Configuration of a subgraph node. @typeParam Parts - what `output` returns */
export interface SubgraphNodeConfig<
  S extends StateView = StateView,
  Input = unknown,
  Child = StateView,
  Parts extends OutcomeParts = OutcomeParts,
> {
  /** Computes the child's input. Default: the parent's input. */
  readonly input?: FromState<Input, S>;
  /** Turns the child's final state into an outcome of this node: an output and updates. Default: the child's artifacts are the output. */
  readonly output?: (child: { readonly state: Child }) => Parts;
}

/** The child's artifacts, or the output that `output` makes of its state. */
type SubgraphOutput<Child, Parts> = [Parts] extends [never]
  ? Child extends { readonly artifacts: infer Artifacts }
    ? Artifacts
    : unknown
  : Parts extends { readonly output: infer Output }
    ? Output
    : undefined;

const configKeys = ['input', 'output'] as const satisfies readonly (keyof SubgraphNodeConfig)[];

/**
 * Makes a node that runs a graph: the result of `toGraph()` or `compile()` (W6). The node waits while the child waits. If the child fails,
 * it fails with code `CHILD_FAILED` and the child's error as its cause. The effect class is `read`: the child's nodes have classes of their
 * own.
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

/** Runs a child run and returns its final state. @throws NodeFailure CHILD_FAILED */
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
