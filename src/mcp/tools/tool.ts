/** What a tool is: data from which all tools are listed, validated and called in the same way. */
import type { WorkContext } from '../../operations/declare/operation.ts';
import type { Interview } from '../ask/interview.ts';
import type { JsonSchema } from '../ask/json-schema.ts';

/** Properties of a tool that a client may consider before calling it. */
export interface ToolHints {
  readonly isReadOnly: boolean;
  readonly isDestructive: boolean;
  /** Whether calling it twice has the same effect as once. */
  readonly isIdempotent: boolean;
  /** Whether it acts on more than the store. */
  readonly isOpenWorld: boolean;
}

/** One call of a tool. */
export interface ToolCall {
  readonly context: WorkContext;
  /** Aborted when the client stops waiting. Work that has begun goes on. */
  readonly signal: AbortSignal;
  /** Reports progress to the client; undefined if the client did not ask for it. */
  readonly report: ((done: number, total: number, message: string) => void) | undefined;
  /** Asks the person behind the client; undefined if that is impossible or turned off. */
  readonly interview: Interview | undefined;
  /** Writes a line for the operator of the server. */
  readonly tell: (line: string) => void;
  /** Notifies all clients that the list of resources has changed. */
  readonly announceResources: () => void;
}

/** The result of a tool: plain JSON, sent as structured data and as text. */
export interface ToolAnswer {
  readonly content: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** Returned in place of a result: the client must ask its user these questions and repeat the call. */
export interface ToolQuestions {
  readonly inputRequired: object;
}

/** A tool with any type of input. */
export interface AnyTool {
  readonly name: string;
  readonly title: string;
  /** Description for the model that chooses a tool. */
  readonly description: string;
  readonly input: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  readonly output: JsonSchema;
  readonly hints: ToolHints;
  /** Declared as a method, so that tools of any input fit one list. */
  run(call: ToolCall, input: object): Promise<ToolAnswer | ToolQuestions>;
}

export interface Tool<Input extends object = object> extends AnyTool {
  /** One schema for each property of the input type, so that the table and the type cannot differ. */
  readonly input: { readonly [Name in keyof Input]-?: JsonSchema };
  readonly required: readonly (keyof Input & string)[];
  run(call: ToolCall, input: Input): Promise<ToolAnswer | ToolQuestions>;
}

export const readsOnly: ToolHints = { isReadOnly: true, isDestructive: false, isIdempotent: true, isOpenWorld: false };
/** Hints of tools that run workflows, whose effects are not known. */
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
