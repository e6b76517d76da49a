/** What a tool is: data that is listed, checked and called alike for all of them. */
import type { WorkContext } from '../../operations/declare/operation.ts';
import type { Interview } from '../ask/interview.ts';
import type { JsonSchema } from '../ask/json-schema.ts';

/** What a client may think of a tool before it calls it. */
export interface ToolHints {
  readonly isReadOnly: boolean;
  readonly isDestructive: boolean;
  /** Calling it twice is calling it once. */
  readonly isIdempotent: boolean;
  /** It reaches beyond the store. */
  readonly isOpenWorld: boolean;
}

/** One call of a tool. */
export interface ToolCall {
  readonly context: WorkContext;
  /** Aborted when the client no longer waits. What was begun goes on. */
  readonly signal: AbortSignal;
  /** Tells the client how far a run is; undefined: it did not ask to be told. */
  readonly report: ((done: number, total: number, message: string) => void) | undefined;
  /** Asks the person behind the client; undefined: the client cannot, or is not to. */
  readonly interview: Interview | undefined;
  /** Writes a line for whoever runs the server. */
  readonly tell: (line: string) => void;
  /** Says to all clients that the list of resources is another. */
  readonly announceResources: () => void;
}

/** What a tool gives: plain JSON, shown as it is and as text. */
export interface ToolAnswer {
  readonly content: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** Said instead of an answer: the client is to put questions to its person and call again. */
export interface ToolQuestions {
  readonly inputRequired: object;
}

/** A tool of whatever input. */
export interface AnyTool {
  readonly name: string;
  readonly title: string;
  /** For the model that chooses among the tools. */
  readonly description: string;
  readonly input: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  readonly output: JsonSchema;
  readonly hints: ToolHints;
  /** Declared as a method, so that tools of any input fit one list. */
  run(call: ToolCall, input: object): Promise<ToolAnswer | ToolQuestions>;
}

export interface Tool<Input extends object = object> extends AnyTool {
  /** One schema for each part of the input: the table and the type cannot drift apart. */
  readonly input: { readonly [Name in keyof Input]-?: JsonSchema };
  readonly required: readonly (keyof Input & string)[];
  run(call: ToolCall, input: Input): Promise<ToolAnswer | ToolQuestions>;
}

export const readsOnly: ToolHints = { isReadOnly: true, isDestructive: false, isIdempotent: true, isOpenWorld: false };
/** Runs workflows: what they do is up to them. */
export const runsWorkflows: ToolHints = {
  isReadOnly: false,
  isDestructive: true,
  isIdempotent: false,
  isOpenWorld: true,
};

export const text = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  description,
  ...more,
});
