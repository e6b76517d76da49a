/** A pipeline that a workflow runs as a child: its name, and what it takes from who runs it. */
import type { Param } from '../../dot/model/pipeline.ts';
import { readPipeline } from '../../dot/model/read-pipeline.ts';
import { DotFaults } from '../../dot/text/faults.ts';
import { parseDot } from '../../dot/text/parse-dot.ts';

export interface CalledPipeline {
  readonly name: string;
  /** Its inputs that a stage hands on from the inputs of the same names. A goal of its own it keeps. */
  readonly taken: readonly string[];
}

/** @param text - of a pipeline that has no errors */
export function readCalled(text: string): CalledPipeline {
  const faults = new DotFaults(text, 'child');
  const { name, attributes, params } = readPipeline(parseDot(text, faults), faults);
  const goal = attributes.text('goal') === '' ? ['goal'] : [];
  return { name, taken: [...goal, ...params.map((param: Param) => param.name)] };
}
