/** Writes an outline as a pipeline: a stage for each step, an edge for each end. */
import { retryOf } from '../../dot/compile/stage-policy.ts';
import { normalLabel, sayingOf } from '../../dot/model/labels.ts';
import { Attributes, type Pipeline, type Stage } from '../../dot/model/pipeline.ts';
import { retryPresets } from '../../dot/model/attributes.ts';
import { printDot } from '../../dot/text/print-dot.ts';
import type { AttributeSyntax, Syntax } from '../../dot/text/syntax.ts';
import { same } from '../../../schema/json-schema.ts';
import type { Notes } from '../outline/notes.ts';
import {
  commandMs,
  failure,
  finish,
  type Budget,
  type End,
  type Outline,
  type OutlineInput,
  type Step,
  type Text,
} from '../outline/outline.ts';
import { freeId, withStops } from '../outline/stand-in.ts';
import { readPrompt } from '../outline/told-answer.ts';
import { withFittingInputs } from './rename-inputs.ts';
import { withFittingIds } from './rename-steps.ts';

type Pairs = readonly (readonly [name: string, value: string | undefined])[];

export function writeDot(given: Outline, notes: Notes): string {
  const outline = withFittingInputs(withFittingIds(withStops(given, false), fittingId, notes), notes);
  const ids = new Set(outline.steps.map(({ id }) => id));
  const start = freeId('start', ids);
  const exit = freeId('exit', ids);
  const targetOf = (to: string): string => (to === finish ? exit : to);
  const writer = new StageWriter(outline.inputs, notes);
  const statements: Syntax[] = [
    ...defaults('graph', [...graphPairs(outline, notes), ...budgetPairs(outline.budget)]),
    node(start, [['shape', 'Mdiamond']]),
    node(exit, [['shape', 'Msquare']]),
    ...outline.steps.map((step) => node(step.id, writer.stage(step))),
    edge(start, targetOf(outline.first), []),
    ...outline.steps.flatMap((step) =>
      step.ends.filter(({ to }) => to !== failure).map((end) => edge(step.id, targetOf(end.to), edgePairs(step, end))),
    ),
  ];
  return printDot({ name: outline.name, comments: [], statements, closing: [] });
}

const words = /^(?:graph|digraph|node|edge|subgraph|strict|outputs)$/i;

function fittingId(id: string): string {
  const plain = id.replaceAll(/[^\p{L}\p{N}_]/gu, '_').replace(/^(?=\p{N})/u, 'n') || 'step';
  return words.test(plain) || plain.startsWith('__') ? `step_${plain}` : plain;
}

function attributes(pairs: Pairs): readonly AttributeSyntax[] {
  return pairs.flatMap(([key, value]) => (value === undefined ? [] : [{ key, value, at: 0, valueAt: 0 }]));
}

function node(id: string, pairs: Pairs): Syntax {
  return { kind: 'node', id, attributes: attributes(pairs), at: 0, comments: [] };
}

function edge(from: string, to: string, pairs: Pairs): Syntax {
  const ends = [from, to].map((id) => ({ id, at: 0 }));
  return { kind: 'edge', ends, attributes: attributes(pairs), at: 0, comments: [] };
}

function defaults(of: 'graph', pairs: Pairs): readonly Syntax[] {
  const given = attributes(pairs);
  return given.length === 0 ? [] : [{ kind: 'defaults', of, attributes: given, at: 0, comments: [] }];
}

function graphPairs({ description, inputs }: Outline, notes: Notes): Pairs {
  const goal = inputs.find(({ name }) => name === 'goal');
  if (goal !== undefined && goal.default === undefined)
    notes.lost(
      'INPUT',
      'input goal',
      'the goal need not be given: a pipeline has one, if an empty one',
      'give it with --input',
    );
  const params = inputs.filter(({ name }) => name !== 'goal').map((input) => paramText(input, notes));
  return [
    ['label', description],
    ['goal', goal?.default || undefined],
    ['params', params.join(', ') || undefined],
  ];
}

