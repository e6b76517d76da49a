/**
 * Tries a stage again that consists of several steps. Each attempt does the work anew, and the delays between them are waits of the run.
 */
import type { NodeContext, StepContext, StepOptions } from '../../../../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../../../../graph/contracts/retry-policy.ts';
import type { ModelMessage } from '../../../../graph/contracts/model-messages.ts';
import type { Need } from '../../../../graph/contracts/node-type.ts';
import type { Stage } from '../../model/pipeline.ts';
import type { Ways } from './choose-edge.ts';
import type { ContextReader } from '../context/context-reader.ts';
import {
  type StageOutcome,
  type StageOutput,
  type StageStatus,
  failed,
  isFinal,
  isOfRun,
  retryCode,
} from './stage-outcome.ts';
import { CairnError } from '../../../../errors.ts';

// What handlers get: the stage and the run they work for.

/** A stage that ended, and where the run went on. */
export interface StageEnding {
  readonly stage: string;
  readonly outcome: StageStatus;
  /** Reason of a failure. */
  readonly reason?: string;
  /** Index of the edge in the file. Undefined if no edge was taken. */
  readonly edge: number | undefined;
  /** The stage where the run went on, by an edge, a jump, or as the join of branches. Undefined if it did not go on. */
  readonly to: string | undefined;
}

/** How much of the run a prompt contains. */
export interface PromptScope {
  readonly fidelity: string;
  /** With the fidelity `full`: the conversation to continue. Undefined if the file names none. */
  readonly thread: string | undefined;
  /** The model that writes the summary. Undefined means that rules make it, without a model. */
  readonly summaryModel: string | undefined;
  /** The fidelity for the first stage for a model after a failed run was resumed, if it tells less. Undefined means the usual one. */
  readonly resumeFidelity: string | undefined;
}

/** The request for a model. Built before the step in which the model is called. */
export interface ModelRequest {
  /** Earlier turns of the thread. */
  readonly earlier: readonly ModelMessage[];
  readonly prompt: string;
  /** The thread to continue. Undefined for a prompt that stands alone. */
  readonly thread: string | undefined;
}

/** A stage with everything its node needs to run it. */
export interface StageParts {
  readonly stage: Stage;
  readonly pipelineName: string;
  /** Attributes of the pipeline. */
  readonly graph: Stage['attributes'];
  /** Parameters that prompts may use as `$name`. */
  readonly params: readonly string[];
  readonly ways: Ways;
  /** Stages to jump to if the stage fails and no edge takes the failure, in the order in which they are tried. */
  readonly jumps: readonly string[];
  /** The outcomes that its edges, or those of a diamond behind it, compare with. Empty if no edge reads the outcome. */
  readonly outcomes: ReadonlySet<string>;
  /** Those of them that are no words of the language, such as `needs_dod`. */
  readonly ownOutcomes: ReadonlySet<string>;
  /** How often the stage may jump to each of them. */
  readonly jumpsMax: number;
  readonly retry: RetryPolicy;
  readonly timeoutMs: number | undefined;
  /** The limits that the stage's work is under, by name. */
  readonly limit: readonly string[] | undefined;
  /** How much of the run the prompt contains, which also depends on the edge that led to the stage. */
  readonly promptScopeOf: (edge: string | undefined) => PromptScope;
  /** Called for each stage that begins, by its id; again where it goes on after a crash or a pause. */
  readonly watchBegin: ((stage: string) => void) | undefined;
  /** Called for each stage that ended. After a crash, the run that goes on may call it for some of them again. */
  readonly watch: ((ending: StageEnding) => void) | undefined;
  /** Where it works: relative to where the process was started. */
  readonly folder: string;
  /** Whether its run may get texts from outside for the prompts of its stages. */
  readonly isSteered: boolean;
  /** Whether a workflow of another dialect runs the pipeline, so that its questions say who asks. */
  readonly isCalled: boolean;
  /** Says why a need is not granted. Undefined means that it is. */
  readonly withheld: ((need: Need) => string | undefined) | undefined;
}

/** The argument of a handler. */
export interface StageContext {
  /** Context of the node. Only handlers without `effect` may call its `step`, `ask` and `run`, which record what they do. */
  readonly ctx: NodeContext;
  readonly parts: StageParts;
  readonly attributes: Stage['attributes'];
  /** A value of the context as it is stored. For a large value that is its head, its tail and its file. */
  readonly value: (key: string) => unknown;
  /** The context by types, and large values whole. */
  readonly context: ContextReader;
  /** Of a handler with `effect`: the step that it is run in. */
  readonly step?: StepContext;
  /** The result of the handler's `asks`. */
  readonly modelRequest?: ModelRequest;
}

/** The implementation of a stage type. */
export interface StageHandler {
  /**
   * Effect class. A handler with one runs as one recorded step of that class, and is tried again as its stage says. A handler without one
   * runs directly, and records what it does itself.
   */
  readonly effect?: 'read' | 'write' | 'external';
  /** Whether it stands in for the work of a stage, so that nobody need allow that. Default false. */
  readonly isStandIn?: true;
  /** Whether repeating the effect with the same key is harmless. Default false. */
  readonly isIdempotent?: (stage: Stage) => boolean;
  /** Whether all that its effect does is that it asks a model. Default false. */
  readonly isModelCall?: true;
  /** What it reaches for. @param folder - where the stage works, relative to where the process was started */
  readonly needs?: (stage: Stage, folder: string) => readonly Need[];
  /** For stages that ask a model: builds the request. Called before the step, and may run steps of its own. */
  readonly modelRequestOf?: (stage: StageContext) => Promise<ModelRequest> | ModelRequest;
  /** Says why this stage would not end with an outcome that somebody sets in a fork. Default: every outcome fits. */
  readonly outcomeFault?: (
    stage: Pick<StageContext, 'parts' | 'attributes' | 'value'>,
    output: StageOutput,
  ) => string | undefined;
  /** @throws anything, which means that the stage has failed. It is tried again if its policy allows more attempts. */
  readonly run: (stage: StageContext) => Promise<StageOutcome> | StageOutcome;
}

/** Options of a step that asks a model for a stage: tried as often as the stage, within its time. */
export function modelStep({ retry, timeoutMs, limit }: StageParts): StepOptions {
  return {
    effect: 'external',
    idempotent: true,
    isModelCall: true,
    retry,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(limit !== undefined && { limit }),
  };
}

/** @throws what the last attempt failed with */
export async function inAttempts(
  { ctx, parts }: StageContext,
  work: (attempt: number) => Promise<StageOutcome>,
): Promise<StageOutcome> {
  const { retry } = parts;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const outcome = await work(attempt);
      if (outcome.status !== 'retry') return outcome;
      throw failed(outcome, retryCode);
    } catch (error) {
      if (isOfRun(ctx, error) || isFinal(error) || CairnError.is(error) || attempt >= retry.attempts) throw error;
    }
    await ctx.sleepUntil(ctx.now() + delayAfter(attempt, retry), `attempt ${attempt + 1}`);
  }
}

/** The delays are those of steps, but without jitter, since a function that is repeated must not draw random numbers. */
function delayAfter(
  attempt: number,
  { backoff, delayMs = 1_000, delayMsMax = 60_000, factor = 2 }: RetryPolicy,
): number {
  return Math.min(backoff === 'fixed' ? delayMs : delayMs * factor ** (attempt - 1), delayMsMax);
}
