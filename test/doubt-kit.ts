/** Graphs of one write, by a node or by a step of it, and a person who says what became of the write that is in doubt. */
import { expect } from 'vitest';
import type { RunResult } from '../src/engine/api.ts';
import type { Graph } from '../src/graph/graph.ts';
import { afterCrash, edges, graphOf, node, resumeToRest, type Bench } from './engine-kit.ts';

export const ofNode = (run: () => unknown): Graph => graphOf('g', [node('a', 'write', run)], edges('> a', 'a >'));
export const ofStep = (run: () => unknown): Graph =>
  graphOf('g', [node('a', 'read', (ctx) => ctx.step('s', { effect: 'write' }, run))], edges('> a', 'a >'));

/** Resumes the run `r`, which asks about its one effect in doubt, answers, and resumes it again. */
export async function decide(bench: Bench, graph: Graph, answer: unknown): Promise<RunResult> {
  const paused = await resumeToRest(afterCrash(bench), 'r', graph);
  expect(paused.waits.map(({ kind }) => kind)).toEqual(['doubt']);
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', answer);
  return resumeToRest(afterCrash(bench), 'r', graph);
}
