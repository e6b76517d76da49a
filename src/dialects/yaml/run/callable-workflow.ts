/** A workflow in the form in which it is given to the code of a block that may run several workflows. */
import type { EffectClass } from '../../../graph/contracts/node-contract.ts';
import type { CallableWorkflow } from '../../../graph/contracts/node-type.ts';
import type { Graph } from '../../../graph/graph.ts';
import { jsonSchemaOf } from '../file/input-schema.ts';
import type { LinkedWorkflow } from './block-parts.ts';
import { outputsId } from './outputs-node.ts';

export function callableOf({ graph, description, inputs }: LinkedWorkflow): CallableWorkflow {
  return { description, graph, inputSchema: jsonSchemaOf(inputs), resultNode: outputsId, effect: strongest(graph) };
}

const byStrength: readonly EffectClass[] = ['pure', 'read', 'write', 'external'];

function strongest({ nodes }: Graph): EffectClass {
  const strengths = nodes.flatMap(({ effect, subgraph }) => [
    effect,
    ...(subgraph === undefined ? [] : [strongest(subgraph)]),
  ]);
  return byStrength.findLast((effect) => strengths.includes(effect)) ?? 'pure';
}
