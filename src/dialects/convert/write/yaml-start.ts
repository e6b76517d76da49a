/** When a block starts: what it depends on, and its condition. */
import { hasBraces } from '../../yaml/braces/split-braces.ts';
import { parseCommand } from '../../yaml/shell/parse-command.ts';
import type { Names, Scope } from '../../yaml/expression/template.ts';
import { type Text, chosenBy, finish, isVerdict, type End, type Step, reachableFrom } from '../outline/outline.ts';
import { CairnError } from '../../../errors.ts';

// Texts of a workflow file: what stands in them is text, but for the values of inputs and answers.

/** How the answer of a model is read from its block. */
export type AnswerOf = (step: string) => string;

/** The text for a field that takes references. Nothing in it becomes an expression, or makes a file of the `{{ }}` form. */
export function yamlText(text: Text, answerOf: AnswerOf): string {
  const written = text.map((piece, index) => {
    if (typeof piece !== 'string')
      return 'input' in piece ? `\${inputs.${piece.input}}` : `\${${answerOf(piece.answerOf)}}`;
    // A dollar sign before a reference would say that the reference is text.
    const isCut = piece.endsWith('$') && typeof text[index + 1] === 'object';
    return isCut ? `${plain(piece.slice(0, -1))}\${'$'}` : plain(piece);
  });
  return written.join('');
}

