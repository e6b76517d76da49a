/**
 * What a workflow does, said without a dialect: steps, how each may end, and where each end leads. A run goes from step to step, one at a
 * time. Whatever two dialects share can be said in it; what cannot is reported in notes by whoever reads a workflow into it.
 */
import type { Param } from '../../dot/model/pipeline.ts';
import { readPipeline } from '../../dot/model/read-pipeline.ts';
import { DotFaults } from '../../dot/text/faults.ts';
import { parseDot } from '../../dot/text/parse-dot.ts';
import type { Amounts } from '../../../graph/amounts.ts';
import type { RetryPolicy } from '../../../graph/contracts/retry-policy.ts';
import type { OnBudget } from '../../../graph/graph.ts';
import type { Webhook } from '../../../graph/webhooks.ts';

export interface CalledPipeline {
  readonly name: string;
  /** Its inputs that a stage hands on from the inputs of the same names. A goal of its own it keeps. */
  readonly taken: readonly string[];
}

/** @param text - of a pipeline that has no errors */
export function readCalled(text: string): CalledPipeline {
  const faults = new DotFaults(text, 'child');
  const { name, attributes, params } = readPipeline(parseDot(text, faults), faults);
  const goal = attributes.text('goal') === '' ? ['goal'] : [];
  return { name, taken: [...goal, ...params.map((param: Param) => param.name)] };
}

export interface AgentTools {
  /** A folder whose files it reads, and writes unless it may only read. */
  readonly files?: { readonly folder: string; readonly isReadOnly: boolean };
  /** Whether it runs programs. */
  readonly shell: boolean;
  /** Whether it may ask a person. */
  readonly asks: boolean;
  /** What it does without asking a person first. */
  readonly allow: readonly ('write' | 'shell')[];
  /** Calls of the model, at most. */
  readonly loopsMax: number;
  /** Whether a visit that began with another agent goes on no further. */
  readonly refusesChanges?: true;
}

/** The tools that write files, by the names under which a block allows them. */
export const writingTools = ['write_file', 'edit_file'] as const;

/** A part of a text: as it stands, the value of an input, or the answer of a model in an earlier step. */
export type Piece = string | { readonly input: string } | { readonly answerOf: string };
export type Text = readonly Piece[];

/** What a step does. */
export type Work =
  | {
      readonly kind: 'command';
      /** For `/bin/sh`. The inputs of the workflow are variables of its environment. */
      readonly script: string;
      readonly folder?: string;
      /** Its standard input. */
      readonly stdin?: Text;
    }
  | {
      readonly kind: 'model';
      readonly prompt: Text;
      /** `provider:name`, or a name of the configuration. */
      readonly model: string;
      /** Present: the answer says whether it went well, and may choose one of these. */
      readonly verdict?: readonly string[];
      /** Present: it works with tools until it answers. */
      readonly agent?: AgentTools;
    }
  | {
      /** A pipeline in a file of its own, which runs as a child. */
      readonly kind: 'child';
      readonly name: string;
      /** From the folder of the workflow that is read. */
      readonly file: string;
      /** Its inputs that are set: each is the input of the same name. */
      readonly inputs: readonly string[];
    }
  | { readonly kind: 'choice'; readonly question: Text; readonly choices: readonly string[] }
  | { readonly kind: 'confirm'; readonly question: Text }
  | { readonly kind: 'text'; readonly question: Text }
  | {
      /** Branches side by side. A branch ends where it comes to the {@link finish}, or to the {@link failure}. */
      readonly kind: 'parallel';
      /** The first step of each branch. */
      readonly branches: readonly Target[];
      /** How many of them must come to the finish. */
      readonly needed: number;
    };

/** The run ends here. `failure`: it fails, as the step before it did. */
export const finish = '__end__';
export const failure = '__fail__';

/** Id of a step, {@link finish} or {@link failure}. */
export type Target = string;

/**
 * How a step may end: `success` and `fail`; `yes` and `no` of a confirmation; `choose X` of a choice, and of a verdict. Each end leads on
 * to one target.
 */
export interface End {
  readonly on: string;
  readonly to: Target;
}

export const chose = (label: string): string => `choose ${label}`;

/** The label that an end chose; undefined: it is no choice. */
export function chosenBy(on: string): string | undefined {
  return /^choose ([^]*)$/.exec(on)?.[1];
}

/** Whether a step's answer says how it went: then its end `fail` is an answer too. */
export function isVerdict(work: Work): boolean {
  return work.kind === 'model' && work.verdict !== undefined;
}

export interface Step {
  readonly id: string;
  /** The name under which runs of before have it on record, if it was renamed. */
  readonly renamedFrom?: string;
  readonly title: string | undefined;
  /** Where it stands in the workflow that was read. */
  readonly place: string;
  readonly work: Work;
  /** Present if it is tried more than once. */
  readonly retry: RetryPolicy | undefined;
  readonly timeoutMs: number | undefined;
  readonly isIdempotent: boolean;
  readonly budget: Budget;
  readonly ends: readonly End[];
}

export interface Budget {
  readonly budget?: Amounts;
  readonly onBudget?: OnBudget;
}