/** `params` is one text: a default with a comma, or with space around it, would be read as something else. */
function paramText({ name, default: initial }: OutlineInput, notes: Notes): string {
  if (initial === undefined) return name;
  if (!initial.includes(',') && initial.trim() === initial) return `${name}=${initial}`;
  notes.lost(
    'INPUT',
    `input ${name}`,
    `the default of ${name} cannot be written in params; it must be given`,
    'give it with --input',
  );
  return name;
}

function budgetPairs({ budget, onBudget }: Budget): Pairs {
  if (budget === undefined) return [];
  const amounts = Object.entries(budget).map(([unit, amount]) =>
    unit === 'seconds' ? `time=${amount}` : `${unit}=${amount}`,
  );
  return [
    ['budget', amounts.join(', ')],
    ['on_budget', onBudget === 'fail' ? 'fail' : undefined],
  ];
}

/** An end's edge. Of a choice it has the label; of a failure that is taken, the condition. */
function edgePairs({ work, ends }: Step, { on }: End): Pairs {
  const label = /^choose ([^]*)$/.exec(on)?.[1];
  if (label !== undefined) return [['label', labelText(label)]];
  if (work.kind === 'confirm') return [['label', on === 'yes' ? 'Yes' : 'No']];
  if (on === 'fail') return [['condition', 'outcome=fail']];
  // Beside edges with labels, the one without is for an answer that chooses none.
  return [['weight', ends.some((end) => end.on.startsWith('choose ')) ? '1' : undefined]];
}

/** A label that says this choice. One that looks as if it began with a key gets a key of its own. */
function labelText(choice: string): string {
  return sayingOf(choice) === choice ? choice : `[${Array.from(choice.trim())[0] ?? '?'}] ${choice}`;
}

class StageWriter {
  readonly #names: ReadonlySet<string>;
  readonly #hasGoal: boolean;
  readonly #notes: Notes;

  constructor(inputs: readonly OutlineInput[], notes: Notes) {
    this.#names = new Set(['goal', ...inputs.map(({ name }) => name)]);
    this.#hasGoal = inputs.some(({ name }) => name === 'goal');
    this.#notes = notes;
  }

  stage(step: Step): Pairs {
    const { title, timeoutMs, isIdempotent, work } = step;
    const own = work.kind === 'command' ? commandMs : undefined;
    return [
      ...this.#work(step),
      ...(isQuestion(step) ? [] : ([['label', title]] as const)),
      ['timeout', timeoutMs === undefined || timeoutMs === own ? undefined : duration(timeoutMs)],
      ['idempotent', work.kind === 'command' && isIdempotent ? 'true' : undefined],
      ...this.#retry(step),
      ...budgetPairs(step.budget),
    ];
  }

