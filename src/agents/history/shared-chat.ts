/** A conversation of several nodes: a list in the state to which each appends its turn, and which all read (A45). */
import { isPlainObject } from '../../state/values/plain-object.ts';
import type { ModelMessage } from '../../graph/contracts/model-messages.ts';
import type { StateView } from '../../graph/contracts/node-contract.ts';

/** What one of them said. */
export interface ChatTurn {
  /** Who: an agent's node, or any name that a function gives, such as `user`. */
  readonly author: string;
  /** A text, or a value such as an answer that fits a schema. */
  readonly content: unknown;
}

/**
 * The turns as one of the authors is told them: its own are its answers, those of others begin with their names.
 * @param channel - name of the list in `scratch`
 */
export function turnsFor(
  author: string,
  channel: string,
  { scratch }: Pick<StateView, 'scratch'>,
): readonly ModelMessage[] {
  const turns = scratch[channel];
  if (!Array.isArray(turns)) return [];
  return turns.filter(isTurn).map((turn): ModelMessage => {
    const content = typeof turn.content === 'string' ? turn.content : JSON.stringify(turn.content ?? null);
    if (turn.author === author) return { role: 'assistant', content };
    return { role: 'user', content: `${turn.author}: ${content}` };
  });
}

const isTurn = (value: unknown): value is ChatTurn =>
  isPlainObject(value) && typeof value['author'] === 'string' && Object.hasOwn(value, 'content');
