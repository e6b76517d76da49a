/** What doors know of a workflow that was read from a text, whatever its dialect. */
import type { EffectClass, InnerWork } from '../graph/contracts/node-contract.ts';
import type { Graph, Violation } from '../graph/graph.ts';
import type { RetentionSettings } from '../graph/retention.ts';
import type { JsonSchema, PlannedTool } from '../graph/contracts/node-type.ts';

// A workflow read from text, in the form that all interfaces use, whatever its dialect.

export interface WorkflowInput {
  readonly name: string;
  /** `json` is any value; if the value is a text, the text is parsed as JSON. */
  readonly type: 'str' | 'num' | 'int' | 'bool' | 'list' | 'dict' | 'json' | 'any';
  readonly description: string | undefined;
  readonly isRequired: boolean;
  readonly default: unknown;
  /** JSON Schema of the value, with `enum` included. */
  readonly schema: JsonSchema;
}

export interface WorkflowOutput {
  readonly name: string;
  readonly value: string;
  readonly type: string | undefined;
  readonly description: string | undefined;
}

export interface WorkflowBlock {
  readonly id: string;
  readonly type: string;
  readonly description: string | undefined;
  readonly dependsOn: readonly { readonly block: string; readonly isRequired: boolean }[];
  readonly condition: string | undefined;
  readonly forEach: string | undefined;
  readonly effect: EffectClass;
  /** False if the class is only the default of a function that declares none. */
  readonly isDeclared?: false;
  /** What it does to the world inside, in nodes, workflows and agents, where its own effect class does not say that. */
  readonly inside?: InnerWork;
  /** The most attempts. */
  readonly attempts: number;
  /**
   * Whether a repetition has no second effect. If so, the block is retried even if it may have happened; otherwise only if it ended and
   * reported failure itself.
   */
  readonly isIdempotent: boolean;
  /** Whether it, or a block of the workflow that it calls, asks a person. Calling a language model does not count as asking. */
  readonly asks: boolean;
  /** Name of the workflow that it runs, if that is written out. */
  readonly workflow: string | undefined;
  /** The tools that its models may call, as far as known before a run. Absent: none. */
  readonly tools?: readonly PlannedTool[];
  /** Number of its wave, counted from 0. */
  readonly wave: number;
}

/** Which checkpoints of the workflow's runs are retained; see docs/guide/cleanup.md. Names are those of the file. */
export interface CheckpointSettings {
  readonly enabled?: boolean;
  readonly max_per_workflow?: number;
  readonly ttl_seconds?: number;
  readonly keep_paused?: boolean;
  readonly auto_cleanup?: boolean;
  readonly cleanup_interval_seconds?: number;
  readonly max_checkpoint_size_mb?: number;
  /** What `retention`, beside `checkpoint`, says of the runs that ended. */
  readonly retention?: RetentionSettings;
}

export interface TextWorkflow {
  readonly name: string;
  readonly description: string | undefined;
  readonly version: string;
  readonly tags: readonly string[];
  readonly inputs: readonly WorkflowInput[];
  readonly outputs: readonly WorkflowOutput[];
  readonly blocks: readonly WorkflowBlock[];
  /** Ids of blocks by wave: blocks that could start together if each wave waited for all earlier ones. For display and progress only. */
  readonly waves: readonly (readonly string[])[];
  readonly checkpoint: CheckpointSettings;
  /** Names of the secrets that it uses. */
  readonly secrets: readonly string[];
  /** The strongest effect of all that it does, workflows that it runs and tools of its agents included. Questions do not count. */
  readonly effect: EffectClass;
  readonly graph: Graph;
  readonly warnings: readonly Violation[];
}

/**
 * The dialect of a text recorded with a run. Such a text begins with its dialect's name, as in `{"dialect":"yaml"`. Undefined if it does
 * not.
 */
export function dialectOf(text: string): string | undefined {
  return /^\{"dialect":"([a-z][a-z0-9-]*)"/u.exec(text)?.[1];
}

/** Whether a text recorded with a run was given by a client, and is no file's. */
export function isInlineText(text: string): boolean {
  return /^\{"dialect":"[a-z][a-z0-9-]*","origin":"inline"/u.test(text);
}
