/**
 * A stage for a coding agent that is a separate program. It reads the prompt from its input, and reports by its status file or its last
 * words.
 */
import type { NodeType } from '../../../../graph/contracts/node-type.ts';
import { textOf, type ModelMessage } from '../../../../graph/contracts/model-contract.ts';
import { askingOf, modelNameOf, outcomeOf, shownHead } from './codergen.ts';
import { exitFailure, reportedOutcome, runStageCommand } from './command.ts';
import type { Asking, StageContext, StageHandler } from '../stage/stage-parts.ts';
import type { StageOutcome } from '../stage/stage-outcome.ts';

/** @param shell - the block type `Shell`, which runs commands */
export function commandAgentHandler(shell: NodeType): StageHandler {
  return {
    effect: 'external',
    isIdempotent: ({ attributes }) => attributes.flag('idempotent'),
    needs: () => [{ kind: 'shell' }],
    asks: askingOf,
    run: (stage) => runAgent(stage, shell),
  };
}

async function runAgent(stage: StageContext, shell: NodeType): Promise<StageOutcome> {
  const { earlier, prompt, thread } = stage.asking as Asking;
  const model = modelNameOf(stage.parts.stage);
  const end = await runStageCommand(stage, shell, {
    script: stage.attributes.text('agent_command'),
    prompt: [...earlier.map(spoken), prompt].join('\n\n'),
    env: { ...(thread !== undefined && { CAIRN_THREAD: thread }), ...(model !== 'default' && { CAIRN_MODEL: model }) },
  });
  const { stdout, stderr, exitCode, reported } = end;
  const written = reportedOutcome(stage, reported);
  const outcome = written ?? outcomeOf(stage, stdout);
  const contextUpdates = { ...outcome.contextUpdates, last_response: shownHead(stdout) };
  const result: StageOutcome = { ...outcome, contextUpdates, response: stdout };
  // A failed program's last words are not used as the reason of the failure; its status file is.
  if (exitCode !== 0)
    throw exitFailure(end, stderr, written === undefined ? { contextUpdates, response: stdout } : result);
  return result;
}

/** An earlier turn of the conversation as text, for a program that keeps none itself. */
function spoken(message: ModelMessage): string {
  return message.role === 'tool' ? '' : `[${message.role}]\n${textOf(message.content)}`;
}
