/** An agent that may work in a stage of a workflow written as text: a model, with tools that are known by a few names. */
import type { NodeContext } from './node-contract.ts';
import type { ModelMessage, ModelCall } from './model-messages.ts';
import type { Need } from './node-type.ts';

/**
 * What an agent may be let do: `read` lists, searches and reads files of its folder, `write` writes and edits them too, `shell` runs
 * programs there, `ask_person` asks.
 */
export const stageTools = ['read', 'write', 'shell', 'ask_person'] as const;
export type StageTool = (typeof stageTools)[number];

/**
 * Commands around each call of a tool, for a shell. They get the call as JSON on their input and by variables; no value is a part
 * of them. They may be repeated after a crash.
 */
export interface ToolHooks {
  /** Run before; with an exit code other than 0 the call is not made, and the model's result of it says so. */
  readonly pre?: string;
  /** Run after, with what came of the call. That it failed is reported as an event, and changes nothing. */
  readonly post?: string;
  /** Variables beside those of every hook. */
  readonly env: Readonly<Record<string, string>>;
}

export interface StageAgentRequest {
  readonly model: string;
  /** How the conversation begins. */
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly StageTool[];
  /** Of these, the ones that are used without asking a person. */
  readonly allow: readonly StageTool[];
  /** Where it works; relative to where the process was started. */
  readonly folder: string;
  /** Whether a place that its files really are at is granted. Default: all are. */
  readonly isGranted?: (need: Need) => boolean;
  /** Units that its calls spend beside those of every model call: `tokens`, `seconds`. */
  readonly counted?: readonly string[];
  /** Calls of the model, at most. */
  readonly loopsMax?: number;
  /** Of one call of the model. */
  readonly timeoutMs?: number;
  /** Limits that each call of the model is under, by name. */
  readonly limit?: readonly string[];
  /** Of each call of the model. */
  readonly settings?: Pick<ModelCall, 'reasoning' | 'tokensMax'>;
  readonly hooks?: ToolHooks;
  /** What becomes of a visit that began with another agent. Default `continue`. */
  readonly onChange?: 'continue' | 'refuse';
  /** Of the stage, counted from 1: each begins its work anew. */
  readonly attempt: number;
}

export interface StageAgent {
  /** What it reaches for with these tools, its model aside. */
  needs(tools: readonly StageTool[], folder: string): readonly Need[];
  /** Works until it answers: its model calls and tool calls are steps of the node. @returns its answer */
  run(ctx: NodeContext, request: StageAgentRequest): Promise<string>;
}
