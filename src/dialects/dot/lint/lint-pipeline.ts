/** Runs all lint rules on a pipeline. The rules are those of docs/spec/dot.md. */
import type { Redact } from '../../../state/values/admit.ts';
import type { Report } from './report.ts';
import { lintCounts } from './lint-counts.ts';
import { lintEdges } from './lint-edges.ts';
import { lintShape } from './lint-shape.ts';
import { lintStages } from './lint-stages.ts';
import { lintTelling } from './lint-telling.ts';
import { lintUnstored } from './lint-unstored.ts';

/** @param redact - what runs do not store. Default: they store all */
export function lintPipeline(report: Report, redact?: Redact): void {
  lintShape(report);
  lintStages(report);
  lintCounts(report);
  lintEdges(report);
  lintTelling(report);
  if (redact !== undefined) lintUnstored(report, redact);
}
