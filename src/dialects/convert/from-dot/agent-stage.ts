/** Stages of models that work with tools. */
import { retryOf } from '../../dot/compile/stage-policy.ts';
import { folderOf, type Stage } from '../../dot/model/pipeline.ts';
import { modelWork } from './model-stage.ts';
import type { Done, StageReading } from './stage-reading.ts';

const loopsMaxDefault = 50;
/** The most that a block takes. */
const loopsMaxOfBlock = 1_000;

/** Undefined: a block would run its programs in another folder. */
export function agentWork(stage: Stage, reading: StageReading): Done | undefined {
  const { notes, placeOf } = reading;
  const { attributes } = stage;
  const [tools, allowed] = [attributes.list('tools'), attributes.list('allow_tools')];
  const folder = folderOf(stage, '');
  const hasFiles = tools.includes('read') || tools.includes('write');
  if (!hasFiles && tools.includes('shell') && folder !== '.' && folder !== '') return undefined;
  const done = modelWork(stage, reading);
  if (done.work.kind !== 'model') return undefined;
  const hasLimit = attributes.durationMs('timeout') !== undefined;
  if (hasLimit || retryOf(stage, reading.pipeline).attempts > 1)
    notes.lost(
      'SETTING',
      placeOf(stage.at),
      `${stage.id} has ${hasLimit ? 'no limit of time for its calls' : 'one attempt'}`,
      'nothing, or bound it by max_loops or a budget',
    );
  const loopsMax = attributes.integer('max_turns') ?? loopsMaxDefault;
  const agent = {
    ...(hasFiles && { files: { folder: folder || '.', isReadOnly: !tools.includes('write') } }),
    shell: tools.includes('shell'),
    asks: tools.includes('ask_person'),
    allow: (['write', 'shell'] as const).filter((name) => tools.includes(name) && allowed.includes(name)),
    loopsMax: Math.min(loopsMax, loopsMaxOfBlock),
  };
  return { ...done, work: { ...done.work, agent }, timeoutMs: undefined };
}
