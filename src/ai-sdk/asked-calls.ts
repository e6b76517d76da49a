/** The tool calls that models of a conversation asked for: each may be made once, and equal ones are told apart by the order in which they were asked for (A4). */
import type { RecordedAnswer } from './recorded-answer.ts';

export class AskedCalls {
  /** How many equal calls came before it, itself included; by the provider's id of the call. */
  readonly #ordinals = new Map<string, number>();
  readonly #decided = new Set<string>();
  readonly #counts = new Map<string, number>();

  note({ content }: RecordedAnswer): void {
    for (const part of content) {
      if (part.type !== 'tool-call') continue;
      const call = `${part.toolName} ${part.input}`;
      const ordinal = (this.#counts.get(call) ?? 0) + 1;
      this.#counts.set(call, ordinal);
      this.#ordinals.set(part.toolCallId, ordinal);
    }
  }

  /** Which of the equal calls this is. Undefined: no model of the conversation asked for it. */
  ordinalOf(id: string): number | undefined {
    return this.#ordinals.get(id);
  }

  /** Whether a person is asked about the call was decided outside of its tool. */
  decide(id: string): void {
    this.#decided.add(id);
  }

  isDecided(id: string): boolean {
    return this.#decided.has(id);
  }

  /** Takes the call: nobody can take it again. */
  take(id: string): number | undefined {
    const ordinal = this.#ordinals.get(id);
    this.#ordinals.delete(id);
    return ordinal;
  }
}
