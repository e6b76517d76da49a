/** Interactive blocks: the class that users extend to make a block that asks, and what its methods return. */
import type { EffectClass, NodeContext, Question } from '../../../graph/contracts/node-contract.ts';
import type { InputFault, InputField, Inputs, Need, OutputField } from '../../../graph/contracts/node-type.ts';

/** The question of a block. `metadata` is recorded with the question and passed to `resume`, so it must be storable (C2). */
export type PauseQuestion = Omit<Question, 'name'>;

const pauseBrand: unique symbol = Symbol.for('cairn.pause');
const refusalBrand: unique symbol = Symbol.for('cairn.refusal');

/** A question, made by {@link pause}. */
export interface Pause {
  readonly [pauseBrand]: PauseQuestion;
}

/** A refused answer, made by {@link refuse}. */
export interface Refusal {
  readonly [refusalBrand]: string;
}

/** Asks a question. The run waits for an answer, and `resume` is called with it (W1). */
export function pause(question: PauseQuestion): Pause {
  return { [pauseBrand]: question };
}

/**
 * Refuses an answer: the same question is asked again, preceded by the reason, with the same metadata. Where a schema or choices can
 * express the rule, use those: an answer that does not fit them is refused at once, and the question stays open (W3).
 */
export function refuse(reason: string): Refusal {
  return { [refusalBrand]: reason };
}

/** Fields of a block by name. */
export type BlockOutput = Readonly<Record<string, unknown>>;

/** The context passed to a block's methods. */
export interface InteractiveContext extends Pick<
  NodeContext,
  'runId' | 'nodeId' | 'nodePath' | 'visit' | 'state' | 'secrets' | 'blobs' | 'files' | 'models' | 'emit'
> {
  readonly inputs: Inputs;
  /** The same for every attempt of this method call (X1). */
  readonly idempotencyKey: string;
  readonly attempt: number;
  /** Aborted on cancel and timeout, and when the claim is lost. */
  readonly signal: AbortSignal;
}

/**
 * A block that asks a person or a program, any number of times. `execute` begins. `resume` is called with each answer and the metadata of
 * its question. Each method call is recorded (X4), so after a crash or a long pause the block goes on from the last one. If a method
 * throws, the block fails; resuming the run calls that method again, with the recorded answer.
 * @typeParam Kept - the type of the questions' metadata
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a subclass says it once, for both its questions and their answers.
export abstract class InteractiveBlock<Kept = unknown> {
  /** The block's `type` in files. */
  abstract readonly name: string;
  /** One line for readers. */
  abstract readonly description: string;
  /** The block's version; part of the hash of every graph that uses it. Default `1`. */
  readonly version?: string;
  readonly inputs: Readonly<Record<string, InputField>> = {};
  readonly outputs: Readonly<Record<string, OutputField>> = {};
  /**
   * Effect class of `execute` and `resume`, apart from asking. Default `read`. Calls of a `pure` block's methods are not recorded, only the
   * answers: the methods are called again at every resume.
   */
  readonly effect: Exclude<EffectClass, 'human'> = 'read';
  /**
   * Whether a repeated call with the same key has no second effect. If so, a call in doubt is repeated without asking a person. Default
   * false.
   */
  readonly idempotent?: boolean;
  readonly needs?: (inputs: Inputs) => readonly Need[];
  /** Faults of the inputs that their schemas cannot express. */
  readonly check?: (inputs: Inputs) => readonly InputFault[];

  /**
   * Checks an output that is set in a fork, after the schemas in `outputs`. Returns why no answer would give it, or undefined if it fits.
   */
  readonly outputFault?: (output: BlockOutput, inputs: Inputs) => string | undefined;

  /** Begins. Returns the block's output, or a question. */
  abstract execute(ctx: InteractiveContext): BlockOutput | Pause | Promise<BlockOutput | Pause>;

  /**
   * Continues with an answer. Returns the block's output, the next question, or a refusal of the answer.
   * @param answer - the answer as it was given; see {@link textOfAnswer}
   * @param pauseMetadata - metadata of the question that was answered
   */
  abstract resume(
    ctx: InteractiveContext,
    answer: unknown,
    pauseMetadata: Kept,
  ): BlockOutput | Pause | Refusal | Promise<BlockOutput | Pause | Refusal>;
}

/** What a method returned, as data that can be recorded. */
export type Turn =
  { readonly output: BlockOutput } | { readonly question: PauseQuestion } | { readonly refused: string };

/** Converts what a method returned. */
export function turnOf(returned: BlockOutput | Pause | Refusal): Turn {
  if (pauseBrand in returned) return { question: returned[pauseBrand] };
  if (refusalBrand in returned) return { refused: returned[refusalBrand] };
  return { output: returned };
}

/** An answer as text. Clients that send JSON may send a number or boolean where a text is meant. */
export function textOfAnswer(answer: unknown): string {
  if (typeof answer === 'string') return answer;
  if (typeof answer === 'number' || typeof answer === 'boolean' || typeof answer === 'bigint') return String(answer);
  return answer === null || answer === undefined ? '' : JSON.stringify(answer);
}
