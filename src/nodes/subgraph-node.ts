/** The subgraph node: runs another graph as a child, inside its parent's history. */
import { CairnError } from '../errors.ts';
import type { Graph } from '../graph/graph.ts';
import { NodeFailure, outcome, type NodeContext, type OutcomeParts, type StateView } from '../graph/node-contract.ts';
import { refuseUnknownKeys } from './draft/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { FromState } from './draft/typed-context.ts';

export interface SubgraphNodeConfig<S extends StateView = StateView> {
  /** The child's input. Default: the parent's input. */
  readonly input?: FromState<unknown, S>;
  /** What the child's final state means for the parent: updates and an output. Default: the child's artifacts are the output. */
  readonly output?: FromState<OutcomeParts>;
}

const configKeys = ['input', 'output'] as const satisfies readonly (keyof SubgraphNodeConfig)[];

/**
 * A node that runs a graph (W6). It waits when the child waits, and fails with code `CHILD_FAILED` and the child's error as its cause
 * when the child fails. Effect class `read`: the child's own nodes say what may be repeated.
 */
export function subgraphNode<S extends StateView = StateView>(
  graph: Graph,
  config: SubgraphNodeConfig<S> = {},
  options: NodeOptions = {},
): NodeDraft {
  refuseUnknownKeys('subgraphNode', config, configKeys);
  if (graph?.nodeIndex === undefined)
    throw new CairnError('CONFIG_INVALID', { reason: 'subgraphNode(graph) needs a compiled graph' });
  const { input = (state) => state.input, output = (child) => ({ output: child.artifacts }) } =
    config as unknown as SubgraphNodeConfig;
  return draftNode(
    {
      type: 'subgraph',
      effect: 'read',
      subgraph: graph,
      implementation: {
        run: async (ctx) => outcome(output(await runChild(ctx, graph, input(ctx.state)))),
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
