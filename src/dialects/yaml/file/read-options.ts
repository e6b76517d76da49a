/** Options for reading YAML workflows. */
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import type { Permissions } from '../../../graph/permissions/permissions.ts';
import type { Violation } from '../../../graph/graph.ts';
import type { CheckpointSettings, TextWorkflow } from '../../text-workflow.ts';

/** A workflow's text and its origin. */
export interface WorkflowText {
  readonly text: string;
  /** Path of the file, or `inline`; used in places of faults. */
  readonly source: string;
}

/** Finds other workflows by name, for blocks that run them. */
export interface WorkflowTexts {
  readonly get: (name: string) => WorkflowText | undefined;
  /** All known names: for hints, and for blocks that compute the name. */
  readonly names: () => readonly string[];
}

/** The workflow if its text is valid, and all faults and warnings. */
export interface CheckedWorkflow {
  readonly workflow: TextWorkflow | undefined;
  readonly violations: readonly Violation[];
}

export interface ReadOptions {
  /**
   * The available blocks, in addition to the dialect's own `Workflow` and `ExecuteWorkflow`. A block with one of those names replaces it.
   */
  readonly nodeTypes: readonly NodeType[];
  /** Path of the file. Default `inline`. */
  readonly source?: string;
  /** The operator's workflows. An inline text runs those that `permissions` name, and these may do all that they say. Default: none. */
  readonly workflows?: WorkflowTexts;
  /**
   * `file` (default): chosen by the operator, with all permissions. `inline`: a text from elsewhere, restricted to `permissions`, and so is
   * all that it carries.
   */
  readonly origin?: 'file' | 'inline';
  /** The texts that came with an inline one. It runs these by name, rather than the operator's. Default: none. */
  readonly carried?: WorkflowTexts;
  /** Whether faults are reported of all texts that are carried, and not only of those that are run by a name that is written out. */
  readonly checksCarried?: boolean;
  /**
   * Reads a workflow of another dialect that a block names, as its file is read by itself, or the text of one that a run saved. Undefined: the
   * text is of this dialect. Default: there are no others.
   */
  readonly readOther?: (workflow: WorkflowText, origin: 'file' | 'inline') => CheckedWorkflow | undefined;
  /** Permissions of inline workflows. Default: none. */
  readonly permissions?: Permissions;
  /** Settings that apply where the file has none. */
  readonly checkpoint?: CheckpointSettings;
  /** What runs here do not store, in the engine's format. Nothing may read it. */
  readonly redact?: { readonly store?: readonly string[] };
}

/** Options for reading a recorded text, which contains everything else. `workflows` counts only with `origin: 'inline'`. */
export type BundleOptions = Pick<
  ReadOptions,
  'nodeTypes' | 'permissions' | 'redact' | 'readOther' | 'origin' | 'workflows' | 'checksCarried'
>;
