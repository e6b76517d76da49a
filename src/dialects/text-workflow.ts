/** A workflow read from a text, of whatever dialect: what every door knows of it. */
import type { Graph, Violation } from '../graph/graph.ts';
import type { JsonSchema, PlannedTool } from '../graph/contracts/node-type.ts';

export interface WorkflowInput {
  readonly name: string;
  /** `json`: any value; where it is given as text, the value whose JSON the text is. */
  readonly type: 'str' | 'num' | 'int' | 'bool' | 'list' | 'dict' | 'json' | 'any';
  readonly description: string | undefined;
  readonly isRequired: boolean;
  readonly default: unknown;
  /** All that a value must be, `enum` included. */
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
  readonly effect: string;
  /** How often it is tried in all. */
  readonly attempts: number;
  /** A repetition has no second effect, so it is tried again where it may have happened; else only where it ended and said that it failed. */
  readonly isIdempotent: boolean;
  /** It asks a person, or a block of the workflow that it calls does. A language model that is called is not asked: its answer is the block's work. */
  readonly asks: boolean;
  /** The workflow it runs, where that is written out. */
  readonly workflow: string | undefined;
  /** What models may call that it lets work, as far as it is known before anything runs. Absent: nothing. */
  readonly tools?: readonly PlannedTool[];
  /** Counted from 0. */
  readonly wave: number;
}

/** How checkpoints of a workflow's runs are kept; see docs/guide/cleanup.md. Names are those of the file. */
export interface CheckpointSettings {
  readonly enabled?: boolean;
  readonly max_per_workflow?: number;
  readonly ttl_seconds?: number;
  readonly keep_paused?: boolean;
  readonly auto_cleanup?: boolean;
  readonly cleanup_interval_seconds?: number;
  readonly max_checkpoint_size_mb?: number;
}

export interface TextWorkflow {
  readonly name: string;
  readonly description: string | undefined;
  readonly version: string;
  readonly tags: readonly string[];
  readonly inputs: readonly WorkflowInput[];
  readonly outputs: readonly WorkflowOutput[];
  readonly blocks: readonly WorkflowBlock[];
  /** Ids of blocks that could start together, were each to wait for all before it; for display and progress only. */
  readonly waves: readonly (readonly string[])[];
  readonly checkpoint: CheckpointSettings;
  /** Names of the secrets it uses. */
  readonly secrets: readonly string[];
  readonly graph: Graph;
  readonly warnings: readonly Violation[];
}

/**
 * The dialect of the text that is kept with a run: such a text begins with its name, `{"dialect":"yaml"`, whatever follows.
 * Undefined: it says none.
 */
export function dialectOf(text: string): string | undefined {
  return /^\{"dialect":"([a-z][a-z0-9-]*)"/u.exec(text)?.[1];
}
