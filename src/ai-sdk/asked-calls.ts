/** The tool calls that the models of a conversation requested. Each may be made once. Equal calls are told apart by their order (A4). */
import { answerCallsMax } from '../agents/modes/read-turn.ts';
import type { RecordedAnswer } from './recorded-answer.ts';

export class AskedCalls {
  /** For each call, by the provider's id: its number among the equal calls, counted from 1. */
  readonly #ordinals = new Map<string, number>();
  readonly #decided = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** For each call of an answer that makes too many: how many it makes. */
  readonly #tooMany = new Map<string, number>();

  note({ content }: RecordedAnswer): void {
    const calls = content.filter((part) => part.type === 'tool-call');
    const own = calls.filter(({ providerExecuted }) => providerExecuted !== true);
    if (own.length > answerCallsMax) for (const { toolCallId } of own) this.#tooMany.set(toolCallId, own.length);
    for (const part of calls) {
      const call = `${part.toolName} ${part.input}`;
      const ordinal = (this.#counts.get(call) ?? 0) + 1;
      this.#counts.set(call, ordinal);
      this.#ordinals.set(part.toolCallId, ordinal);
    }
  }

  /** The number of this call among equal ones; undefined if no model of the conversation requested it. */
  ordinalOf(id: string): number | undefined {
    return this.#ordinals.get(id);
  }

  /** Why this call is not made, if its answer makes too many: none of them is (A5). */
  refusalOf(id: string): string | undefined {
    const count = this.#tooMany.get(id);
    if (count === undefined) return undefined;
    return `not made: the answer makes ${count} calls, and ${answerCallsMax} at most are made of one; make fewer at a time`;
  }

  /** Notes that whether to ask a person about this call was decided already, outside of the tool. */
  decide(id: string): void {
    this.#decided.add(id);
  }

  isDecided(id: string): boolean {
    return this.#decided.has(id);
  }

  /** Marks the call as made, so that it cannot be made again. @returns its number among equal calls */
  take(id: string): number | undefined {
    const ordinal = this.#ordinals.get(id);
    this.#ordinals.delete(id);
    return ordinal;
  }
}
