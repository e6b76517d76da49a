/** The stages and edges of a pipeline, for comparing runs with them. */
import { layOut, type Layout } from '../model/layout.ts';
import type { Pipeline } from '../model/pipeline.ts';
import { readPipeline } from '../model/read-pipeline.ts';
import { DotFaults } from '../text/faults.ts';
import { parseDot } from '../text/parse-dot.ts';

export interface Outline {
  readonly pipeline: Pipeline;
  readonly layout: Layout;
  readonly placeOf: (at: number) => string;
}

/** Reads the outline of a text. Its faults are not reported. */
export function outlineOf(text: string, source: string): Outline {
  const faults = new DotFaults(text, source);
  const pipeline = readPipeline(parseDot(text, faults), faults);
  return { pipeline, layout: layOut(pipeline), placeOf: (at) => faults.placeOf(at) };
}
