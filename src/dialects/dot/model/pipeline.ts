/** A pipeline: what a DOT file says once defaults, classes and the stylesheet are worked in. */
import { normalize, isAbsolute, join } from 'node:path';
import type { Attributes } from './stylesheet.ts';

/** What a pipeline inherits from the pipelines that run it. */
export interface Around {
  /** Paths of their files from the outermost on, and last the pipeline's own. */
  readonly chain: readonly string[];
  /** The folder in which its commands work, unless their stage names one. */
  readonly folder: string;
  readonly isSteered: boolean;
  /** Whether a workflow of another dialect runs it. Its questions then say which pipeline asks, as all questions of such a run do. */
  readonly isCalled: boolean;
}

export function outermost(source: string, isCalled = false): Around {
  return { chain: [normalize(source)], folder: '', isSteered: false, isCalled };
}

/** The type of a stage: one of the nine of the language, or one for which the user has a handler. */
export type StageType = string;

/** The type of stages that run another pipeline. */
export const childType = 'stack.manager_loop';

export const typeOfShape: ReadonlyMap<string, StageType> = new Map([
  ['Mdiamond', 'start'],
  ['Msquare', 'exit'],
  ['box', 'codergen'],
  ['hexagon', 'wait.human'],
  ['diamond', 'conditional'],
  ['component', 'parallel'],
  ['tripleoctagon', 'parallel.fan_in'],
  ['parallelogram', 'tool'],
  ['house', childType],
]);

/** The kind by which a handler is found. Stages for models have several: the model itself, an agent with tools, or an agent program. */
export function kindOf({ type, attributes }: Pick<Stage, 'type' | 'attributes'>): string {
  if (type !== 'codergen') return type;
  if (attributes.text('agent_command') !== '') return 'codergen.command';
  return attributes.text('tools') === '' ? type : 'codergen.agent';
}

export interface Stage {
  readonly id: string;
  readonly type: StageType;
  readonly attributes: Attributes;
  readonly classes: readonly string[];
  /** The class from the label of the innermost subgraph around the stage. Undefined if no such subgraph has a label. */
  readonly group: string | undefined;
  /** Whether the file has a statement for the stage. Otherwise only edges name it. */
  readonly isDeclared: boolean;
  /** Offset of its first statement, or of its first mention if it has none. */
  readonly at: number;
}

export interface PipelineEdge {
  /** Position among the edges of the file. */
  readonly index: number;
  readonly from: string;
  readonly to: string;
  readonly attributes: Attributes;
  readonly at: number;
}

/** A parameter of the pipeline. Its value is set when a run starts, and prompts use it as `$name`. */
export interface Param {
  readonly name: string;
  /** Undefined means that a value is required. */
  readonly default: string | undefined;
}

export interface Pipeline {
  readonly name: string;
  readonly attributes: Attributes;
  readonly stages: ReadonlyMap<string, Stage>;
  readonly edges: readonly PipelineEdge[];
  readonly params: readonly Param[];
}

/** Where a stage works. @param outer - where its pipeline does; both are relative to where the process was started */
export function folderOf({ attributes }: Pick<Stage, 'attributes'>, outer: string): string {
  return folderIn(outer, attributes.text('workdir'));
}

export function folderIn(outer: string, named: string): string {
  return isAbsolute(named) ? named : join(outer, named);
}

/** Undefined means that all are waited for, however they end. */
export function neededBranches(policy: string, count: number): number | undefined {
  if (policy === 'first_success') return 1;
  if (policy === 'quorum') return Math.floor(count / 2) + 1;
  const [, before, within] = /^(\d{1,6})_of_n$|^k_of_n\((\d{1,6})\)$/.exec(policy) ?? [];
  return before === undefined && within === undefined ? undefined : Number(before ?? within);
}

export function isJoinPolicy(policy: string): boolean {
  return ['wait_all', 'all'].includes(policy) || neededBranches(policy, 0) !== undefined;
}
