/** The pipelines that run a pipeline, as far as they affect it. */
import { normalize } from 'node:path';

/** What a pipeline inherits from the pipelines that run it. */
export interface Around {
  /** Paths of their files from the outermost on, and last the pipeline's own. */
  readonly chain: readonly string[];
  /** The folder in which its commands work, unless their stage names one. */
  readonly folder: string;
  readonly isSteered: boolean;
}

export function outermost(source: string): Around {
  return { chain: [normalize(source)], folder: '', isSteered: false };
}
