/** Describes a workflow for all interfaces: its inputs and outputs, its blocks, their order and their effects. */
import type { Graph, Violation } from '../../../graph/graph.ts';
import type { EffectClass } from '../../../graph/contracts/node-contract.ts';
import { groupByWave } from '../../../graph/shape/waves.ts';
import type { CheckpointSettings, TextWorkflow, WorkflowBlock, WorkflowInput } from '../../text-workflow.ts';
import { strongestEffect } from '../../strongest-effect.ts';
import type { BlockFile, WorkflowFile } from '../file/workflow-file.ts';
import type { BlockOrder } from './block-order.ts';
import type { CompiledBlock } from './compile-block.ts';

interface Parts {
  readonly order: BlockOrder;
  readonly inputs: readonly WorkflowInput[];
  readonly blocks: ReadonlyMap<string, CompiledBlock>;
  readonly children: ReadonlyMap<string, TextWorkflow>;
  /** An effect beside those of its blocks and children. */
  readonly effect: EffectClass | undefined;
  readonly violations: readonly Violation[];
  /** The settings that apply where the file has none. */
  readonly checkpoint: CheckpointSettings;
}

/** @param file - the file as it was read. @param graph - what it was compiled to */
export function describeWorkflow(file: WorkflowFile, graph: Graph, parts: Parts): TextWorkflow {
  const { order, inputs, blocks, children, violations, checkpoint } = parts;
  const ids = [...order.blocks.keys()];
  return {
    name: file.name,
    description: file.description,
    version: file.version,
    tags: file.tags,
    inputs,
    outputs: file.outputs.map(({ name, value, type, description }) => ({
      name,
      value: written(value),
      type,
      description,
    })),
    blocks: ids.map((id, index) =>
      describeBlock(
        order.blocks.get(id) as BlockFile,
        blocks.get(id) as CompiledBlock,
        children.get(id),
        order.waves[index] ?? 0,
      ),
    ),
    waves: groupByWave(ids, order.waves),
    checkpoint: { ...checkpoint, ...file.checkpoint },
    secrets: [...new Set([file, ...children.values()].flatMap(({ secrets }) => secrets))].sort(),
    effect: strongestEffect([...blocks.values(), ...children.values(), parts].flatMap(({ effect }) => effect ?? [])),
    graph,
    warnings: violations,
  };
}

function describeBlock(
  file: BlockFile,
  { effect, isIdempotent, tools: toolsOf }: CompiledBlock,
  child: TextWorkflow | undefined,
  wave: number,
): WorkflowBlock {
  const tools = toolsOf();
  return {
    id: file.id,
    type: file.type,
    description: file.description,
    dependsOn: file.dependsOn.map(({ block, isRequired }) => ({ block, isRequired })),
    condition: file.condition,
    forEach: file.forEach && written(file.forEach.over),
    effect,
    attempts: file.retry?.attempts ?? 1,
    isIdempotent,
    asks: effect === 'human' || (child?.blocks.some(({ asks }) => asks) ?? false),
    workflow: child?.name,
    ...(tools.length > 0 && { tools }),
    wave,
  };
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
