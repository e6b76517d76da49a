/** What handlers know: the stage they work for, and the run they work in. */
import type { NodeContext, RetryPolicy, StepContext } from '../../../graph/contracts/node-contract.ts';
import type { ModelMessage } from '../../../graph/contracts/model-contract.ts';
import type { Need } from '../../../graph/contracts/node-type.ts';
import type { Stage } from '../model/pipeline.ts';
import type { Ways } from './choose-edge.ts';
import type { StageOutcome, StageStatus } from './stage-outcome.ts';

/** A stage that ended, and where the run went on. */
export interface StageEnding {
  readonly stage: string;
  readonly outcome: StageStatus;
  /** Of a failure. */
  readonly reason?: string;
  /** Position among the edges of the file; undefined: none was taken. */
  readonly edge: number | undefined;
  /** The stage that it led to, by an edge, a jump, or as the join of branches; undefined: nowhere. */
  readonly to: string | undefined;
}

/** How much of the run a prompt is told. */
export interface Telling {
  readonly fidelity: string;
  /** Under `full`: the conversation it goes on in; undefined: the file names none. */
  readonly thread: string | undefined;
  /** The model that tells a summary; undefined: it is told by rule. */
  readonly summaryModel: string | undefined;
}

/** What a model is asked, made before the step in which it is. */
export interface Asking {
  /** Earlier turns of the thread. */
  readonly earlier: readonly ModelMessage[];
  readonly prompt: string;
  /** The thread that it goes on in; undefined: it begins and ends with this prompt. */
  readonly thread: string | undefined;
}

/** A stage, ready to be run. */
export interface StageParts {
  readonly stage: Stage;
  readonly pipelineName: string;
  /** Names that prompts may hold as `$name`. */
  readonly params: readonly string[];
  readonly ways: Ways;
  /** Where it jumps if it fails and no edge takes that. */
  readonly jumps: readonly string[];
  /** How often it may jump to each of them. */
  readonly jumpsMax: number;
  readonly retry: RetryPolicy;
  readonly timeoutMs: number | undefined;
  /** How much of the run its prompt is told, by the edge that led to it. */
  readonly tellingOf: (edge: string | undefined) => Telling;
  /** Told of each stage that ended; in a run that goes on after a crash, of some of them again. */
  readonly watch: ((ending: StageEnding) => void) | undefined;
  /** Why something it reaches for is not granted; undefined: it is. */
  readonly withheld: ((need: Need) => string | undefined) | undefined;
}

/** What a handler works with. */
export interface StageContext {
  /** Its `step`, `ask` and `run` are recorded; only handlers without `effect` may call them. */
  readonly ctx: NodeContext;
  readonly parts: StageParts;
  readonly attributes: Stage['attributes'];
  /** A value of the context. */
  readonly value: (key: string) => unknown;
  /** Of a handler with `effect`: the step that it is run in. */
  readonly step?: StepContext;
  /** What `asks` of the handler gave. */
  readonly asking?: Asking;
}

/** The code behind a type of stage. */
export interface StageHandler {
  /**
   * With it the handler is run as one recorded step of that class, and tried again as its stage says. Without it the handler is run
   * directly, and records what it does itself.
   */
  readonly effect?: 'read' | 'write' | 'external';
  /** A repetition under the same key has no second effect. Default false. */
  readonly isIdempotent?: (stage: Stage) => boolean;
  /** What it reaches for. */
  readonly needs?: (stage: Stage) => readonly Need[];
  /** Of stages that ask a model: what is asked. It is called before the step, and may have steps of its own. */
  readonly asks?: (stage: StageContext) => Promise<Asking> | Asking;
  /** @throws anything: the stage has failed, and is tried again if attempts are left */
  readonly run: (stage: StageContext) => Promise<StageOutcome> | StageOutcome;
}
