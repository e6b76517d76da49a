/** The tools of an agent that both dialects can name, and what it does with them unasked. */

export interface AgentTools {
  /** A folder whose files it reads, and writes unless it may only read. */
  readonly files?: { readonly folder: string; readonly isReadOnly: boolean };
  /** Whether it runs programs. */
  readonly shell: boolean;
  /** Whether it may ask a person. */
  readonly asks: boolean;
  /** What it does without asking a person first. */
  readonly allow: readonly ('write' | 'shell')[];
  /** Calls of the model, at most. */
  readonly loopsMax: number;
}

/** The tools that write files, by the names under which a block allows them. */
export const writingTools = ['write_file', 'edit_file'] as const;
