/** What is around a pipeline: those that run it. */
import { normalize } from 'node:path';

/** What a pipeline inherits of those that run it. */
export interface Around {
  /** Paths of their files, from the outermost, and its own. */
  readonly chain: readonly string[];
  /** Where its commands work, where stages do not say. */
  readonly folder: string;
  readonly isSteered: boolean;
  /** Units that their budgets name. */
  readonly budgeted: ReadonlySet<string>;
}

export function outermost(source: string): Around {
  return { chain: [normalize(source)], folder: '', isSteered: false, budgeted: new Set() };
}
