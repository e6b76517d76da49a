/** Experiments: what would have happened to recorded runs under a change, with no effect done again. */
export { experiment, type Arm, type ExperimentOptions } from './experiment.ts';
export type { Pair, Row, Verdict } from './judge-item.ts';
export type { ExperimentModule } from './experiment-data.ts';
export type { Thresholds } from './thresholds.ts';
export type { DatasetInput } from './datasets.ts';
export type { Dataset } from './select-items.ts';
export { exact, judge, review, type Judged, type JudgeOptions, type ReviewOptions, type Scorer } from './scorers.ts';
export type { Difference } from './statistics.ts';
export { tableText, type ArmSummary, type ExperimentResult, type ArmFinding } from './table.ts';
