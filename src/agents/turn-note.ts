/** What a model call's record holds beside the answer: what the model was told before it, as far as no other record of the node holds that. */
import type { ModelMessage } from '../graph/contracts/model-contract.ts';
import type { WrittenFile } from '../ports/file-store.ts';
import type { ModeName } from './modes/mode.ts';

/** How a conversation began, or from where it goes on after a summary. */
export interface OpeningNote {
  readonly mode: ModeName;
  readonly messages: readonly ModelMessage[];
  /** Where in the first system message the part begins that tells of tools and form. */
  readonly guideFrom?: number;
  readonly context?: unknown;
}

/** What a call gave: it is here, or the record of this name holds it. */
export interface ResultNote {
  readonly call: string;
  /** The step, the question or the child run that the call is. Absent: nothing was begun for it. */
  readonly from?: string;
  readonly output?: unknown;
  readonly isError?: true;
  /** The model was shown the image that it is. */
  readonly isShown?: true;
  /** Equal calls take it. */
  readonly isKept?: true;
  /** It was taken from an equal call. */
  readonly isCached?: true;
}

export interface TurnNote {
  readonly opening?: OpeningNote;
  readonly results?: readonly ResultNote[];
  /** What the loop said to the model: that its answer does not do. */
  readonly text?: string;
  /** How many messages after the system messages were not sent. */
  readonly left?: number;
}

/** What `retire` keeps of a conversation that was told in short. */
export interface KeptConversation {
  readonly opening: OpeningNote;
  /** What comes after the system messages; `replies` are the places of those that answer the one before. */
  readonly messages: readonly ModelMessage[];
  readonly replies: readonly number[];
  readonly loop: number;
  readonly faulty: number;
  readonly repairs: number;
  readonly tools: KeptTools;
  /** What servers offered, as it was agreed to. */
  readonly served?: KeptOffer;
}

/** The lists of tools of MCP servers, by server. */
export type KeptOffer = Readonly<Record<string, readonly unknown[]>>;

/** What is known of tools that later calls need. */
export interface KeptTools {
  /** Calls made, of tools that have a bound. */
  readonly counts: Readonly<Record<string, number>>;
  /** Results of tools whose equal calls take the first one's, by the call's name. */
  readonly cache: Readonly<Record<string, unknown>>;
  /** Files written, the newest of each path. */
  readonly files?: readonly WrittenFile[];
}
