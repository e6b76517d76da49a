/** The opening messages of a conversation. What the mode says about tools and answer format is added to the system message. */
import type { ModelMessage } from '../graph/contracts/model-contract.ts';

export interface OpenedConversation {
  /** The system messages at the beginning. */
  readonly head: readonly ModelMessage[];
  readonly rest: readonly ModelMessage[];
  /** Index in the first message's text at which the mode's part begins; 0 if that is all of it, or if there is none. */
  readonly guideFrom: number;
}

export function openWith(asked: readonly ModelMessage[], guide: string | undefined): OpenedConversation {
  const first = asked.findIndex(({ role }) => role !== 'system');
  const end = first < 0 ? asked.length : first;
  const [system, ...others] = asked.slice(0, end);
  const rest = asked.slice(end);
  if (guide === undefined) return { head: asked.slice(0, end), rest, guideFrom: 0 };
  if (system?.role !== 'system') return { head: [{ role: 'system', content: guide }], rest, guideFrom: 0 };
  const guideFrom = system.content.length + 2;
  return { head: [{ ...system, content: `${system.content}\n\n${guide}` }, ...others], rest, guideFrom };
}
