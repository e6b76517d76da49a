/** A pipeline: what a DOT file says once defaults, classes and the stylesheet are worked in. */
import { durationMs } from './attributes.ts';

/** Attributes by name, as texts. */
export class Attributes {
  readonly #values: ReadonlyMap<string, string>;

  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }
  text(name: string): string {
    return this.#values.get(name) ?? '';
  }
  flag(name: string): boolean {
    return this.#values.get(name) === 'true';
  }
  /** Undefined: it is not given, or no number. */
  integer(name: string): number | undefined {
    const value = Number(this.#values.get(name) ?? Number.NaN);
    return Number.isSafeInteger(value) ? value : undefined;
  }
  durationMs(name: string): number | undefined {
    const value = this.#values.get(name);
    return value === undefined ? undefined : durationMs(value);
  }
  entries(): readonly (readonly [string, string])[] {
    return [...this.#values];
  }
}

/** What a stage does: the nine kinds of the language, or the name of a handler of the user's own. */
export type StageType = string;

export const typeOfShape: Readonly<Record<string, StageType>> = {
  Mdiamond: 'start',
  Msquare: 'exit',
  box: 'codergen',
  hexagon: 'wait.human',
  diamond: 'conditional',
  component: 'parallel',
  tripleoctagon: 'parallel.fan_in',
  parallelogram: 'tool',
  house: 'stack.manager_loop',
};

/** Stages for models come in kinds, which handlers are found by: the model itself, an agent with tools, a program that is an agent. */
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
  /** The class that the innermost block around it gives; undefined: it stands in none with a label. */
  readonly group: string | undefined;
  /** Whether the file has a statement for it; else only edges name it. */
  readonly isDeclared: boolean;
  /** Offset of where it is first declared, or named where it is not. */
  readonly at: number;
  /** Offsets of the values of its own attributes; of a default there is none. */
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

/** A value that whoever starts a run may give, used in prompts as `$name`. */
export interface Param {
  readonly name: string;
  /** Undefined: it must be given. */
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

/** Edges by the stage they leave, in the order of the file. */
export function edgesFrom({ edges }: Pick<Pipeline, 'edges'>): ReadonlyMap<string, readonly PipelineEdge[]> {
  return Map.groupBy(edges, ({ from }) => from);
}
