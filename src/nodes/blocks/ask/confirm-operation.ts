/** The block ConfirmOperation: asks a yes-or-no question. */
import type { EffectClass, NodeContext, Question } from '../../../graph/contracts/node-contract.ts';
import type {
  InputFault,
  InputField,
  Inputs,
  Need,
  OutputField,
  NodeType,
  TypedNodeContext,
} from '../../../graph/contracts/node-type.ts';
import type { ModelAccess } from '../../../graph/contracts/model-messages.ts';
import { askingInputs, askingOf } from './asking-inputs.ts';
import { SecretReference } from '../../../graph/secret-reference.ts';
import { isPlainObject } from '../../../state/values/plain-object.ts';
import { mapLeaves } from '../../draft/computed.ts';
import { requireText, textField } from '../block-options.ts';

// Interactive blocks: the class that users extend to make a block that asks, and what its methods return.

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
export abstract class InteractiveBlock<Saved = unknown> {
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
   * @param answer - the answer as the person wrote it; see {@link textOfAnswer}
   * @param pauseMetadata - metadata of the question that was answered
   */
  abstract resume(
    ctx: InteractiveContext,
    answer: unknown,
    pauseMetadata: Saved,
  ): BlockOutput | Pause | Refusal | Promise<BlockOutput | Pause | Refusal>;
}

/** What a method returned, as data that can be recorded. */
export type Turn =
  | { readonly output: BlockOutput }
  | { readonly question: PauseQuestion }
  | { readonly refused: string };

