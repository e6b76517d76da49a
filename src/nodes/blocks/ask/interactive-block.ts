/** Blocks that ask: the class a user extends, and what its methods return. */
import type { EffectClass, NodeContext, Question } from '../../../graph/contracts/node-contract.ts';
import type { InputFault, InputField, Inputs, Need, OutputField } from '../../../graph/contracts/node-type.ts';

/** What a block asks. `metadata` is recorded with the question and handed to `resume`, so it must be storable (C2). */
export type PauseQuestion = Omit<Question, 'name'>;

const pauseBrand: unique symbol = Symbol.for('cairn.pause');
const refusalBrand: unique symbol = Symbol.for('cairn.refusal');

/** Made by {@link pause}. */
export interface Pause {
  readonly [pauseBrand]: PauseQuestion;
}

/** Made by {@link refuse}. */
export interface Refusal {
  readonly [refusalBrand]: string;
}

/** Asks: the run waits for an answer, which `resume` is called with (W1). */
export function pause(question: PauseQuestion): Pause {
  return { [pauseBrand]: question };
}

/**
 * Asks the same question again, headed by the reason; its metadata is kept. What a schema or choices can say is better said with them:
 * an answer that misses those is refused at the door and the question stays open (W3).
 */
export function refuse(reason: string): Refusal {
  return { [refusalBrand]: reason };
}

/** Fields of a block by name. */
export type BlockOutput = Readonly<Record<string, unknown>>;

/** What the methods of a block are handed. */
export interface InteractiveContext extends Pick<
  NodeContext,
  'runId' | 'nodeId' | 'nodePath' | 'visit' | 'state' | 'secrets' | 'blobs' | 'files' | 'models' | 'emit'
> {
  readonly inputs: Inputs;
  /** The same for every attempt of this call of the method (X1). */
  readonly idempotencyKey: string;
  readonly attempt: number;
  /** Aborted on cancel, timeout, lost claim. */
  readonly signal: AbortSignal;
}

/**
 * A block that asks a person or a model, any number of times. `execute` begins; `resume` is called with each answer and the metadata of
 * its question. Each call is recorded (X4): after a crash or a long pause the block goes on from the last of them. A method that throws
 * fails the block; resuming the run calls it again, with the answer that is recorded.
 * @typeParam Kept - the metadata of its questions
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a subclass says it once, for both its questions and their answers.
export abstract class InteractiveBlock<Kept = unknown> {
  /** The `type` that files name. */
  abstract readonly name: string;
  /** One line. */
  abstract readonly description: string;
  /** Part of the hash of every graph that uses it. Default `1`. */
  readonly version?: string;
  readonly inputs: Readonly<Record<string, InputField>> = {};
  readonly outputs: Readonly<Record<string, OutputField>> = {};
  /**
   * What `execute` and `resume` do besides asking. Default `read`. Methods of a `pure` block are called again whenever the run is taken up,
   * and only the answers are recorded.
   */
  readonly effect: Exclude<EffectClass, 'human'> = 'read';
  /** A repeated call with the same key has no second effect, so one in doubt is made again without a question. Default false. */
  readonly isIdempotent?: boolean;
  readonly needs?: (inputs: Inputs) => readonly Need[];
  /** Faults of the inputs that their schemas cannot say. */
  readonly check?: (inputs: Inputs) => readonly InputFault[];

  /** Why an output that somebody sets in a fork is none that an answer gives; undefined: it fits. What `outputs` say is asked before. */
  readonly outputFault?: (output: BlockOutput, inputs: Inputs) => string | undefined;

  /** Begins. Returns the block's output, or a question. */
  abstract execute(ctx: InteractiveContext): BlockOutput | Pause | Promise<BlockOutput | Pause>;

  /**
   * Goes on with an answer. Returns the block's output, the next question, or a refusal of the answer.
   * @param answer - as it was given; see {@link textOfAnswer}
   * @param pauseMetadata - of the question that was answered
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

/** Tells questions and refusals from outputs. */
export function turnOf(returned: BlockOutput | Pause | Refusal): Turn {
  if (pauseBrand in returned) return { question: returned[pauseBrand] };
  if (refusalBrand in returned) return { refused: returned[refusalBrand] };
  return { output: returned };
}

/** An answer as text: doors that take JSON may hand over numbers and booleans where a text is meant. */
export function textOfAnswer(answer: unknown): string {
  if (typeof answer === 'string') return answer;
  if (typeof answer === 'number' || typeof answer === 'boolean' || typeof answer === 'bigint') return String(answer);
  return answer === null || answer === undefined ? '' : JSON.stringify(answer);
}
