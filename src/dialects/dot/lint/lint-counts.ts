/** Lint rules for counts: none below the smallest that means something, and no join that needs more branches than there are. */
import { isJoinPolicy, neededBranches, type Stage } from '../model/pipeline.ts';
import type { Report } from './report.ts';

type Least = readonly (readonly [name: string, least: number])[];

const leastOfGraph: Least = [
  ['default_max_retries', 0],
  ['max_retry_jumps', 0],
  ['max_node_visits', 1],
  ['max_restarts', 0],
];
const leastOfStage: Least = [
  ['max_parallel', 1],
  ['max_visits', 1],
  ['max_retries', 0],
  ['manager.max_cycles', 1],
  ['max_turns', 1],
  ['max_tokens', 1],
];

export function lintCounts(report: Report): void {
  const { pipeline } = report;
  lintLeast(report, leastOfGraph, pipeline.attributes, 'the graph');
  for (const stage of pipeline.stages.values()) {
    lintLeast(report, leastOfStage, stage.attributes, stage.id);
    lintJoin(report, stage);
  }
}

function lintLeast({ error }: Report, counts: Least, attributes: Stage['attributes'], owner: string): void {
  for (const [name, least] of counts)
    if ((attributes.integer(name) ?? least) < least)
      error('attribute_value', attributes.placeOf(name), `${name} of ${owner} must be at least ${least}`, 'correct it');
}

function lintJoin({ layout, error }: Report, { id, attributes }: Stage): void {
  const policy = attributes.text('join_policy');
  if (policy === '') return;
  const at = attributes.placeOf('join_policy');
  if (!isJoinPolicy(policy))
    error('attribute_value', at, `join_policy of ${id} is ${policy}`, 'use wait_all, first_success, quorum, or 2_of_n');
  const count = layout.branches.get(id)?.entries.length;
  const needed = count === undefined ? undefined : neededBranches(policy, count);
  if (count === undefined || needed === undefined || (needed > 0 && needed <= count)) return;
  error('attribute_value', at, `${id} needs ${needed} of its ${count} branches`, `need at least 1, at most ${count}`);
}
