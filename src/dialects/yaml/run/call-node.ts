/** The node of a block that runs another workflow as a child run, in the history of this run (W6). */
import { NodeFailure, type NodeContext, type NodeImplementation } from '../../../graph/contracts/node-contract.ts';
import type { Inputs } from '../../../graph/contracts/node-type.ts';
import { scopeOf, type BlockParts, type LinkedWorkflow } from './block-parts.ts';
import { isMapping } from '../file/shape.ts';
import { outputsId } from './outputs-node.ts';

/** The output of a block that runs a workflow. */
export interface CallOutput {
  readonly success: true;
  readonly workflow: string;
  readonly outputs: unknown;
  readonly total_blocks: number;
  readonly execution_waves: number;
}

export function callImplementation(parts: BlockParts): NodeImplementation {
  const { workflow, inputs } = parts;
  return {
    run: (ctx) => callWorkflow(ctx, parts, inputs.resolve(scopeOf(workflow, ctx))),
    codeText: 'workflow',
  };
}

/**
 * Runs the workflow that the inputs name. The child run has the workflow's name, followed by the item's key in brackets if there is one.
 */
export async function callWorkflow(
  ctx: NodeContext,
  { call, isRecursive, workflow }: BlockParts,
  inputs: Inputs,
  key?: string,
): Promise<CallOutput> {
  const linked = call ?? workflow.link(String(inputs['workflow']), ctx, isRecursive);
  const name = key === undefined ? linked.name : `${linked.name}[${key}]`;
  const { status, state, error } = await ctx.run(linked.graph, childInput(inputs['inputs']), { name });
  if (status !== 'completed') throw childFailure(linked, error);
  return {
    success: true,
    workflow: linked.name,
    outputs: state.outputs['outputs'],
    total_blocks: Object.keys(state.outputs).length + Object.keys(state.failures).length - resultNodes(linked),
    execution_waves: linked.waveCount,
  };
}

/** The node that computes the outputs is not a block. A pipeline that restarts has no other: all of it runs inside. */
function resultNodes({ graph }: LinkedWorkflow): number {
  return graph.nodes.some(({ id, type }) => id === outputsId && type === 'restarts') ? 0 : 1;
}

/** The workflows from the root down to a node, read from its path: each child run has the name of its workflow. */
export function callers(root: string, { nodePath }: NodeContext): readonly string[] {
  const names = nodePath.filter((_, index) => index % 2 === 1).map((name) => name.replace(/\[.*$/s, ''));
  return [root, ...names];
}

function childInput(given: unknown): unknown {
  if (typeof given !== 'string') return given ?? {};
  try {
    const parsed: unknown = JSON.parse(given);
    if (isMapping(parsed)) return parsed;
  } catch {
    // The failure below says what is wrong.
  }
  throw new NodeFailure('`inputs` is a text that is not the JSON of a mapping', {
    code: 'INPUT_INVALID',
    applied: 'no',
  });
}

function childFailure({ name }: LinkedWorkflow, error: Error | undefined): NodeFailure {
  return new NodeFailure(`workflow ${name} failed${error === undefined ? '' : `: ${error.message}`}`, {
    code: 'CHILD_FAILED',
    data: { workflow: name },
    cause: error,
  });
}