/** Converts what a method returned. */
function turnOf(returned: BlockOutput | Pause | Refusal): Turn {
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

// Makes a node type of an interactive block. Its method calls are recorded, and its questions become waits.

type Call = (ctx: InteractiveContext) => BlockOutput | Pause | Refusal | Promise<BlockOutput | Pause | Refusal>;

/** Makes a node type of effect class `human`, for use together with the built-in ones. */
export function interactiveNodeType(block: InteractiveBlock): NodeType {
  const { name, version, description, inputs, outputs, needs, check, outputFault } = block;
  return {
    name,
    description,
    inputs: { ...askingInputs, ...inputs },
    outputs,
    effect: 'human',
    ...(version !== undefined && { version }),
    ...(needs !== undefined && { needs: (inputs) => needs.call(block, inputs) }),
    ...(check !== undefined && { check: (inputs) => check.call(block, inputs) }),
    ...(outputFault !== undefined && { outputFault: (output, inputs) => outputFault.call(block, output, inputs) }),
    run: (ctx) => converse(block, ctx),
  };
}

async function converse(block: InteractiveBlock, ctx: TypedNodeContext): Promise<BlockOutput> {
  // The input of a step is hashed and may be stored, so secrets are replaced by their names.
  const inputs = mapLeaves(ctx.inputs, (leaf) => (leaf instanceof SecretReference ? leaf.text : leaf));
  let turn = await take(block, ctx, 'execute', { inputs }, (own) => block.execute(own));
  let pending: PauseQuestion | undefined;
  let refused = '';
  for (;;) {
    if ('output' in turn) return turn.output;
    if ('question' in turn) [pending, refused] = [turn.question, ''];
    else refused = turn.refused;
    if (pending === undefined) throw new TypeError(`${block.name}: execute refused an answer before there was one`);
    const { prompt, metadata } = pending;
    const asking = askingOf(ctx.inputs, block.inputs);
    const answer = await ctx.ask({
      ...pending,
      ...asking,
      prompt: refused === '' ? prompt : `${refused}\n\n${prompt}`,
    });
    turn = await take(block, ctx, 'resume', { inputs, answer, metadata }, (own) => block.resume(own, answer, metadata));
  }
}

/** Calls one method. The call is recorded as a step, unless the block is `pure`. */
async function take(
  block: InteractiveBlock,
  ctx: TypedNodeContext,
  name: 'execute' | 'resume',
  input: unknown,
  call: Call,
): Promise<Turn> {
  const { effect, idempotent = false } = block;
  if (effect === 'pure') return turnOf(await call(contextOf(ctx, ctx)));
  return ctx.step(name, { effect, idempotent, input, readAnswer: turnOfAnswer }, async (step) =>
    turnOf(await call(contextOf(ctx, step))),
  );
}

/** If the call was in doubt and a person says that it happened, what they say is the block's output; if they do not say, that is empty. */
function turnOfAnswer(answer: unknown): Turn {
  return isTurn(answer) ? answer : { output: isPlainObject(answer) ? answer : {} };
}

function isTurn(taken: unknown): taken is Turn {
  return isPlainObject(taken) && ['output', 'question', 'refused'].some((word) => Object.hasOwn(taken, word));
}

function contextOf(
  ctx: TypedNodeContext,
  { idempotencyKey, attempt, signal }: Pick<InteractiveContext, 'idempotencyKey' | 'attempt' | 'signal'>,
): InteractiveContext {
  const { runId, nodeId, nodePath, visit, state, secrets, blobs, files, inputs } = ctx;
  const emit: InteractiveContext['emit'] = (event, options) => ctx.emit(event, options);
  const models: ModelAccess = {
    generate: (call, options) => ctx.models.generate(call, { idempotencyKey, signal, ...options }),
    embed: (call, options) => ctx.models.embed(call, { idempotencyKey, signal, ...options }),
    rerank: (call, options) => ctx.models.rerank(call, { idempotencyKey, signal, ...options }),
    transcribe: (call, options) => ctx.models.transcribe(call, { idempotencyKey, signal, ...options }),
    generateImages: (call, options) => ctx.models.generateImages(call, { idempotencyKey, signal, ...options }),
  };
  const own = { models, emit, idempotencyKey, attempt, signal };
  return { runId, nodeId, nodePath, visit, state, secrets, blobs, files, inputs, ...own };
}

const confirmations = new Set(['yes', 'y', 'true', 'confirm', 'approved']);

const isYes = (response: string): boolean => confirmations.has(response.trim().toLowerCase());

class ConfirmOperation extends InteractiveBlock {
  override readonly name = 'ConfirmOperation';
  override readonly description = 'Asks to confirm an operation. Anything but a yes is a no.';
  override readonly effect = 'pure';
  override readonly inputs: NodeType['inputs'] = {
    message: textField('What is to be confirmed.', { isRequired: true }),
    operation: textField('A name for the operation.', { isRequired: true }),
    details: { schema: { type: 'object' }, description: 'More to know, shown with the question.', default: {} },
  };
  override readonly outputs: NodeType['outputs'] = {
    confirmed: {
      schema: { type: 'boolean' },
      description: 'Whether the answer was yes, y, true, confirm or approved, letter case and spaces around it aside.',
    },
    response: { schema: { type: 'string' }, description: 'The answer as text.' },
  };

  override readonly outputFault = ({ confirmed, response }: BlockOutput): string | undefined =>
    isYes(response as string) === confirmed ? undefined : 'confirmed must be what response says';

  override execute({ inputs }: InteractiveContext): Pause {
    const { details = {} } = inputs;
    const operation = requireText(inputs, 'operation');
    return pause({
      prompt: `Confirm operation: ${requireText(inputs, 'message')}\n\nRespond with 'yes' or 'no'`,
      choices: ['yes', 'no'],
      matching: 'open',
      schema: { type: ['string', 'boolean'] },
      metadata: { operation, details },
    });
  }

  override resume(_: InteractiveContext, answer: unknown): BlockOutput {
    const response = textOfAnswer(answer);
    return { confirmed: isYes(response), response };
  }
}

export const confirmOperation: NodeType = interactiveNodeType(new ConfirmOperation());

// The block Prompt: asks for any text.

/** Since text is among the types, a typed text such as `{"a": 1}` stays as it is, and is not parsed. */
const anyAnswer = { type: ['string', 'number', 'boolean', 'object', 'array', 'null'] };

class Prompt extends InteractiveBlock {
  override readonly name = 'Prompt';
  override readonly description = 'Asks, and takes any answer as text.';
  override readonly effect = 'pure';
  override readonly inputs: NodeType['inputs'] = {
    prompt: textField('What is asked.', { isRequired: true }),
    operation: textField('A name for what the answer is for, shown with the question.'),
    details: { schema: { type: 'object' }, description: 'More to know, shown with the question.' },
  };
  override readonly outputs: NodeType['outputs'] = {
    response: { schema: { type: 'string' }, description: 'The answer, untouched. May be empty.' },
  };

  override execute({ inputs }: InteractiveContext): Pause {
    const metadata = Object.fromEntries(
      ['operation', 'details'].filter((name) => inputs[name] !== undefined).map((name) => [name, inputs[name]]),
    );
    const hasMetadata = Object.keys(metadata).length > 0;
    return pause({ prompt: requireText(inputs, 'prompt'), schema: anyAnswer, ...(hasMetadata && { metadata }) });
  }

  override resume(_: InteractiveContext, answer: unknown): BlockOutput {
    return { response: textOfAnswer(answer) };
  }
}

export const prompt: NodeType = interactiveNodeType(new Prompt());
