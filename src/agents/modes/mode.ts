/**
 * How the agent loop and a model communicate: what a request contains, and how an answer is read. The rest of the loop is the same in every
 * mode.
 */
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

/**
 * `native`: the provider's own tool calls. The others are for models without those: JSON that fits a schema (`json`), tags in a text
 * (`xml`), lines of a text (`react`).
 */
export type ModeName = 'native' | 'json' | 'xml' | 'react';

/** The tools that the model may call, and the form of its final answer. */
export interface Offer {
  readonly tools: readonly (ModelTool | ProviderTool)[];
  /** JSON Schema of the final answer; undefined if it is a text. */
  readonly answer: JsonSchema | undefined;
}

/** The model's final answer. `value` is set if the mode has parsed it; it may still be a text that contains the requested JSON. */
export type LastWord = { readonly text: string } | { readonly value: unknown };

/** An answer of a model as the loop sees it: tool calls, or a final answer, or a fault. */
export interface Turn {
  /** The answer as it is kept in the conversation, without results that the model invented. */
  readonly message: ModelMessage;
  readonly calls: readonly ToolCallPart[];
  readonly last?: LastWord;
  /** Why the answer cannot be used. The model is told. */
  readonly fault?: string;
  /** What the model is told in place of a fault, in full. */
  readonly said?: string;
  /** Whether the answer was cut off, so that nothing of it is taken. */
  readonly isCut?: true;
}

/** The result of a call in the form that the model is told. */
export interface ToldResult {
  readonly output: unknown;
  /** The result with images, for providers that accept them. */
  readonly parts?: NonNullable<ToolResultPart['parts']>;
  readonly isError?: true;
}

export interface Mode {
  /** What each request contains in addition to model, messages and settings. */
  readonly request: Pick<ModelCall, 'tools' | 'schema'>;
  /** What the system message says about tools and answer format; undefined if the provider tells the model. */
  readonly guide: string | undefined;
  /** Reads an answer. @param loop - used to number calls, in modes where the model gives them no id */
  readonly read: (response: ModelResponse, loop: number) => Turn;
  /** Makes the message with the results, in the order of the calls. */
  readonly tell: (calls: readonly ToolCallPart[], results: readonly ToldResult[]) => ModelMessage;
}
