/** Where a run goes from a stage that succeeds or fails. */
import type { Stage } from '../../dot/model/pipeline.ts';
import type { End } from '../outline/outline.ts';
import type { StageReading } from './stage-reading.ts';

export function plainEnds(stage: Stage, { ways }: StageReading): readonly End[] {
  const context = stage.type === 'tool' ? { 'tool.exit_code': 0 } : {};
  return [
    { on: 'success', to: ways.leave(stage, { outcome: 'success', context }) },
    { on: 'fail', to: ways.leave(stage, { outcome: 'fail' }) },
  ];
}
