/** One question to a model, and its answer: the conversation of an agent that has no tools. */
import { CairnError } from '../../errors.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { converse, type LoopOptions } from '../agent-loop.ts';
import { openingOf, type Opening } from '../prompt.ts';
import { createToolBox } from '../tool-box.ts';

const noTools = createToolBox({});
/** An answer, and two repairs of it. */
const callsMax = 3;

/** @returns the answer: a text, or a value that fits the form @throws what `converse` throws */
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

/** @throws CONFIG_INVALID it is no name */
export function checkModel(builder: string, model: unknown): void {
  if (typeof model !== 'string' || model === '')
    throw new CairnError('CONFIG_INVALID', { reason: `${builder}: model must be the name of a model` });
}
