/** The note recorded with each model call: what was sent to the model before it, as far as no other record of the node contains it. */
import type { ModelMessage } from '../graph/contracts/model-messages.ts';
import type { FileRef } from '../graph/file-ref.ts';
import type { WrittenFile } from '../ports/file-store.ts';
import type { ModeName } from './modes/text-modes.ts';

/** The parts of an agent by their names, each as a short hash: enough to tell which of them is another now. */
export type AgentParts = Readonly<Record<string, string>>;

/** Between the instructions in the first system message and what the mode adds to them. */
export const separator = '\n\n';

/** How a conversation began, or where it goes on after a summary. */
export interface OpeningNote {
  readonly mode: ModeName;
  readonly messages: readonly ModelMessage[];
  /** Index in the first system message at which the mode's part about tools and answer format begins. */
  readonly guideFrom?: number;
  readonly context?: unknown;
  /** What the agent was made of. Absent in older records. */
  readonly parts?: AgentParts;
}

/** What a call was the first to be made with, since the agent had changed. */
export interface ChangeNote {
  /** In words: `instructions`, `tool refund`. */
  readonly changes: readonly string[];
  /** What the agent was made of then. */
  readonly parts: AgentParts;
  /** The system messages from there on, and where the mode's part of them begins, if they are others. */
  readonly opening?: Pick<OpeningNote, 'messages' | 'guideFrom'>;
}

/** The result of a call: either here, or in the record named `from`. */
export interface ResultNote {
  readonly call: string;
  /** Name of the step, question or child run that the call was recorded as. Absent if none was begun for it. */
  readonly from?: string;
  /**
   * Of a child run: id of the node whose output is the result, or of several, or null if its artifacts are. Absent where that is the node of the tool's
   * name, and in older records, where artifacts are the result if there is no such node.
   */
  readonly node?: string | readonly string[] | null;
  readonly output?: unknown;
  /** All of the result, if the model was shown its two ends and no other record holds it. */
  readonly whole?: FileRef;
  readonly isError?: true;
  /** Whether the result is an image that the model was shown. */
  readonly isShown?: true;
  /** Whether equal calls get this result. */
  readonly isKept?: true;
  /** Whether it is the result of an earlier equal call. */
  readonly isCached?: true;
}

export interface TurnNote {
  readonly opening?: OpeningNote;
  readonly changed?: ChangeNote;
  readonly results?: readonly ResultNote[];
  /** What the loop itself sent to the model: why its answer could not be used. */
  readonly text?: string;
  /** How many of the last answers were cut off, and are no part of the conversation any more: the call asks anew for the first of them. */
  readonly anew?: number;
  /** How many messages after the system messages were not sent. */
  readonly left?: number;
}

/** What `retire` keeps of a conversation that was summarized. */
export interface SavedConversation {
  readonly opening: OpeningNote;
  /** The messages after the system messages. `replies` holds the indices of those that are replies to the message before them. */
  readonly messages: readonly ModelMessage[];
  readonly replies: readonly number[];
  readonly loop: number;
  /** Number of answers that were cut off and requested anew, which do not count as loops. */
  readonly anew?: number;
  readonly faulty: number;
  readonly repairs: number;
  readonly tools: SavedTools;
  /** The servers' tools that were agreed to. */
  readonly served?: SavedOffer;
}

/** Tools of MCP servers, by server. */
export type SavedOffer = Readonly<Record<string, readonly unknown[]>>;

/** What later tool calls need to know about earlier ones. */
export interface SavedTools {
  /** Number of calls, for tools with a limit. */
  readonly counts: Readonly<Record<string, number>>;
  /** Results of cacheable tools, by call name. */
  readonly cache: Readonly<Record<string, unknown>>;
  /** Files written: the newest version of each path. */
  readonly files?: readonly WrittenFile[];
}
