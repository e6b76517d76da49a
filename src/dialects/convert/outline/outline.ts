/**
 * What a workflow does, said without a dialect: steps, how each may end, and where each end leads. A run goes from step to step, one at a
 * time. Whatever two dialects share can be said in it; what cannot is told in notes by whoever reads a workflow into it.
 */
import type { Amounts } from '../../../graph/amounts.ts';
import type { RetryPolicy } from '../../../graph/contracts/retry-policy.ts';
import type { OnBudget } from '../../../graph/graph.ts';
import type { AgentTools } from './agent-tools.ts';

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
      /** Its inputs that are given: each is the input of the same name. */
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

/** An input is a text. Without a default it must be given. */
export interface OutlineInput {
  readonly name: string;
  readonly default: string | undefined;
}

export interface Outline {
  readonly name: string;
  readonly description: string | undefined;
  readonly inputs: readonly OutlineInput[];
  readonly budget: Budget;
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
