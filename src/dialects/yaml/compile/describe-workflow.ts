/** Describes a workflow for all interfaces: its inputs and outputs, its blocks, their order and their effects. */
import type { NodeDefinition, Graph, Violation } from '../../../graph/graph.ts';
import type { EffectClass, InnerWork, NodeImplementation } from '../../../graph/contracts/node-contract.ts';
import type { CallableWorkflow, NodeType, PlannedTool } from '../../../graph/contracts/node-type.ts';
import { approvedInputs, readApproval } from '../block-nodes/block-approval.ts';
import { blockImplementation } from '../block-nodes/block-node.ts';
import {
  scopeOfState,
  type BlockParts,
  type LinkedWorkflow,
  type WorkflowParts,
  callImplementation,
} from '../block-nodes/callable-workflow.ts';
import { isCall, type BlockFile, type WorkflowFile } from '../file/workflow-file.ts';
import type { Faults } from '../file/faults.ts';
import { itemsFault, forEachEffect, forEachImplementation, isIdempotent } from '../block-nodes/for-each.ts';
import { readInputTemplates } from '../block-nodes/input-templates.ts';
import { noScope, type TemplateReader } from '../block-nodes/template-reader.ts';
import type { Template } from '../expression/template.ts';
import { actInside, strengthOfGraph } from '../../../graph/effect-strength.ts';
import { groupByWave } from '../../../graph/shape/loops.ts';
import type { ApprovedNode } from '../../approval.ts';
import type { CheckpointSettings, TextWorkflow, WorkflowBlock, WorkflowInput } from '../../text-workflow.ts';
import type { BlockOrder } from './workflow-names.ts';

// Compiles a block of a file to a node of the graph.

/** What a block is compiled with. */
export interface BlockSurroundings {
  readonly faults: Faults;
  /** Reads texts that may use `each`, if the block runs for each item. */
  readonly reader: TemplateReader;
  /** Reads texts that are evaluated before the items are known. */
  readonly outerReader: TemplateReader;
  readonly workflow: WorkflowParts;
  readonly call: LinkedWorkflow | undefined;
  /** The workflows that blocks may choose from, by name. */
  readonly callable: (name: string) => CallableWorkflow | undefined;
  /** Whether a workflow found during the run may be one that called this one. */
  readonly isRecursive: boolean;
  readonly place: string;
}

/** A node, and properties of its block. */
export interface CompiledBlock {
  readonly node: NodeDefinition;
  /** The question before it. */
  readonly approval: ApprovedNode | undefined;
  readonly effect: EffectClass;
  /** Whether a repetition with the same key has no second effect. */
  readonly isIdempotent: boolean;
  /** The tools that its models may call. */
  readonly tools: readonly PlannedTool[];
}

/** Reads a block's texts, checks everything that can be checked, and makes its node. Every fault is reported. */
export function compileBlock(file: BlockFile, type: NodeType, around: BlockSurroundings): CompiledBlock {
  const { faults, reader, workflow } = around;
  const own = readInputTemplates(faults, reader, type, file.inputs, [...file.at, 'inputs'], workflow.withheld);
  const approval = readApproval(around, { file, type, inputs: own });
  const inputs = approval === undefined ? own : approvedInputs(file, type, own);
  const parts: BlockParts = {
    file,
    type,
    inputs,
    fileOutputs: readFileOutputs(faults, reader, file, type),
    condition: file.condition === undefined ? undefined : reader.condition(file.condition, [...file.at, 'condition']),
    over: readOver(faults, around.outerReader, file),
    call: around.call,
    isRecursive: around.isRecursive,
    workflow,
  };
  const effect = effectOf(parts);
  checkEffect(faults, parts, effect);
  const timeoutMs = timeoutOf(faults, parts, effect);
  const tools = faults.hasErrors ? [] : (type.tools?.(inputs.literals, around.callable, inputs.pending) ?? []);
  return {
    node: defineNode(parts, { effect, timeoutMs, inside: insideOf(parts, effect, tools), place: around.place }),
    approval,
    effect,
    isIdempotent: isIdempotent(parts, effect),
    tools,
  };
}

