/** How a conversation opens: what a mode has to say of tools and form is a part of the system message. */
import type { ModelMessage } from '../graph/contracts/model-contract.ts';

export interface OpenedConversation {
  /** The system messages at the beginning. */
  readonly head: readonly ModelMessage[];
  readonly rest: readonly ModelMessage[];
  /** Where in the first message the guide begins; 0: it is all of it, or there is none. */
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
