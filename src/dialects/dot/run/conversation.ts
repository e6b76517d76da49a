/** Threads: stages under `full` go on in one conversation, whose turns are kept in the run's state as they were said. */
import type { ModelMessage } from '../../../graph/contracts/model-contract.ts';
import type { StateView } from '../../../graph/contracts/node-contract.ts';

/** What one stage asked in a thread, and what was answered. */
export interface Turn {
  readonly thread: string;
  readonly stage: string;
  /** As it was sent. */
  readonly prompt: string;
  readonly answer: string;
  /** Stages that had ended in the run before it. */
  readonly after: number;
}

/** In the input of a branch: the turns that were there where the branch began. */
export const inheritedTurnsKey = '~conversation';

/** Characters of what is sent of a conversation; of a longer one the oldest turns are left out. */
const charactersMax = 400_000;

/** All turns of a run, oldest first; those from outside a branch before its own. */
export function turnsOf({ diagnostics, input }: StateView): readonly Turn[] {
  const inherited = (input as Readonly<Record<string, unknown>> | undefined)?.[inheritedTurnsKey] ?? [];
  const own = diagnostics['conversation'] ?? [];
  return [...(inherited as readonly Turn[]), ...(own as readonly Turn[])];
}

/** What a branch inherits: of the stages that ended before it began, the branch has no count. */
export function inheritedTurns(state: StateView): Readonly<Record<string, unknown>> {
  const turns = turnsOf(state);
  return turns.length === 0 ? {} : { [inheritedTurnsKey]: turns.map((turn) => ({ ...turn, after: -1 })) };
}

/** A thread so far, as far as it is sent. */
export interface Thread {
  readonly name: string;
  readonly messages: readonly ModelMessage[];
  /** Its newest turn. */
  readonly last: Turn | undefined;
}

/** @param named - the thread that the file names; undefined: the one in which the newest turn was, else one of the stage's own */
export function openThread(state: StateView, named: string | undefined, stage: string): Thread {
  const turns = turnsOf(state);
  const name = named ?? turns.at(-1)?.thread ?? stage;
  const own = turns.filter(({ thread }) => thread === name);
  let size = 0;
  const kept = own
    .toReversed()
    .filter(({ prompt, answer }) => (size += prompt.length + answer.length) <= charactersMax);
  const messages = kept.toReversed().flatMap(({ prompt, answer }): ModelMessage[] => [
    { role: 'user', content: prompt },
    { role: 'assistant', content: answer },
  ]);
  return { name, messages, last: own.at(-1) };
}
