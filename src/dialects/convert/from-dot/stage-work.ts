/** What a stage of a pipeline does, and how it may end. */
import { retryOf } from '../../dot/compile/stage-policy.ts';
import { childType, kindOf, type Pipeline, type Stage } from '../../dot/model/pipeline.ts';
import type { Step } from '../outline/outline.ts';
import { byHand } from '../outline/stand-in.ts';
import { childWork } from './child-stage.ts';
import { agentWork } from './agent-stage.ts';
import { backendWork, toolWork } from './command-stage.ts';
import { humanWork } from './human-stage.ts';
import { modelWork } from './model-stage.ts';
import { parallelWork } from './parallel-work.ts';
import type { Done, StageReading } from './stage-reading.ts';

/** The step of a stage that works; diamonds, the start and the exit are none. */
export function workOfStage(stage: Stage, reading: StageReading): Done {
  const branches = reading.layout.branches.get(stage.id);
  if (branches !== undefined) return parallelWork(stage, branches, reading);
  return readerOf(stage)?.(stage, reading) ?? workByHand(stage, reading);
}

function readerOf({
  type,
  attributes,
}: Stage): ((stage: Stage, reading: StageReading) => Done | undefined) | undefined {
  if (type === 'tool') return toolWork;
  if (type === 'wait.human') return humanWork;
  if (type === childType) return childWork;
  if (type !== 'codergen') return undefined;
  if (attributes.text('agent_command') !== '') return backendWork;
  return attributes.text('tools') === '' ? modelWork : agentWork;
}

function workByHand(stage: Stage, { notes, placeOf, ways }: StageReading): Done {
  notes.lost(
    'WORK',
    placeOf(stage.at),
    `${stage.id} is of type ${stage.type}, which only a pipeline has; a person does it by hand`,
    stage.type === childType
      ? 'give its pipeline a name that no other has, and no stack.child_workdir'
      : 'write blocks that do its work',
  );
  const said = stage.attributes.text('prompt') || stage.attributes.text('label') || stage.id;
  const success = ways.leave(stage, { outcome: 'success' });
  const fail = ways.leave(stage, { outcome: 'fail' });
  return { ...byHand(said, success, fail), timeoutMs: undefined, isIdempotent: false };
}

/** Attempts, if there are more than one. A question is asked once, a child runs once, and an agent goes on with what it did. */
export function retryOfStage(stage: Stage, pipeline: Pipeline): Step['retry'] {
  const isOnce = stage.type === 'wait.human' || [childType, 'codergen.agent'].includes(kindOf(stage));
  const retry = retryOf(stage, pipeline);
  return isOnce || retry.attempts === 1 ? undefined : retry;
}
