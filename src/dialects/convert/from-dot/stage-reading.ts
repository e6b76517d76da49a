/** What stages are read with, and what is read of one. */
import type { Layout } from '../../dot/model/layout.ts';
import type { Pipeline, Stage } from '../../dot/model/pipeline.ts';
import type { Notes } from '../outline/notes.ts';
import type { Step } from '../outline/outline.ts';
import type { PipelineWays } from './pipeline-ways.ts';

export interface StageReading {
  readonly pipeline: Pipeline;
  readonly layout: Layout;
  readonly ways: PipelineWays;
  readonly notes: Notes;
  /** Path of the file. */
  readonly source: string;
  /** Texts of the pipelines that it runs, by path. */
  readonly files: ReadonlyMap<string, string>;
  readonly placeOf: (at: number) => string;
  /** How much of the run its prompt contains. */
  readonly fidelityOf: (stage: Stage) => string;
}

/** What a stage does, and how it may end. */
export type Done = Pick<Step, 'work' | 'ends' | 'timeoutMs' | 'isIdempotent'>;
