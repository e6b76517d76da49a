/** Threads: stages with the fidelity `full` continue one conversation. Its turns are recorded in the run's state, word for word. */
import type { ModelMessage } from '../../../../graph/contracts/model-messages.ts';
import type { StateView } from '../../../../graph/contracts/node-contract.ts';

/** One prompt of a stage in a thread, and the answer. */
export interface Turn {
  readonly thread: string;
  readonly stage: string;
  /** The prompt as it was sent. */
  readonly prompt: string;
  readonly answer: string;
  /** Number of stages of the run that had ended before this turn. */
  readonly after: number;
}

/** Key in the input of a branch: the turns up to the point where the branch began. */
const inheritedTurnsKey = '~conversation';

/** Most characters of a conversation that are sent. The oldest turns of a longer one are omitted. */
const charactersMax = 400_000;

/** All turns of a run, oldest first. Those that a branch inherited come before its own. */
export function turnsOf({ diagnostics, input }: StateView): readonly Turn[] {
  const inherited = (input as Readonly<Record<string, unknown>> | undefined)?.[inheritedTurnsKey] ?? [];
  const own = diagnostics['conversation'] ?? [];
  return [...(inherited as readonly Turn[]), ...(own as readonly Turn[])];
}

/** The turns that a branch inherits. Their `after` is -1, since the branch does not count the stages that ended before it began. */
export function inheritedTurns(state: StateView): Readonly<Record<string, unknown>> {
  const turns = turnsOf(state);
  return turns.length === 0 ? {} : { [inheritedTurnsKey]: turns.map((turn) => ({ ...turn, after: -1 })) };
}

/** The part of a thread that is sent with the next prompt. */
export interface Thread {
  readonly name: string;
  readonly messages: readonly ModelMessage[];
  /** The newest turn of the thread. */
  readonly last: Turn | undefined;
}

/** @param named - thread that the file names. Undefined means that of the newest turn, or a new one named after the stage. */
export function openThread(state: StateView, named: string | undefined, stage: string): Thread {
  const turns = turnsOf(state);
  const name = named ?? turns.at(-1)?.thread ?? stage;
  const own = turns.filter(({ thread }) => thread === name);
  let size = 0;
  const fitting = own
    .toReversed()
    .filter(({ prompt, answer }) => (size += prompt.length + answer.length) <= charactersMax);
  const messages = fitting.toReversed().flatMap(({ prompt, answer }): ModelMessage[] => [
    { role: 'user', content: prompt },
    { role: 'assistant', content: answer },
  ]);
  return { name, messages, last: own.at(-1) };
}
