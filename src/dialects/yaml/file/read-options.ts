/** What the reader of YAML workflows is handed beside the text. */
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import type { Permissions } from '../../../graph/permissions/permissions.ts';
import type { CheckpointSettings } from '../../text-workflow.ts';

/** A workflow's text and where it came from. */
export interface WorkflowText {
  readonly text: string;
  /** Path of the file, or `inline`: stands in places of faults. */
  readonly source: string;
}

/** Where other workflows are found by name, for blocks that run them. */
export interface WorkflowTexts {
  readonly get: (name: string) => WorkflowText | undefined;
  /** All names there are: for hints, and for blocks that compute the name. */
  readonly names: () => readonly string[];
}

export interface ReadOptions {
  /** The blocks there are beside `Workflow` and `ExecuteWorkflow`, which belong to the dialect; one of theirs names stands before it. */
  readonly nodeTypes: readonly NodeType[];
  /** Path of the file. Default `inline`. */
  readonly source?: string;
  /** Default: there are none. */
  readonly workflows?: WorkflowTexts;
  /**
   * `file` (default): a file that the operator chose, which may do everything. `inline`: a text that came from elsewhere, held to
   * `permissions`. Workflows found by name are the operator's.
   */
  readonly origin?: 'file' | 'inline';
  /** What inline workflows may reach for. Default: nothing. */
  readonly permissions?: Permissions;
  /** Settings for what the file leaves open. */
  readonly checkpoint?: CheckpointSettings;
  /** What runs here keep out of the store, as the engine takes it: nothing may read it. */
  readonly redact?: { readonly store?: readonly string[] };
}

/** Options of reading a stored text: all else is in it. */
export type BundleOptions = Pick<ReadOptions, 'nodeTypes' | 'permissions' | 'redact'>;
