/** Makes a node type of an interactive block. Its method calls are recorded, and its questions become waits. */
import type { ModelAccess } from '../../../graph/contracts/model-contract.ts';
import { SecretReference } from '../../../graph/secret-reference.ts';
import type { NodeType, TypedNodeContext } from '../../../graph/contracts/node-type.ts';
import { isPlainObject } from '../../../state/values/plain.ts';
import { mapLeaves } from '../../draft/map-leaves.ts';
import {
  turnOf,
  type InteractiveBlock,
  type InteractiveContext,
  type BlockOutput,
  type Pause,
  type PauseQuestion,
  type Refusal,
  type Turn,
} from './interactive-block.ts';

type Call = (ctx: InteractiveContext) => BlockOutput | Pause | Refusal | Promise<BlockOutput | Pause | Refusal>;

/** Makes a node type of effect class `human`, for use together with the built-in ones. */
export function interactiveNodeType(block: InteractiveBlock): NodeType {
  const { name, version, description, inputs, outputs, needs, check, outputFault } = block;
  return {
    name,
    description,
    inputs,
    outputs,
    effect: 'human',
    ...(version !== undefined && { version }),
    ...(needs !== undefined && { needs: (given) => needs.call(block, given) }),
    ...(check !== undefined && { check: (given) => check.call(block, given) }),
    ...(outputFault !== undefined && { outputFault: (output, given) => outputFault.call(block, output, given) }),
    run: (ctx) => converse(block, ctx),
  };
}

async function converse(block: InteractiveBlock, ctx: TypedNodeContext): Promise<BlockOutput> {
  // The input of a step is hashed and may be stored, so secrets are replaced by their names.
  const inputs = mapLeaves(ctx.inputs, (leaf) => (leaf instanceof SecretReference ? leaf.text : leaf));
  let turn = await take(block, ctx, 'execute', { inputs }, (own) => block.execute(own));
  let asked: PauseQuestion | undefined;
  let refused = '';
  for (;;) {
    if ('output' in turn) return turn.output;
    if ('question' in turn) [asked, refused] = [turn.question, ''];
    else refused = turn.refused;
    if (asked === undefined) throw new TypeError(`${block.name}: execute refused an answer before there was one`);
    const { prompt, metadata } = asked;
    const answer = await ctx.ask({ ...asked, prompt: refused === '' ? prompt : `${refused}\n\n${prompt}` });
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
  return ctx.step(name, { effect, idempotent, input, said: turnSaid }, async (step) =>
    turnOf(await call(contextOf(ctx, step))),
  );
}

/** If the call was in doubt and a person says that it happened, what they say is the block's output; if they do not say, that is empty. */
function turnSaid(given: unknown): Turn {
  return isTurn(given) ? given : { output: isPlainObject(given) ? given : {} };
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
  };
  const own = { models, emit, idempotencyKey, attempt, signal };
  return { runId, nodeId, nodePath, visit, state, secrets, blobs, files, inputs, ...own };
}
