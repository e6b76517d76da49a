/** The workflows that a process knows, to be listed, read, checked and started. */
import type { Conversion, WrittenDialect } from '../../dialects/convert/convert-text.ts';
import type { TextWorkflow } from '../../dialects/text-workflow.ts';
import type { Violation } from '../../graph/graph.ts';

/** A file that is not a valid workflow, and why. */
export interface BrokenWorkflow {
  readonly source: string;
  readonly violations: readonly Violation[];
}

export interface KnownWorkflow {
  readonly workflow: TextWorkflow;
  /** Path of the file. */
  readonly source: string;
}

/** A workflow as plain data. */
export interface WorkflowDescription extends Omit<TextWorkflow, 'graph' | 'checkpoint' | 'effect'> {
  /** Path of the file; absent if the workflow was passed as text. */
  readonly source?: string;
}

/** A text as a workflow. */
export interface CheckedText {
  readonly workflow: WorkflowDescription | undefined;
  readonly violations: readonly Violation[];
}

/** The workflows in the configured directories. If two have the same name, the one in the later directory is used. */
export interface Workflows {
  /** Sorted by name. */
  list(): readonly KnownWorkflow[];
  broken(): readonly BrokenWorkflow[];
  /** Returns a workflow. @throws WORKFLOW_NOT_FOUND lists the known names, nearest first */
  get(name: string): KnownWorkflow;
  /**
   * Reads a workflow from a text, with the permissions for such texts. @throws GRAPH_PARSE, GRAPH_INVALID with all violations,
   * PERMISSION_DENIED, TEXT_TOO_COSTLY, READER_BUSY
   */
  readInline(text: string): Promise<TextWorkflow>;
  /**
   * What a text of nobody's would be, and all that is wrong with it, without checking permissions. @throws TEXT_TOO_COSTLY, READER_BUSY
   */
  describeText(text: string): Promise<CheckedText>;
  /**
   * Reports what is wrong with a text, without checking permissions. Never throws for faults of the text. @param source - its name in
   * messages
   */
  check(
    text: string,
    source?: string,
  ): { readonly workflow: TextWorkflow | undefined; readonly violations: readonly Violation[] };
  /**
   * Writes a workflow in another dialect; `cairn`: a file of the `{{ }}` form as one with `${ }`. The notes list what does not carry over.
   * @param source - its file; undefined: a text of nobody's, which may have files read only within the grants for such texts. @throws
   * GRAPH_PARSE, GRAPH_INVALID it has faults, or is of the `{{ }}` form and has something without a counterpart; USAGE_INVALID it is of
   * that dialect; TEXT_TOO_COSTLY, READER_BUSY a text of nobody's
   */
  convert(
    text: string,
    source: string | undefined,
    to: WrittenDialect | 'cairn',
  ): Promise<Conversion & { readonly changedCount?: number }>;
  /** A pipeline in canonical format. @throws GRAPH_PARSE; USAGE_INVALID its dialect has no such format */
  format(text: string, source: string): string;
  /** Reads the directories again; workflows of deleted files are removed. */
  reload(): { readonly total: number; readonly broken: readonly BrokenWorkflow[] };
}
