/** Runs the code behind one block without an engine. */
import type { FileOutput, Inputs, Need, NodeType, TypedNodeContext } from '../../src/graph/contracts/node-type.ts';
import type { NodeFailure } from '../../src/graph/contracts/node-contract.ts';
import {
  createFakeContext,
  type FakeContext,
  type FakeContextOptions,
} from '../../src/testing/node-suite/fake-context.ts';

export interface BlockOptions extends FakeContextOptions {
  readonly fileOutputs?: readonly FileOutput[];
  readonly isGranted?: (need: Need) => boolean;
}

/** A context with inputs. */
export function createBlockContext(
  inputs: Inputs,
  { fileOutputs = [], isGranted, ...options }: BlockOptions = {},
): TypedNodeContext & FakeContext {
  return { ...createFakeContext(options), inputs, fileOutputs, ...(isGranted && { isGranted }) };
}

/** The output of a block. Its `check` is asked first, as a dialect does. */
export async function runBlock(type: NodeType, inputs: Inputs, options: BlockOptions = {}): Promise<Inputs> {
  const faults = type.check?.(inputs) ?? [];
  if (faults.length > 0) throw new Error(faults.map(({ message }) => message).join('; '));
  return (await type.run(createBlockContext(inputs, options))) as Inputs;
}

/** The failure of a block. */
export async function failBlock(type: NodeType, inputs: Inputs, options: BlockOptions = {}): Promise<NodeFailure> {
  try {
    await type.run(createBlockContext(inputs, options));
  } catch (error) {
    return error as NodeFailure;
  }
  throw new Error(`${type.name} completed`);
}
