/** A pipeline: what a DOT file says once defaults, classes and the stylesheet are worked in. */
import { normalize, isAbsolute, join } from 'node:path';
import type { Attributes } from './stylesheet.ts';

// The pipelines that run a pipeline, as far as they affect it.

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

// The conditions of edges: clauses of `key=value` and `key!=value`, joined by `&&`.

export interface Clause {
  readonly key: string;
  /** `set` stands for a key alone: the clause holds if its value is not empty. */
  readonly operator: '=' | '!=' | 'set';
  readonly value: string;
}

export type ParsedCondition =
  | { readonly clauses: readonly Clause[]; readonly fault?: undefined }
  | { readonly clauses?: undefined; readonly fault: string; readonly offset: number };

const gap = /\s*/y;
const key = /[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}\p{N}_]+)*/uy;
const operator = /!=|==?/y;
const literal = /"([^"\\]*(?:\\[^][^"\\]*)*)"|'([^']*)'|([\p{L}\p{N}_.:+-]+)/uy;

/** Parses a condition. Quoted strings may hold anything, `&&` and `!=` included. An empty condition has no clauses, and always holds. */
export function parseCondition(text: string): ParsedCondition {
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return undefined;
    at += found[0].length;
    return found;
  };
  const refuse = (fault: string): ParsedCondition => ({ fault, offset: at });
  const clauses: Clause[] = [];
  let isJoined = true;
  for (;;) {
    take(gap);
    if (at >= text.length) return { clauses };
    if (text.startsWith('&&', at)) {
      at += 2;
      isJoined = true;
      continue;
    }
    if (!isJoined) return refuse('clauses are joined by &&; there is no other operator');
    isJoined = false;
    const name = take(key)?.[0];
    if (name === undefined) return refuse('expected outcome, preferred_label or context.KEY');
    take(gap);
    const sign = take(operator)?.[0];
    if (sign === undefined) {
      clauses.push({ key: name, operator: 'set', value: '' });
      continue;
    }
    if (sign === '==') return refuse('write = for equality');
    take(gap);
    const value = take(literal);
    if (value === undefined) return refuse(`expected a value after ${sign}`);
    const [, double, single, bare] = value;
    const unescaped = double?.replaceAll(/\\(.)/gs, (_, mark: string) =>
      mark === 'n' ? '\n' : mark === 't' ? '\t' : mark,
    );
    clauses.push({ key: name, operator: sign === '!=' ? '!=' : '=', value: unescaped ?? single ?? bare ?? '' });
  }
}

/** The values that conditions are evaluated with. */
export interface ConditionFacts {
  readonly outcome: string;
  readonly preferredLabel: string;
  /** A context value as text, `` if there is none. */
  readonly context: (key: string) => string;
}

export function holds(clauses: readonly Clause[], facts: ConditionFacts): boolean {
  return clauses.every(({ key: name, operator: sign, value }) => {
    const actual = valueOf(name, facts);
    if (sign === 'set') return actual !== '';
    return sign === '=' ? actual === value : actual !== value;
  });
}

function valueOf(name: string, { outcome, preferredLabel, context }: ConditionFacts): string {
  if (name === 'outcome') return outcome;
  if (name === 'preferred_label') return preferredLabel;
  if (!name.startsWith('context.')) return context(name);
  return context(name) || context(name.slice('context.'.length));
}

// Edge labels as choices: `[K] Label`, `K) Label` and `K - Label` mark a key to press for the choice.

const marked = /^\s*(?:\[([^\]\s]{1,10})\]\s*|([^\s)\]]{1,10})\)\s+|([^\s-]{1,3})\s+-\s+)(\S[^]*)$/u;

/** The key of a choice: the marked one, or else the first character of the label. */
export function acceleratorOf(label: string): string {
  const [, bracketed, closed, dashed] = marked.exec(label) ?? [];
  return (bracketed ?? closed ?? dashed ?? Array.from(label.trim())[0] ?? '').toUpperCase();
}

/** The label without its mark. */
export function sayingOf(label: string): string {
  return (marked.exec(label)?.[4] ?? label).trim();
}

/** The form in which labels are compared: without the mark, surrounding space and differences in letter case. */
export function normalLabel(label: string): string {
  return sayingOf(label).toLowerCase();
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

// How many branches a join policy needs.

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
