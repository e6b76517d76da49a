/** The pipelines that run a pipeline, as far as they affect it. */
import { normalize } from 'node:path';

/** What a pipeline inherits from the pipelines that run it. */
export interface Around {
  /** Paths of their files from the outermost on, and last the pipeline's own. */
  readonly chain: readonly string[];
  /** The folder in which its commands work, unless their stage names one. */
  readonly folder: string;
  readonly isSteered: boolean;
  /** Whether a workflow of another dialect runs it. Its questions then say which pipeline asks, as all questions of such a run do. */
  readonly isCalled: boolean;
}

export function outermost(source: string, isCalled = false): Around {
  return { chain: [normalize(source)], folder: '', isSteered: false, isCalled };
}
