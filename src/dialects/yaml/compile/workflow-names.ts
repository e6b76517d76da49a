/**
 * The names that texts of a workflow may use: its inputs, its blocks with their fields, and its secrets, with their types as far as known.
 */
import type { JsonSchema, NodeType } from '../../../graph/contracts/node-type.ts';
import type { TextWorkflow, WorkflowInput } from '../../text-workflow.ts';
import type { Names } from '../expression/template.ts';
import { isCall } from '../file/call-type.ts';
import type { BlockFile, WorkflowFile } from '../file/workflow-file.ts';
import { forEachFields } from '../run/for-each-node.ts';
import type { BlockOrder } from './block-order.ts';

interface Surroundings {
  readonly inputs: readonly WorkflowInput[];
  readonly order: BlockOrder;
  /** The workflows that its blocks run, by block. */
  readonly children: ReadonlyMap<string, TextWorkflow>;
  readonly types: ReadonlyMap<string, NodeType>;
}

/** The names of one workflow. The fields of a block are found on first use. */
export function namesOf(file: WorkflowFile, { inputs, order, children, types }: Surroundings): Names {
  const known = new Map<string, readonly string[] | undefined>();
  return {
    inputs: inputs.map(({ name }) => name),
    blocks: [...order.blocks.keys()],
    secrets: file.secrets,
    typeOf: (name, field) => typeOfName(name, field, { inputs, order, types }),
    hasEach: false,
    fieldsOf: (id) => {
      if (!known.has(id)) known.set(id, fieldsOf(order.blocks.get(id), children.get(id), types));
      return known.get(id);
    },
  };
}

/** The single type of an input, or of a block's field; undefined if not known or several. */
function typeOfName(
  name: string,
  field: string | undefined,
  { inputs, order, types }: Omit<Surroundings, 'children'>,
): string | undefined {
  const single = (schema: JsonSchema | undefined): string | undefined =>
    typeof schema?.['type'] === 'string' ? schema['type'] : undefined;
  if (field === undefined) {
    const input = inputs.find((one) => one.name === name);
    // An optional input may be null, for which the same message would not fit.
    return single(input?.schema);
  }
  const block = order.blocks.get(name);
  const type = block === undefined || block.forEach !== undefined ? undefined : types.get(block.type);
  return type === undefined || isCall(type) || !Object.hasOwn(type.outputs, field)
    ? undefined
    : single(type.outputs[field]?.schema);
}

function fieldsOf(
  block: BlockFile | undefined,
  child: TextWorkflow | undefined,
  types: ReadonlyMap<string, NodeType>,
): readonly string[] | undefined {
  if (block === undefined) return undefined;
  if (block.forEach !== undefined) return forEachFields;
  const type = types.get(block.type);
  if (type === undefined) return undefined;
  const own = Object.keys(type.outputs);
  if (isCall(type)) {
    const called = child?.outputs.map(({ name }) => name);
    return called && [...own.filter((name) => name !== 'outputs'), ...called];
  }
  if (own.length === 0) return undefined;
  return [...own, ...block.fileOutputs.map(({ name }) => name)];
}
