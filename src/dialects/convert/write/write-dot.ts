/** Writes an outline as a pipeline: a stage for each step, an edge for each end. */
import { sayingOf, normalLabel } from '../../dot/model/edge-label.ts';
import type { Notes } from '../outline/notes.ts';
import {
  chosenBy,
  type Budget,
  type End,
  type Outline,
  type OutlineInput,
  type Step,
  type Piece,
  type Text,
  type AgentTools,
  commandMs,
  failure,
  isVerdict,
  freeId,
  finish,
  type Target,
} from '../outline/outline.ts';
import { readPrompt } from '../outline/earlier-answers.ts';
import { presetPolicy, retryPresets } from '../../dot/model/attributes.ts';
import { webhookText } from '../../../graph/webhooks.ts';
import { same } from '../../../schema/json-schema.ts';
import { durationText, withFittingIds, withStops } from './write-yaml.ts';
import { printDot, type AttributeSyntax, type Syntax } from '../../dot/text/print-dot.ts';

// Attributes of a pipeline as they are written: of the graph, of edges, and what several of these share.

/** Names and values in order; without a value, the attribute is omitted. */
export type Pairs = readonly (readonly [name: string, value: string | undefined])[];

function graphPairs({ description, inputs, budget, webhooks = [] }: Outline, notes: Notes): Pairs {
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
    ...budgetPairs(budget),
    ['webhooks', webhooks.map(webhookText).join('; ') || undefined],
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

/** An end's edge. That of a choice has its label; that of a failure which leads on, a condition. */
function edgePairs({ work, ends }: Step, { on }: End): Pairs {
  const choice = chosenBy(on);
  if (choice !== undefined) return [['label', labelOfChoice(choice)]];
  if (work.kind === 'confirm') return [['label', on === 'yes' ? 'Yes' : 'No']];
  if (on === 'fail') return [['condition', 'outcome=fail']];
  // Beside edges with labels, the one without is for an answer that chooses none.
  return [['weight', ends.some((end) => chosenBy(end.on) !== undefined) ? '1' : undefined]];
}

/** A label that says this choice. One that looks as if it began with a key gets a key of its own. */
function labelOfChoice(choice: string): string {
  return sayingOf(choice) === choice ? choice : `[${Array.from(choice.trim())[0] ?? '?'}] ${choice}`;
}

// Prompts and questions of a pipeline: `$NAME` in them is an input.

type Named = Pick<Step, 'id' | 'place'>;

class DotPrompts {
  readonly #names: ReadonlySet<string>;
  readonly #hasGoal: boolean;
  readonly #notes: Notes;

  constructor(inputs: readonly OutlineInput[], notes: Notes) {
    this.#names = new Set(['goal', ...inputs.map(({ name }) => name)]);
    this.#hasGoal = inputs.some(({ name }) => name === 'goal');
    this.#notes = notes;
  }

  /**
   * A prompt, and how much of the run stands before it: the goal alone, unless the text contains an earlier answer, or has one before
   * itself. Then it is all that stands there by default.
   */
  prompt({ id, place }: Named, text: Text): Pairs {
    const { hasGoal, answerOf, own } = readPrompt(text);
    const isSpokenOf = own.some((piece) => typeof piece === 'object' && 'answerOf' in piece);
    const hasEarlierAnswer = answerOf !== undefined || isSpokenOf;
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
      ['prompt', this.#pieces(own, `the prompt of ${id}`, place)],
      ['fidelity', hasEarlierAnswer ? undefined : 'truncate'],
    ];
  }

  /** A question, in which an earlier answer is named. */
  question({ id, place }: Named, text: Text): string {
    const what = `the question of ${id}`;
    for (const piece of text)
      if (typeof piece === 'object' && 'answerOf' in piece)
        this.#notes.lost('VALUE', place, `${what} says whose answer it means, and not the answer`, 'ask without it');
    return this.#pieces(text, what, place);
  }

  #pieces(text: Text, what: string, place: string): string {
    const noteConfusion = (how: string): void =>
      this.#notes.lost('TEXT', place, `in ${what} ${how}`, 'word it otherwise');
    return text.map((piece, index) => this.#piece(piece, text[index + 1], noteConfusion)).join('');
  }

  #piece(piece: Piece, next: Piece | undefined, noteConfusion: (how: string) => void): string {
    if (typeof piece === 'string') {
      for (const [word, name = ''] of piece.matchAll(/\$([A-Za-z_][A-Za-z0-9_]*)/g))
        if (this.#names.has(name)) noteConfusion(`${word} is the input, and not text`);
      return piece;
    }
    if ('answerOf' in piece) return `(the answer of ${piece.answerOf})`;
    if (typeof next === 'string' && /^[A-Za-z0-9_]/.test(next))
      noteConfusion(`$${piece.input} runs into the word behind it`);
    return `$${piece.input}`;
  }
}

// What a step of an outline is as a stage of a pipeline: its attributes.

class StageWriter {
  readonly #prompts: DotPrompts;
  readonly #notes: Notes;

  constructor(inputs: readonly OutlineInput[], notes: Notes) {
    this.#prompts = new DotPrompts(inputs, notes);
    this.#notes = notes;
  }

  attributesOf(step: Step): Pairs {
    const { title, renamedFrom, timeoutMs, isIdempotent, work } = step;
    const usual = work.kind === 'command' ? commandMs : undefined;
    return [
      ...this.#work(step),
      ...('question' in work ? [] : ([['label', title]] as const)),
      ['renamed_from', renamedFrom],
      ['timeout', timeoutMs === undefined || timeoutMs === usual ? undefined : durationText(timeoutMs)],
      ['idempotent', work.kind === 'command' && isIdempotent ? 'true' : undefined],
      ...this.#retry(step),
      ...budgetPairs(step.budget),
    ];
  }

  #work(step: Step): Pairs {
    const { work, id } = step;
    switch (work.kind) {
      case 'command': {
        const workdir: Pairs = [['workdir', work.folder]];
        if (work.stdin === undefined) return [['shape', 'parallelogram'], ['tool_command', work.script], ...workdir];
        return [...this.#prompts.prompt(step, work.stdin), ['agent_command', work.script], ...workdir];
      }
      case 'model':
        this.#noteVerdict(step);
        return [
          ...this.#prompts.prompt(step, work.prompt),
          ['llm_model', work.model === 'default' ? undefined : work.model],
          ...(work.agent === undefined ? [] : agentPairs(work.agent)),
        ];
      case 'child':
        return [
          ['shape', 'house'],
          ['stack.child_dotfile', work.file],
        ];
      case 'choice':
        this.#noteAlike(step, work.choices);
        return this.#question(step, work.question);
      case 'confirm':
        return this.#question(step, work.question, 'yes_no');
      case 'text':
        return this.#question(step, work.question, 'freeform');
      default:
        throw new Error(`${id} has branches, which nothing but a pipeline says`);
    }
  }

  #question(step: Step, question: Text, form?: 'yes_no' | 'freeform'): Pairs {
    return [
      ['shape', 'hexagon'],
      ['human.type', form],
      ['label', this.#prompts.question(step, question)],
    ];
  }

  /** A pipeline compares labels without regard to letter case and space. */
  #noteAlike({ id, place }: Step, choices: readonly string[]): void {
    const labels = choices.map((choice) => normalLabel(labelOfChoice(choice)));
    if (new Set(labels).size < labels.length || choices.some((choice) => choice.trim() !== choice || choice === ''))
      this.#notes.lost(
        'ANSWER',
        place,
        `${id} has choices that differ in letter case or space alone`,
        'say them otherwise',
      );
  }

  /** A pipeline asks a model how it went wherever there is more than one way on. */
  #noteVerdict(step: Step): void {
    const edges = step.ends.filter(({ to }) => to !== failure);
    if (!isVerdict(step.work) && edges.length > 1)
      this.#notes.lost(
        'PROMPT',
        step.place,
        `${step.id} is asked to end its answer with how it went, and may say that it failed`,
        'nothing, if that is welcome',
      );
  }

  /** The preset whose delays these are, and the number of attempts where it is not the preset's. */
  #retry({ id, place, retry }: Step): Pairs {
    if (retry === undefined) return [];
    const { attempts, ...delays } = retry;
    for (const preset of ['', ...retryPresets]) {
      const { attempts: usual, ...rest } = presetPolicy(preset);
      if (!same(rest, delays)) continue;
      const isUsual = preset !== '' && usual === attempts;
      return [
        ['retry_policy', preset === '' ? undefined : preset],
        ['max_retries', isUsual ? undefined : String(attempts - 1)],
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

function agentPairs({ files, shell, asks, allow, loopsMax, refusesChanges }: AgentTools): Pairs {
  const tools = [
    ...(files === undefined ? [] : [files.isReadOnly ? 'read' : 'write']),
    ...(shell ? ['shell'] : []),
    ...(asks ? ['ask_person'] : []),
  ];
  return [
    ['tools', tools.join(',')],
    ['allow_tools', allow.length === 0 ? undefined : allow.join(',')],
    ['max_turns', String(loopsMax)],
    ['on_change', refusesChanges === true ? 'refuse' : undefined],
    ['workdir', files === undefined || files.folder === '.' ? undefined : files.folder],
  ];
}

// Names of inputs that a pipeline can have: small letters, digits and `_`.

const fitting = /^[a-z][a-z0-9_]*$/;

/** A command that reads an input by its old name gets it under that name, too. */
function withFittingInputs(outline: Outline, notes: Notes): Outline {
  const taken = new Set(outline.inputs.map(({ name }) => name).filter((name) => fitting.test(name)));
  const names = new Map<string, string>();
  for (const { name } of outline.inputs) {
    if (fitting.test(name)) continue;
    const plain = name
      .toLowerCase()
      .replaceAll(/[^a-z0-9_]/g, '_')
      .replace(/^(?![a-z])/, 'p_');
    const free = freeId(plain, taken);
    taken.add(free);
    names.set(name, free);
    notes.lost(
      'NAME',
      `input ${name}`,
      `the input ${name} is called ${free}`,
      'give it by that name, or rename it in both',
    );
  }
  if (names.size === 0) return outline;
  const nameOf = (name: string): string => names.get(name) ?? name;
  const renamed = (text: Text): Text =>
    text.map((piece) => (typeof piece === 'object' && 'input' in piece ? { input: nameOf(piece.input) } : piece));
  const workOf = (work: Step['work']): Step['work'] => {
    if (work.kind === 'model') return { ...work, prompt: renamed(work.prompt) };
    if ('question' in work) return { ...work, question: renamed(work.question) };
    if (work.kind !== 'command') return work;
    const read = [...names].filter(([name]) => new RegExp(`\\b${name}\\b`).test(work.script));
    const exports = read.map(([name, free]) => `export ${name}="$${free}"\n`).join('');
    return { ...work, script: exports + work.script, ...(work.stdin !== undefined && { stdin: renamed(work.stdin) }) };
  };
  return {
    ...outline,
    inputs: outline.inputs.map((input) => ({ ...input, name: nameOf(input.name) })),
    steps: outline.steps.map((step) => ({ ...step, work: workOf(step.work) })),
  };
}

export function writeDot(input: Outline, notes: Notes): string {
  // A stage that fails, and whose failure no edge takes, fails the run.
  const stopped = withStops(input, (_, { on }) => on === 'fail');
  const outline = withFittingInputs(withFittingIds(stopped, fittingId, notes), notes);
  const ids = new Set(outline.steps.map(({ id }) => id));
  const start = freeId('start', ids);
  const exit = freeId('exit', ids);
  const stageOf = (target: Target): string => (target === finish ? exit : target);
  const writer = new StageWriter(outline.inputs, notes);
  const statements: Syntax[] = [
    ...defaults(graphPairs(outline, notes)),
    node(start, [['shape', 'Mdiamond']]),
    node(exit, [['shape', 'Msquare']]),
    ...outline.steps.map((step) => node(step.id, writer.attributesOf(step))),
    edge(start, stageOf(outline.first), []),
    ...outline.steps.flatMap((step) =>
      step.ends.filter(({ to }) => to !== failure).map((end) => edge(step.id, stageOf(end.to), edgePairs(step, end))),
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

/** The attributes of the graph, if it has any. */
function defaults(pairs: Pairs): readonly Syntax[] {
  const list = attributes(pairs);
  return list.length === 0 ? [] : [{ kind: 'defaults', of: 'graph', attributes: list, at: 0, comments: [] }];
}
