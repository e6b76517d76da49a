/** The router node: reads the state and decides where the run goes on. */
import { CairnError } from '../errors.ts';
import type { Choice } from '../graph/graph.ts';
import {
  NodeFailure,
  outcome,
  type NodeContext,
  type Outcome,
  type StateView,
} from '../graph/contracts/node-contract.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { FromState } from './draft/computed.ts';

export type Targets = string | readonly string[];

export interface RouterNodeConfig {
  /** Ids of the nodes it may route to. If set, targets are checked here; the engine checks them against the node's edges in any case. */
  readonly targets?: readonly string[];
}

const configKeys = ['targets'] as const satisfies readonly (keyof RouterNodeConfig)[];

/**
 * Makes a node that routes to the node ids that its function or choice returns: exactly the outgoing edges to these fire. The targets are
 * also the node's output. `compileChoice` makes a choice from an expression, such as `scratch.score > 3 ? 'good' : 'poor'`. A target that
 * is not declared makes the node fail with `ROUTE_UNKNOWN`.
 */
export function routerNode<S extends StateView = StateView, const Target extends Targets = Targets>(
  route: FromState<Target, S> | Choice,
  config: RouterNodeConfig = {},
  options: NodeOptions = {},
): NodeDraft<S, Target> {
  refuseUnknownKeys('routerNode', config, configKeys);
  const choose = toFunction(route as FromState<Targets> | Choice);
  const { text, version } = typeof route === 'function' ? {} : route;
  const targets = config.targets && [...config.targets];
  const data = Object.entries({ route: text, version, targets }).filter(([, value]) => value !== undefined);
  return draftNode(
    {
      type: 'router',
      effect: 'pure',
      config: Object.fromEntries(data),
      implementation: {
        run: (ctx) => routeTo(ctx, choose({ state: ctx.state }), targets),
        codeText: typeof route === 'function' ? String(route) : '',
      },
    },
    options,
  );
}

/** Makes a function of a choice. A choice normally sees the outcome of the node before its edge; here it gets an empty one. */
function toFunction(route: FromState<Targets> | Choice): FromState<Targets> {
  if (typeof route === 'function') return route;
  if (typeof route?.choose !== 'function')
    throw new CairnError('CONFIG_INVALID', { reason: 'routerNode(route) needs a function of the state or a choice' });
  const outcome = { status: 'completed', output: undefined, error: undefined } as const;
  return ({ state }) => route.choose({ state, outcome });
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
