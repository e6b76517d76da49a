/** A workflow as the code of a block is handed it that may run several. */
import type { CallableWorkflow } from '../../../graph/contracts/node-type.ts';
import type { Graph } from '../../../graph/graph.ts';
import { jsonSchemaOf } from '../file/input-schema.ts';
import type { LinkedWorkflow } from './block-parts.ts';
import { outputsId } from './outputs-node.ts';

export function callableOf({ graph, description, inputs }: LinkedWorkflow): CallableWorkflow {
  return { description, graph, inputSchema: jsonSchemaOf(inputs), resultNode: outputsId, isActing: isActing(graph) };
}

function isActing({ nodes }: Graph): boolean {
  return nodes.some(
    ({ effect, subgraph }) =>
      effect === 'write' || effect === 'external' || (subgraph !== undefined && isActing(subgraph)),
  );
}