function plain(text: string): string {
  return escaped(text).replaceAll(/\{(?=[{%#])/g, () => "${'{'}");
}

/** Says of every expansion that it is none of the workflow's. */
function escaped(text: string): string {
  return text.replaceAll('${', () => '$${');
}

/** A text in an expression. Signs that would begin something in a file are separated. */
function quotedText(text: string): string {
  const parts = text.split(/(?<=\$)(?=\{)|(?<=\{)(?=[{%#])/);
  return parts.map((part) => (/^[^'\\\p{Cc}]*$/u.test(part) ? `'${part}'` : JSON.stringify(part))).join(' + ');
}

const noScope: Scope = {
  inputs: {},
  metadata: {},
  each: undefined,
  block: () => ({ status: 'skipped', output: undefined, error: undefined }),
};

/** A script as a command that means the same letter by letter: as it stands, with its expansions marked as the shell's, or as one value. */
export function yamlCommand(script: string, names: Names): string {
  const forms = [script, escaped(script)];
  return forms.find((form) => meansItself(form, script, names)) ?? `\${raw(${quotedText(script)})}`;
}

function meansItself(form: string, script: string, names: Names): boolean {
  if (hasBraces(form)) return false;
  const { template, faults } = parseCommand(form, names);
  if (faults.some(({ severity }) => severity !== 'warning') || template.named.inputs.length > 0) return false;
  const command = template.evaluate(noScope);
  return command.script === script && Object.keys(command.env).length === 0;
}

export interface Start {
  readonly depends_on?: readonly (string | { readonly block: string; readonly required: false })[];
  readonly condition?: string;
}

/** Ends of one step that lead to the same block. */
interface Source {
  readonly step: Step;
  readonly ends: readonly End[];
}

/** That the run came over these ends: a condition, and the blocks that it reads. */
interface Arrival {
  readonly blocks: readonly string[];
  readonly condition: string;
}

/** Most characters of all conditions together: a file that is longer could not be read. */
const conditionsMax = 4_000_000;

/** The starts of all blocks of a workflow without loops. */
export class Starts {
  readonly #byId: ReadonlyMap<string, Step>;
  readonly #sources: ReadonlyMap<string, readonly Source[]>;
  readonly #parallelOf: ReadonlyMap<string, Step>;
  /** How a run comes through the branch that begins with a step, by that step's id: many blocks may ask. */
  readonly #ways = new Map<string, Arrival>();
  #size = 0;

  constructor(steps: readonly Step[]) {
    this.#byId = new Map(steps.map((step) => [step.id, step]));
    const all = steps.flatMap((step) =>
      [...Map.groupBy(step.ends, ({ to }) => to)].map(([to, ends]) => ({ to, step, ends })),
    );
    this.#sources = Map.groupBy(all, ({ to }) => to);
    this.#parallelOf = new Map(
      steps.flatMap((step) =>
        step.work.kind === 'parallel' ? step.work.branches.map((first) => [first, step] as const) : [],
      ),
    );
  }

  of(id: string): Start {
    const sources = this.#sourcesOf(id);
    const [only, ...others] = sources;
    if (only === undefined) return {};
    if (others.length === 0 && only.step.work.kind !== 'parallel' && only.ends.every(({ on }) => on !== 'fail')) {
      const condition = whichEnd(only);
      return { depends_on: [only.step.id], ...(condition !== undefined && { condition }) };
    }
    const arrivals = sources.map((source) => this.#arrival(source));
    const blocks = new Set(arrivals.flatMap((arrival) => arrival.blocks));
    const condition = arrivals.map((arrival) => arrival.condition).join(' or ');
    this.#count(condition.length);
    return { depends_on: [...blocks].map((block) => ({ block, required: false })), condition };
  }

  /** A block behind a parallel step names all its branches, so parallel steps in a row grow with the square of their width. */
  #count(size: number): void {
    this.#size += size;
    if (this.#size <= conditionsMax) return;
    throw new CairnError('USAGE_INVALID', {
      reason: 'as YAML the workflow would be too large: each block behind a parallel stage names all its branches',
      hint: 'Put one stage between two parallel ones, or keep this workflow in DOT.',
    });
  }

  /** A branch starts where its parallel step does. */
  #sourcesOf(id: string): readonly Source[] {
    const parallel = this.#parallelOf.get(id);
    return [...(this.#sources.get(id) ?? []), ...(parallel === undefined ? [] : this.#sourcesOf(parallel.id))];
  }

  #arrival({ step, ends }: Source): Arrival {
    if (step.work.kind === 'parallel') return this.#parallelArrival(step, step.work, ends);
    const completing = ends.filter(({ on }) => isVerdict(step.work) || on !== 'fail');
    const failed = ends.some(({ on }) => on === 'fail') ? [`blocks.${step.id}.failed`] : [];
    const which = whichEnd({ step, ends: completing });
    const succeeded = `blocks.${step.id}.succeeded`;
    const completed = which === undefined ? succeeded : `(${succeeded} and ${bracketed(which)})`;
    return { blocks: [step.id], condition: [...(completing.length > 0 ? [completed] : []), ...failed].join(' or ') };
  }

  #parallelArrival(step: Step, { branches, needed }: ParallelWork, ends: readonly End[]): Arrival {
    const ways = branches.map((first) => this.#wayThrough(first));
    const all = ways.map(({ condition }) => bracketed(condition));
    const enough = enoughOf(all, needed);
    const began = this.#began(step);
    const parts = ends.map(({ on }) => (on === 'success' ? enough : `(${began} and not (${enough}))`));
    const blocks = [...ways.flatMap((way) => way.blocks), ...this.#firstBlocks(step)];
    return { blocks, condition: parts.length === 1 ? parts.join('') : began };
  }

  /** That a branch came to its end. */
  #wayThrough(first: string): Arrival {
    const known = this.#ways.get(first);
    if (known !== undefined) return known;
    // What runs inside of a parallel step is a part of that step.
    const inner = reachableFrom([first], this.#byId, ({ ends }) => ends.map(({ to }) => to));
    const arrivals = inner.flatMap(({ id }) => {
      const step = this.#byId.get(id) as Step;
      const ends = step.ends.filter(({ to }) => to === finish);
      return ends.length === 0 ? [] : [this.#arrival({ step, ends })];
    });
    const way = {
      blocks: arrivals.flatMap(({ blocks }) => blocks),
      condition: arrivals.length === 0 ? 'false' : arrivals.map(({ condition }) => condition).join(' or '),
    };
    this.#ways.set(first, way);
    return way;
  }

  /** The first blocks of all branches, those of inner ones included. */
  #firstBlocks({ work }: Step): readonly string[] {
    if (work.kind !== 'parallel') return [];
    return work.branches.flatMap((first) => {
      const step = this.#byId.get(first);
      return step?.work.kind === 'parallel' ? this.#firstBlocks(step) : [first];
    });
  }

  #began(step: Step): string {
    return `not blocks.${this.#firstBlocks(step)[0] ?? ''}.skipped`;
  }
}

type ParallelWork = Extract<Step['work'], { readonly kind: 'parallel' }>;

function enoughOf(all: readonly string[], needed: number): string {
  if (needed <= 1) return all.join(' or ');
  return needed === all.length ? all.join(' and ') : `size([${all.join(', ')}].filter(it, it)) >= ${needed}`;
}

function bracketed(condition: string): string {
  const isSimple = !/ (?:or|and) /.test(condition) || /^\([^()]*\)$/.test(condition);
  return isSimple ? condition : `(${condition})`;
}

/** Which ends of a completed block lead here. Undefined: all of them. */
function whichEnd({ step, ends }: Source): string | undefined {
  const completing = step.ends.filter(({ on }) => isVerdict(step.work) || on !== 'fail');
  const own = ends.filter((end) => completing.includes(end));
  if (own.length === completing.length) return undefined;
  return own.map(({ on }) => atom(step, on)).join(' or ');
}

/** The condition that a completed block ended so. */
function atom({ id, work }: Step, on: string): string {
  const label = chosenBy(on);
  if (work.kind === 'confirm') return on === 'yes' ? `blocks.${id}.confirmed` : `not blocks.${id}.confirmed`;
  if (label !== undefined && work.kind === 'choice') return `blocks.${id}.choice == ${quotedText(label)}`;
  const preferred = `default(blocks.${id}.response.preferred_label, '')`;
  const outcome = `blocks.${id}.response.outcome == '${on === 'fail' ? 'fail' : 'success'}'`;
  if (label !== undefined) return `(${outcome} and ${preferred} == ${quotedText(label)})`;
  const labels = work.kind === 'model' ? (work.verdict ?? []) : [];
  return on === 'success' && labels.length > 0 ? `(${outcome} and ${preferred} == '')` : outcome;
}
