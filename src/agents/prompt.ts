/** The messages with which a conversation begins, computed from a node's configuration and the state. */
import { CairnError } from '../errors.ts';
import type { ModelMessage } from '../graph/contracts/model-contract.ts';
import type { StateView } from '../graph/contracts/node-contract.ts';
import type { Computed } from '../nodes/draft/typed-context.ts';
import { kindOf, messagesFault } from './messages-fault.ts';
import { isPlainObject } from '../state/values/plain.ts';

/** A text, or a list of messages. */
export type Prompt = string | readonly ModelMessage[];

/** The part of a node's configuration that gives the opening messages. */
export interface Opening<S extends StateView = StateView> {
  /** The system message. */
  readonly instructions?: Computed<string, S>;
  /** Default: the run's input if it is a text, else its field `prompt`. */
  readonly prompt?: Computed<Prompt, S>;
}

/** Computes the opening messages. @throws CONFIG_INVALID there is no prompt */
export function openingOf(
  { instructions, prompt }: Opening,
  { state }: { readonly state: StateView },
): readonly ModelMessage[] {
  const said = typeof instructions === 'function' ? instructions({ state }) : instructions;
  const asked = typeof prompt === 'function' ? prompt({ state }) : (prompt ?? promptOf(state.input));
  if (said !== undefined && typeof said !== 'string') refuse(`instructions gave ${kindOf(said)}, not a text`);
  const fault = typeof asked === 'string' ? undefined : messagesFault(asked);
  if (fault !== undefined) refuse(`prompt gave ${fault}`);
  const system: readonly ModelMessage[] = said === undefined || said === '' ? [] : [{ role: 'system', content: said }];
  return [...system, ...(typeof asked === 'string' ? [{ role: 'user', content: asked } as const] : asked)];
}

function promptOf(input: unknown): Prompt {
  if (typeof input === 'string') return input;
  const prompt = isPlainObject(input) ? input['prompt'] : undefined;
  if (typeof prompt === 'string') return prompt;
  return refuse('there is no prompt for the model: give `prompt`, or start the run with { prompt: "…" }');
}

function refuse(reason: string): never {
  throw new CairnError('CONFIG_INVALID', { reason });
}