/** What a block may do beside its own class, and beside what is in the workflow that it is known to run. */
function insideOf(
  { file, type, call }: BlockParts,
  effect: EffectClass,
  tools: readonly PlannedTool[],
): readonly InnerWork[] {
  return [
    ...(file.forEach === undefined ? [] : [{ effect }]),
    // What a computed name stands for is not known, nor what a workflow does that is still being read.
    ...(isCall(type) && call === undefined ? [{ effect: 'external' } as const] : []),
    ...tools.map(({ effect, asks }) => ({ effect, asks, isAllowed: !asks })),
  ];
}

function readFileOutputs(
  faults: Faults,
  reader: TemplateReader,
  file: BlockFile,
  type: NodeType,
): BlockParts['fileOutputs'] {
  if (file.fileOutputs.length > 0 && type.takesFileOutputs !== true)
    faults.add([...file.at, 'outputs'], {
      rule: 'Y5',
      atKey: true,
      message: `${type.name} reads no files as outputs`,
      fix: 'remove `outputs:`; its outputs are fields of the block',
    });
  return file.fileOutputs.map(({ name, type: fileType, path, isRequired, isUnsafe, at }) => {
    if (Object.hasOwn(type.outputs, name))
      faults.add(at, {
        rule: 'Y5',
        atKey: true,
        message: `${type.name} has an output ${name} of its own`,
        fix: 'give the file output another name',
      });
    return { name, type: fileType, isRequired, isUnsafe, path: reader.text(path, [...at, 'path']) };
  });
}

function readOver(faults: Faults, reader: TemplateReader, file: BlockFile): Template | undefined {
  if (file.forEach === undefined) return undefined;
  const at = [...file.at, 'for_each'];
  const { over } = file.forEach;
  const template = reader.value(over, at);
  if (template.isLiteral || typeof over !== 'string') {
    const fault = itemsFault(template.isLiteral ? template.evaluate(noScope) : over);
    if (fault !== undefined)
      faults.add(at, {
        rule: 'Y2',
        message: fault,
        fix: 'write a list, a mapping, or an expression such as ${inputs.items}',
      });
  }
  return template;
}

function effectOf({ file, type, inputs }: BlockParts): EffectClass {
  const ofType = typeof type.effect === 'function' ? type.effect(inputs.literals) : type.effect;
  return isFixed(type, ofType) ? ofType : (file.effect ?? ofType);
}

/** Whether the effect class is determined by what the block does: asking, running a workflow, or having steps. */
function isFixed(type: NodeType, effect: EffectClass): boolean {
  return effect === 'human' || isCall(type) || type.isComposed === true;
}

/** Refuses settings about effects that would have no effect (G9). */
function checkEffect(faults: Faults, { file, type }: BlockParts, effect: EffectClass): void {
  const refuse = (field: string, message: string, fix: string): void =>
    faults.add([...file.at, field], { rule: 'Y5', atKey: true, message, fix });
  if (file.effect !== undefined && isFixed(type, effect))
    refuse('effect', `the effect of ${type.name} is that of what it asks or runs`, 'remove it');
  if (effect === 'write' || effect === 'external') {
    if (
      file.idempotent !== undefined &&
      file.onInDoubt !== undefined &&
      file.idempotent !== (file.onInDoubt === 'retry')
    )
      refuse(
        'on_in_doubt',
        `\`on_in_doubt: ${file.onInDoubt}\` and \`idempotent: ${file.idempotent}\` contradict each other`,
        'keep one of the two',
      );
    return;
  }
  const why = `a block of effect ${effect} is never in doubt`;
  if (file.idempotent !== undefined) refuse('idempotent', why, 'remove it, or declare `effect: write` or `external`');
  if (file.onInDoubt !== undefined) refuse('on_in_doubt', why, 'remove it, or declare `effect: write` or `external`');
}

function timeoutOf(faults: Faults, { file, type, inputs }: BlockParts, effect: EffectClass): number | undefined {
  const timeoutMs = file.timeoutMs ?? type.timeoutMs?.(inputs.literals);
  if (timeoutMs === undefined) return undefined;
  const isEachCall = file.forEach !== undefined && isCall(type);
  if (effect !== 'human' && !isEachCall) return timeoutMs;
  const at = file.timeoutMs === undefined ? [...file.at, 'inputs'] : [...file.at, 'timeout'];
  const message = isEachCall
    ? 'workflows that run for each item have no time limit of their own'
    : `${type.name} asks, and a question has no time limit`;
  faults.add(at, { rule: 'Y5', atKey: true, message, fix: 'remove the timeout' });
  return undefined;
}

