/** What a parallel stage does: its branches, and where the run goes on when they have ended. */
import { neededBranches } from '../../dot/model/join-policy.ts';
import { alongEdges, reach, type Branches } from '../../dot/model/layout.ts';
import type { Stage } from '../../dot/model/pipeline.ts';
import { failure, finish } from '../outline/outline.ts';
import type { Done, StageReading } from './stage-reading.ts';

export function parallelWork(stage: Stage, { entries, join, stages }: Branches, reading: StageReading): Done {
  const { ways, pipeline, notes, placeOf } = reading;
  const lost = (attribute: string, message: string, fix: string): void =>
    notes.lost('PARALLEL', placeOf(stage.attributes.placeOf(attribute)), message, fix);
  const policy = stage.attributes.text('join_policy');
  const errors = stage.attributes.text('error_policy');
  if (!['', 'wait_all', 'all'].includes(policy))
    lost('join_policy', `${stage.id} waits for all its branches: none is cancelled`, 'nothing, if they may all end');
  if (errors === 'fail_fast')
    lost(
      'error_policy',
      `${stage.id} goes on when a branch fails`,
      'let what follows ask for the blocks that must succeed',
    );
  const shared =
    entries.length > 1 &&
    [...stages].some((id) => entries.filter((entry) => reaches(entry, id, reading, join)).length > 1);
  if (shared)
    lost(
      'shape',
      `stages of ${stage.id} that several branches lead to run once, not once for each`,
      'give each branch its own',
    );
  const end = pipeline.stages.get(join);
  const isFanIn = end?.type === 'parallel.fan_in';
  if (isFanIn && end.attributes.text('prompt') !== '')
    notes.lost(
      'WORK',
      placeOf(end.at),
      `${end.id} asks no model which branch is the best`,
      'ask in a block of its own',
    );
  const gates = [...stages].filter((id) => pipeline.stages.get(id)?.attributes.flag('goal_gate'));
  if (gates.length > 0)
    notes.lost(
      'GATE',
      placeOf(stage.at),
      `the run may end although a gate in a branch failed: ${gates.join(', ')}`,
      'ask for blocks.ID.succeeded',
    );
  const first = entries.filter((entry) => entry !== join).map((entry) => ways.firstOf(entry, join));
  const [success, fail] = (['success', 'fail'] as const).map((outcome) => {
    if (isFanIn) return ways.leave(end, { outcome });
    if (outcome === 'success' || end?.type === 'conditional') return ways.arriveFrom(stage, join, { outcome });
    return ways.leave({ ...stage, id: `${stage.id}/none` }, { outcome });
  });
  return {
    work: {
      kind: 'parallel',
      branches: first,
      needed: Math.min(first.length, neededBranches(policy, entries.length) ?? 1),
    },
    ends: [
      { on: 'success', to: success ?? finish },
      { on: 'fail', to: fail ?? failure },
    ],
    timeoutMs: undefined,
    isIdempotent: false,
  };
}

/** Whether a branch comes to a stage. */
function reaches(entry: string, id: string, { layout }: StageReading, join: string): boolean {
  return reach([entry], alongEdges(layout.outgoing, join)).has(id);
}
