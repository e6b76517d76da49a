/** Stages that run a command: for its own sake, or to answer a prompt. */
import { folderOf, type Stage } from '../../dot/model/pipeline.ts';
import { commandMs, type Text } from '../outline/outline.ts';
import { plainEnds } from './stage-ends.ts';
import { promptOf } from './stage-prompt.ts';
import type { Done, StageReading } from './stage-reading.ts';

export function toolWork(stage: Stage, reading: StageReading): Done {
  return commandWork(stage, { script: stage.attributes.text('tool_command') }, reading);
}

/** A command in the place of a model, which is given the prompt. */
export function backendWork(stage: Stage, reading: StageReading): Done {
  const script = stage.attributes.text('agent_command');
  return commandWork(stage, { script, stdin: promptOf(stage, reading) }, reading);
}

function commandWork(
  stage: Stage,
  { script, stdin }: { readonly script: string; readonly stdin?: Text },
  reading: StageReading,
): Done {
  noteReport(stage, script, reading);
  const folder = folderOf(stage, '');
  return {
    work: {
      kind: 'command',
      script,
      ...(folder !== '.' && folder !== '' && { folder }),
      ...(stdin !== undefined && { stdin }),
    },
    timeoutMs: stage.attributes.durationMs('timeout') ?? commandMs,
    isIdempotent: stage.attributes.flag('idempotent'),
    ends: plainEnds(stage, reading),
  };
}

/** A command may report by a file; only its exit code carries over. */
function noteReport(stage: Stage, script: string, { notes, placeOf, ways }: StageReading): void {
  const isGate = stage.attributes.flag('goal_gate') && stage.type === 'codergen';
  const isAsked = stage.type === 'codergen' && (isGate || ways.edgesOf(stage.id).length > 1);
  if (!isAsked && stage.attributes.text('status_file') === '' && !/CAIRN_(?:STATUS_FILE|PROMPT_FILE)/.test(script))
    return;
  notes.lost(
    'REPORT',
    placeOf(stage.at),
    `what the command of ${stage.id} reports beside its exit code is not read`,
    'end it with an exit code, or print what follows from it and read its stdout',
  );
}
