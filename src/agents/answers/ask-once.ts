/** Asks a model one question: a conversation without tools. */
import { CairnError } from '../../errors.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { converse, type LoopOptions } from '../agent-loop.ts';
import { openingOf, type Opening } from '../prompt.ts';
import { createToolBox } from '../tools/tool-box.ts';

const noTools = createToolBox({});
/** The most model calls: the answer, and two repairs of it. */
const callsMax = 3;

/**
 * @returns the answer: a text, or a value that fits the form
 * @throws the errors of `converse`
 */
export function askOnce(
  ctx: NodeContext,
  opening: Opening,
  options: Pick<LoopOptions, 'settings' | 'form' | 'steps'>,
): Promise<unknown> {
  return converse(ctx, openingOf(opening, ctx), {
    ...options,
    box: noTools,
    servers: [],
    allow: [],
    loopsMax: callsMax,
    history: {},
  });
}

/** @throws CONFIG_INVALID `model` is not a name */
export function checkModel(builder: string, model: unknown): void {
  if (typeof model !== 'string' || model === '')
    throw new CairnError('CONFIG_INVALID', { reason: `${builder}: model must be the name of a model` });
}
