/** The content of a workflow file. It has the right format, but nothing else was checked yet. */
import type { Amounts, AtMost } from '../../../graph/amounts.ts';
import type { OnBudget } from '../../../graph/graph.ts';
import type { EffectClass } from '../../../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../../../graph/contracts/retry-policy.ts';
import type { FileOutput } from '../../../graph/contracts/node-type.ts';
import type { Path } from './read-document.ts';
import type { CheckpointSettings, WorkflowInput } from '../../text-workflow.ts';

export interface DependencyFile {
  readonly block: string;
  readonly isRequired: boolean;
  readonly at: Path;
}

export interface FileOutputFile extends Omit<FileOutput, 'path'> {
  /** May contain references. */
  readonly path: string;
  readonly at: Path;
}

export interface ForEachFile {
  /** An expression, a list or a mapping. */
  readonly over: unknown;
  readonly isSequential: boolean;
  /** Undefined if the file does not say. */
  readonly maxParallel: number | undefined;
}

/** Budgets in the form that graphs and nodes use. */
export interface BudgetFile {
  readonly budget?: Amounts;
  readonly onBudget?: OnBudget;
}

export interface BlockFile {
  readonly id: string;
  readonly type: string;
  readonly description: string | undefined;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly dependsOn: readonly DependencyFile[];
  readonly condition: string | undefined;
  readonly forEach: ForEachFile | undefined;
  readonly continuesOnError: boolean;
  readonly fileOutputs: readonly FileOutputFile[];
  readonly timeoutMs: number | undefined;
  readonly retry: RetryPolicy | undefined;
  readonly effect: EffectClass | undefined;
  readonly idempotent: boolean | undefined;
  readonly onInDoubt: 'ask' | 'retry' | 'fail' | undefined;
  readonly budget: BudgetFile;
  readonly atMost: AtMost | undefined;
  readonly at: Path;
}

export interface OutputFile {
  readonly name: string;
  readonly value: unknown;
  readonly type: WorkflowInput['type'] | undefined;
  readonly description: string | undefined;
  /** Path of the value. */
  readonly at: Path;
}

export interface WorkflowFile {
  readonly name: string;
  readonly description: string | undefined;
  readonly version: string;
  readonly tags: readonly string[];
  /** Undefined if the file has no such section. */
  readonly inputs: readonly WorkflowInput[] | undefined;
  readonly blocks: readonly BlockFile[];
  readonly outputs: readonly OutputFile[];
  readonly secrets: readonly string[];
  readonly concurrency: number | undefined;
  readonly depth: number | undefined;
  readonly budget: BudgetFile;
  readonly checkpoint: CheckpointSettings;
}
