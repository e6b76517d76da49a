/** A stage that runs a command. Values reach it by environment variables, never as a part of its text. */
import type { NodeType } from '../../../../graph/contracts/node-type.ts';
import { exitFailure, reportedOutcome, runStageCommand } from './command.ts';
import type { StageContext, StageHandler } from '../stage/stage-parts.ts';
import type { StageOutcome } from '../stage/stage-outcome.ts';

/** @param shell - the block type `Shell`, which runs commands */
export function toolHandler(shell: NodeType): StageHandler {
  return {
    effect: 'external',
    isIdempotent: ({ attributes }) => attributes.flag('idempotent'),
    needs: () => [{ kind: 'shell' }],
    run: (stage) => runTool(stage, shell),
  };
}

async function runTool(stage: StageContext, shell: NodeType): Promise<StageOutcome> {
  const end = await runStageCommand(stage, shell, { script: stage.attributes.text('tool_command') });
  const { exitCode, stdout, stderr, reported } = end;
  const own = {
    'tool.output': stdout,
    'tool.exit_code': exitCode,
    'tool.last_line': stdout.trimEnd().split('\n').at(-1)?.trim() ?? '',
  };
  const outcome = reportedOutcome(stage, reported) ?? { status: 'success' as const };
  const result: StageOutcome = { ...outcome, contextUpdates: { ...outcome.contextUpdates, ...own } };
  // Programs that run tests say on stdout what failed.
  if (exitCode !== 0) throw exitFailure(end, stderr.trim() === '' ? stdout : stderr, result);
  return result;
}