interface NodeSettings {
  readonly effect: EffectClass;
  readonly timeoutMs: number | undefined;
  readonly inside: readonly InnerWork[];
  readonly place: string;
}

function defineNode(parts: BlockParts, { effect, timeoutMs, inside, place }: NodeSettings): NodeDefinition {
  const { file, type, call, condition, workflow } = parts;
  const isEach = file.forEach !== undefined;
  return {
    id: file.id,
    type: type.name,
    version: type.version ?? '1',
    config: configOf(parts, effect, timeoutMs),
    effect: isEach ? forEachEffect(effect) : effect,
    join: 'all',
    implementation: { ...implementationOf(parts, effect, timeoutMs), inside },
    place,
    ...(file.continuesOnError && !isEach && { onFailure: 'skip-dependents' }),
    ...(call !== undefined && { subgraph: call.graph }),
    ...(file.onInDoubt === 'fail' && { onInDoubt: 'fail' }),
    ...file.budget,
    ...(isEach
      ? {}
      : {
          ...(file.retry !== undefined && { retry: file.retry }),
          ...(timeoutMs !== undefined && { timeoutMs }),
          ...(file.limit !== undefined && type.limitsItsCalls !== true && { limit: file.limit }),
          ...(file.atMost !== undefined && { atMost: file.atMost }),
          ...(isIdempotent(parts, effect) && { idempotent: true }),
          ...(condition !== undefined && {
            when: {
              text: file.condition ?? '',
              evaluate: ({ state }) => condition.evaluate(scopeOfState(workflow, state)),
            },
          }),
        }),
  };
}

function implementationOf(parts: BlockParts, effect: EffectClass, timeoutMs: number | undefined): NodeImplementation {
  if (parts.file.forEach !== undefined) return forEachImplementation(parts, effect, timeoutMs);
  return isCall(parts.type) ? callImplementation(parts) : blockImplementation(parts);
}

/** The block as written. It is hashed, so that changing a text changes the node. Settings that the node itself has are omitted. */
function configOf({ file }: BlockParts, effect: EffectClass, timeoutMs: number | undefined): unknown {
  const { inputs, fileOutputs, forEach } = file;
  return {
    inputs,
    ...(fileOutputs.length > 0 && {
      outputs: fileOutputs.map(({ at: _place, ...output }) => output),
    }),
    ...(forEach !== undefined && {
      forEach: {
        ...forEach,
        continuesOnError: file.continuesOnError,
        effect,
        condition: file.condition,
        retry: file.retry,
        timeoutMs,
        idempotent: file.idempotent,
      },
    }),
  };
}

interface Parts {
  readonly order: BlockOrder;
  readonly inputs: readonly WorkflowInput[];
  readonly blocks: ReadonlyMap<string, CompiledBlock>;
  readonly children: ReadonlyMap<string, TextWorkflow>;
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
    effect: strengthOfGraph(graph).act,
    graph,
    warnings: violations,
  };
}

function describeBlock(
  file: BlockFile,
  { node, effect, isIdempotent, tools }: CompiledBlock,
  child: TextWorkflow | undefined,
  wave: number,
): WorkflowBlock {
  // Of an agent each tool says it.
  const inside = tools.length > 0 ? undefined : actInside({ ...node, effect });
  return {
    id: file.id,
    type: file.type,
    description: file.description,
    dependsOn: file.dependsOn.map(({ block, isRequired }) => ({ block, isRequired })),
    condition: file.condition,
    forEach: file.forEach && written(file.forEach.over),
    effect,
    ...(inside !== undefined && { inside }),
    attempts: file.retry?.attempts ?? 1,
    isIdempotent,
    asks: file.approval !== undefined || effect === 'human' || (child?.blocks.some(({ asks }) => asks) ?? false),
    workflow: child?.name,
    ...(tools.length > 0 && { tools }),
    wave,
  };
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