/** An input is a text. Without a default it is required. */
export interface OutlineInput {
  readonly name: string;
  readonly default: string | undefined;
}

export interface Outline {
  readonly name: string;
  readonly description: string | undefined;
  readonly inputs: readonly OutlineInput[];
  readonly budget: Budget;
  readonly webhooks?: readonly Webhook[];
  readonly first: Target;
  readonly steps: readonly Step[];
}

/** The steps that may come next, those of branches first. */
export function nextOf({ work, ends }: Pick<Step, 'work' | 'ends'>): readonly Target[] {
  return [...(work.kind === 'parallel' ? work.branches : []), ...ends.map(({ to }) => to)].filter(isStep);
}

export const isStep = (target: Target): boolean => target !== finish && target !== failure;

/** Milliseconds that a command has if its dialect says nothing: those of a pipeline's. */
export const commandMs = 600_000;

/** The delays between attempts where a file or a program names a number of attempts alone: those of the engine. */
export const engineDelays: Omit<RetryPolicy, 'attempts'> = {
  backoff: 'exponential',
  factor: 2,
  delayMs: 1_000,
  delayMsMax: 60_000,
  jitter: 0,
};

/** The same text with neighbouring strings as one, and without empty ones. */
export function joined(text: Text): Text {
  const parts: Piece[] = [];
  for (const piece of text) {
    const last = parts.at(-1);
    if (piece === '') continue;
    if (typeof piece === 'string' && typeof last === 'string') parts[parts.length - 1] = last + piece;
    else parts.push(piece);
  }
  return parts;
}

/** An id that is not taken yet. */
export function freeId(wanted: string, taken: { has(id: string): boolean }): string {
  let id = wanted;
  for (let count = 2; taken.has(id); count += 1) id = `${wanted}_${count}`;
  return id;
}

/** The steps that a run can come to, in the order in which it may come to them. */
export function reachableSteps({ first, steps }: Pick<Outline, 'first' | 'steps'>): readonly Step[] {
  return reachableFrom([first], new Map(steps.map((step) => [step.id, step])));
}

/** The same from several steps at once, among steps by id. */
export function reachableFrom(
  firsts: readonly Target[],
  byId: ReadonlyMap<string, Step>,
  nextFrom: (step: Step) => readonly Target[] = nextOf,
): readonly Step[] {
  const found = new Map<string, Step>();
  const open = [...firsts];
  // The list grows while it is read: taking from its front would move all that is behind.
  for (const id of open) {
    const step = isStep(id) && !found.has(id) ? byId.get(id) : undefined;
    if (step === undefined) continue;
    found.set(id, step);
    open.push(...nextFrom(step));
  }
  return [...found.values()];
}

/** Ids of the steps of branches. */
export function stepsInBranches(steps: readonly Step[]): ReadonlySet<string> {
  const firsts = steps.flatMap(({ work }) => (work.kind === 'parallel' ? work.branches : []));
  return new Set(reachableFrom(firsts, new Map(steps.map((step) => [step.id, step]))).map(({ id }) => id));
}

type Choice = Extract<Work, { readonly kind: 'choice' }>;

/** The question for work that a person does by hand. @param mayFail - whether the person may answer that it failed */
export function workByHand(what: string, mayFail: boolean): Choice {
  return {
    kind: 'choice',
    question: [`Do this by hand, then say so: ${what}`],
    choices: mayFail ? ['done', 'failed'] : ['done'],
  };
}

/** Work by hand. @param fails - where a failure leads; unless the run then fails, the person may say that it failed */
export function byHand(what: string, success: Target, fails: Target): Pick<Step, 'work' | 'ends'> {
  const mayFail = fails !== failure;
  return {
    work: workByHand(what, mayFail),
    ends: [{ on: chose('done'), to: success }, ...(mayFail ? [{ on: chose('failed'), to: fails }] : [])],
  };
}

/** A decision by hand. @param ways - each choice, and where it leads */
export function decidedBy(
  question: string,
  ways: ReadonlyMap<string, Target>,
): Pick<Step, 'ends'> & { readonly work: Choice } {
  return {
    work: { kind: 'choice', question: [question], choices: [...ways.keys()] },
    ends: [...ways].map(([choice, to]) => ({ on: chose(choice), to })),
  };
}

/** What a step has whose work needs nothing else. */
export const plainStep: Pick<Step, 'title' | 'retry' | 'timeoutMs' | 'isIdempotent' | 'budget'> = {
  title: undefined,
  retry: undefined,
  timeoutMs: undefined,
  isIdempotent: false,
  budget: {},
};

/** Writes a text as one word of a shell, which nothing in it can leave. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The most seconds that a block gives a call of a model. */
export const longestCall = 1_800;

/** The schema of an answer that says how it went. */
export function verdictSchema(labels: readonly string[]): Readonly<Record<string, unknown>> {
  return {
    type: 'object',
    required: ['outcome'],
    properties: {
      outcome: { enum: ['success', 'fail'] },
      ...(labels.length > 0 && { preferred_label: { enum: labels } }),
      failure_reason: { type: 'string' },
    },
  };
}