  #work(step: Step): Pairs {
    const { work, place, id } = step;
    switch (work.kind) {
      case 'command': {
        const workdir: Pairs = [['workdir', work.folder]];
        if (work.stdin === undefined) return [['shape', 'parallelogram'], ['tool_command', work.script], ...workdir];
        return [...this.#prompt(step, work.stdin), ['agent_command', work.script], ...workdir];
      }
      case 'model':
        this.#noteVerdict(step);
        return [...this.#prompt(step, work.prompt), ['llm_model', work.model === 'default' ? undefined : work.model]];
      case 'choice': {
        const said = work.choices.map((choice) => normalLabel(labelText(choice)));
        if (
          new Set(said).size < said.length ||
          work.choices.some((choice) => choice.trim() !== choice || choice === '')
        )
          this.#notes.lost(
            'ANSWER',
            place,
            `${id} has choices that differ in letter case or space alone`,
            'say them otherwise',
          );
        return [
          ['shape', 'hexagon'],
          ['label', this.#question(step, work.question)],
        ];
      }
      case 'confirm':
        return [
          ['shape', 'hexagon'],
          ['human.type', 'yes_no'],
          ['label', this.#question(step, work.question)],
        ];
      case 'text':
        return [
          ['shape', 'hexagon'],
          ['human.type', 'freeform'],
          ['label', this.#question(step, work.question)],
        ];
      default:
        throw new Error(`${id} has branches, which nothing but a pipeline says`);
    }
  }

  /** A model with more than one way on is asked how it went. */
  #noteVerdict({ work, ends, id, place }: Step): void {
    const edges = ends.filter(({ to }) => to !== failure);
    if (work.kind === 'model' && work.verdict === undefined && edges.length > 1)
      this.#notes.lost(
        'PROMPT',
        place,
        `${id} is asked to end its answer with how it went, and may say that it failed`,
        'nothing, if that is welcome',
      );
  }

  /** The prompt alone is told, or the goal before it; all that the run tells where the answer before it stands there, or is spoken of. */
  #prompt({ id, place }: Step, text: Text): Pairs {
    const { hasGoal, answerOf, own } = readPrompt(text);
    const isSpokenOf = own.some((piece) => typeof piece === 'object' && 'answerOf' in piece);
    const isTold = answerOf !== undefined || isSpokenOf;
    if (isSpokenOf)
      this.#notes.lost(
        'VALUE',
        place,
        `the prompt of ${id} does not hold earlier answers; the run so far is told before it`,
        'nothing, or set fidelity',
      );
    if (this.#hasGoal && !hasGoal)
      this.#notes.lost(
        'PROMPT',
        place,
        `the goal stands before the prompt of ${id}`,
        'give the input goal another name',
      );
    return [
      ['prompt', own.map((piece, index) => this.#piece(piece, own[index + 1], { id, place })).join('')],
      ['fidelity', isTold ? undefined : 'truncate'],
    ];
  }

  #piece(piece: Text[number], next: Text[number] | undefined, { id, place }: Pick<Step, 'id' | 'place'>): string {
    const confused = (what: string): void =>
      this.#notes.lost('TEXT', place, `in the prompt of ${id} ${what}`, 'word it otherwise');
    if (typeof piece === 'string') {
      for (const [word, name = ''] of piece.matchAll(/\$([A-Za-z_][A-Za-z0-9_]*)/g))
        if (this.#names.has(name)) confused(`${word} is the input, and not text`);
      return piece;
    }
    if ('answerOf' in piece) return `(the answer of ${piece.answerOf})`;
    if (typeof next === 'string' && /^[A-Za-z0-9_]/.test(next))
      confused(`$${piece.input} runs into the word behind it`);
    return `$${piece.input}`;
  }

  #question({ id, place }: Step, text: Text): string {
    const parts = text.map((piece) => {
      if (typeof piece === 'string') return piece;
      const name = 'input' in piece ? piece.input : `the answer of ${piece.answerOf}`;
      this.#notes.lost('VALUE', place, `the question of ${id} says <${name}> in place of the value`, 'ask without it');
      return `<${name}>`;
    });
    return parts.join('');
  }

  #retry({ id, place, retry }: Step): Pairs {
    if (retry === undefined) return [];
    const { attempts, ...delays } = retry;
    for (const preset of ['', ...retryPresets]) {
      const { attempts: own, ...rest } = policyOf(preset);
      if (!same(rest, delays)) continue;
      const isOwn = preset !== '' && own === attempts;
      return [
        ['retry_policy', preset === '' ? undefined : preset],
        ['max_retries', isOwn ? undefined : String(attempts - 1)],
      ];
    }
    this.#notes.changed(
      'SETTING',
      place,
      `${id} is tried again after delays of a pipeline`,
      'nothing, or name a retry_policy',
    );
    return [['max_retries', String(attempts - 1)]];
  }
}

function isQuestion({ work: { kind } }: Step): boolean {
  return kind === 'choice' || kind === 'confirm' || kind === 'text';
}

/** The delays of a preset. */
function policyOf(preset: string): ReturnType<typeof retryOf> {
  const given = { value: preset, at: undefined };
  const stage = { attributes: new Attributes(new Map(preset === '' ? [] : [['retry_policy', given]])) };
  return retryOf(stage as Stage, { attributes: new Attributes(new Map()) } as Pipeline);
}

function duration(ms: number): string {
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}
