/** Runs all lint rules on a pipeline. The rules are those of docs/spec/dot.md. */
import type { Report } from './report.ts';
import { lintEdges } from './lint-edges.ts';
import { lintShape } from './lint-shape.ts';
import { lintStages } from './lint-stages.ts';
import { lintTelling } from './lint-telling.ts';

export function lintPipeline(report: Report): void {
  lintShape(report);
  lintStages(report);
  lintEdges(report);
  lintTelling(report);
}
