/** How the loop and a model understand each other: what a request holds, and what an answer means. Everything else of the loop is the same in each mode. */
import type {
  ModelCall,
  ModelMessage,
  ModelResponse,
  ModelTool,
  ProviderTool,
  ToolCallPart,
  ToolResultPart,
} from '../../graph/contracts/model-contract.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';

/** `native`: the provider's own tool calls. The others are for models that have none: JSON that fits a schema, tags in a text, or lines of a text. */
export type ModeName = 'native' | 'json' | 'xml' | 'react';

/** What the model may call, and what its last word must look like. */
export interface Offer {
  readonly tools: readonly (ModelTool | ProviderTool)[];
  /** Of the last word; undefined: it is a text. */
  readonly answer: JsonSchema | undefined;
}

/** The model's last word. `value`: the mode has read it as JSON; it may still be a text that holds the value asked for. */
export type LastWord = { readonly text: string } | { readonly value: unknown };

/** One answer of a model, as the loop takes it: calls, or a last word, or neither and why. */
export interface Turn {
  /** The answer as it stands in the conversation from now on: what the model made up of results is not in it. */
  readonly message: ModelMessage;
  readonly calls: readonly ToolCallPart[];
  readonly last?: LastWord;
  /** What cannot be read of it: the model is told. */
  readonly fault?: string;
}

/** What a call gave, as the model is told. */
export interface ToldResult {
  readonly output: unknown;
  /** With images, for a provider that takes them. */
  readonly parts?: NonNullable<ToolResultPart['parts']>;
  readonly isError?: true;
}

export interface Mode {
  /** What every request holds beside model, messages and settings. */
  readonly request: Pick<ModelCall, 'tools' | 'schema'>;
  /** What the system message says of tools and form; undefined: the provider tells the model itself. */
  readonly guide: string | undefined;
  /** @param loop - numbers the calls of a mode in which the model gives them no id */
  readonly read: (response: ModelResponse, loop: number) => Turn;
  /** The message that tells the results, in the order of the calls. */
  readonly tell: (calls: readonly ToolCallPart[], results: readonly ToldResult[]) => ModelMessage;
}
