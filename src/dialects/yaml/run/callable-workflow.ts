/** A workflow in the form in which it is given to the code of a block that may run several workflows. */
import type { CallableWorkflow } from '../../../graph/contracts/node-type.ts';
import { jsonSchemaOf } from '../file/input-schema.ts';
import type { LinkedWorkflow } from './block-parts.ts';
import { outputsId } from './outputs-node.ts';

export function callableOf({ graph, description, inputs, effect }: LinkedWorkflow): CallableWorkflow {
  return { description, graph, inputSchema: jsonSchemaOf(inputs), resultNode: outputsId, effect };
}
