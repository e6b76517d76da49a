/** A pipeline: what a DOT file says once defaults, classes and the stylesheet are worked in. */
import { isAbsolute, join } from 'node:path';
import { durationMs } from './amounts.ts';

/** The value of an attribute, as text. */
export interface Given {
  readonly value: string;
  /** Offset of the value. Undefined for one that a default or the stylesheet gives. */
  readonly valueAt: number | undefined;
}

/** Attributes by name. */
export class Attributes {
  readonly #values: ReadonlyMap<string, Given>;

  constructor(values: ReadonlyMap<string, Given>) {
    this.#values = values;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }
  text(name: string): string {
    return this.#values.get(name)?.value ?? '';
  }
  flag(name: string): boolean {
    return this.#values.get(name)?.value === 'true';
  }
  /** Undefined if it is not given, or not a number. */
  integer(name: string): number | undefined {
    const value = Number(this.#values.get(name)?.value ?? Number.NaN);
    return Number.isSafeInteger(value) ? value : undefined;
  }
  durationMs(name: string): number | undefined {
    const value = this.#values.get(name)?.value;
    return value === undefined ? undefined : durationMs(value);
  }
  /** The names that a value lists, separated by commas. */
  list(name: string): readonly string[] {
    const value = this.#values.get(name)?.value ?? '';
    if (value === '') return [];
    return value.split(',').flatMap((piece) => piece.trim() || []);
  }
  names(): Iterable<string> {
    return this.#values.keys();
  }
  entries(): readonly (readonly [string, string])[] {
    return Array.from(this.#values, ([name, { value }]) => [name, value]);
  }
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
  /** Offset of the value of an attribute that the stage itself gives. Defaults have no offset of their own. */
  readonly placeOf: (attribute: string) => number;
}

export interface PipelineEdge {
  /** Position among the edges of the file. */
  readonly index: number;
  readonly from: string;
  readonly to: string;
  readonly attributes: Attributes;
  readonly at: number;
  readonly placeOf: (attribute: string) => number;
}

/** A parameter of the pipeline. Its value is given when a run starts, and prompts use it as `$name`. */
export interface Param {
  readonly name: string;
  /** Undefined means that a value must be given. */
  readonly default: string | undefined;
}

export interface Pipeline {
  readonly name: string;
  readonly attributes: Attributes;
  readonly placeOf: (attribute: string) => number;
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
