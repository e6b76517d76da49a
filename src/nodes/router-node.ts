/** The router node: reads the state and says where the run goes on. */
import { NodeFailure, outcome, type NodeContext, type Outcome, type StateView } from '../graph/node-contract.ts';
import { refuseUnknownKeys } from './known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './node-draft.ts';
import type { FromState } from './typed-context.ts';

export type Targets = string | readonly string[];

export interface RouterNodeConfig {
  /** The nodes it may route to. Checked here if given, and by the engine against the node's edges in any case. */
  readonly targets?: readonly string[];
}

const configKeys = ['targets'] as const satisfies readonly (keyof RouterNodeConfig)[];

/**
 * A node that routes to the node ids its function returns: of its outgoing edges, exactly those fire. The targets are also its output.
 * A target that is not declared fails the node with `ROUTE_UNKNOWN`.
 */
export function routerNode<S extends StateView = StateView>(
  route: FromState<Targets, S>,
  config: RouterNodeConfig = {},
  options: NodeOptions = {},
): NodeDraft {
  refuseUnknownKeys('routerNode', config, configKeys);
  if (typeof route !== 'function') throw new TypeError('routerNode(route) needs a function of the state');
  const choose = route as unknown as FromState<Targets>;
  return draftNode(
    {
      type: 'router',
      effect: 'pure',
      ...(config.targets && { config: { targets: [...config.targets] } }),
      implementation: { run: (ctx) => routeTo(ctx, choose(ctx.state), config.targets), codeText: String(route) },
    },
    options,
  );
}

function routeTo({ nodeId }: NodeContext, chosen: unknown, targets: readonly string[] | undefined): Outcome {
  const list: readonly unknown[] = Array.isArray(chosen) ? chosen : [chosen];
  const unknownTarget = list.find(
    (target) => typeof target !== 'string' || (targets !== undefined && !targets.includes(target)),
  );
  if (unknownTarget !== undefined || list.includes(undefined)) {
    throw new NodeFailure(`node ${nodeId} routed to ${String(unknownTarget)}, which is none of its targets`, {
      code: 'ROUTE_UNKNOWN',
      data: { node: nodeId, target: String(unknownTarget), ...(targets && { targets }) },
    });
  }
  return outcome({ goto: chosen as Targets, output: chosen });
}
