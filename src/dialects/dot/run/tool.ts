/** A stage that runs a command. Values reach it through variables of its environment, never as a part of its text. */
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { NodeFailure, type StepContext } from '../../../graph/contracts/node-contract.ts';
import { StepItemContext } from '../../block-context.ts';
import { asText } from './context-keys.ts';
import type { StageContext, StageHandler } from './stage-parts.ts';
import type { StageOutcome } from './stage-outcome.ts';

interface CommandOutput {
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Of a failed command's stderr, in the reason of the failure. */
const reasonMax = 500;

/** @param shell - what runs commands: the block type `Shell` */
export function toolHandler(shell: NodeType): StageHandler {
  return {
    effect: 'external',
    isIdempotent: ({ attributes }) => attributes.flag('idempotent'),
    needs: () => [{ kind: 'shell' }],
    run: (stage) => runTool(stage, shell),
  };
}

async function runTool(stage: StageContext, shell: NodeType): Promise<StageOutcome> {
  const { ctx, parts, attributes, value } = stage;
  const { timeoutMs } = parts;
  const env = Object.fromEntries(parts.params.map((name) => [name, asText(value(`graph.${name}`))]));
  const inputs = {
    command: { script: attributes.text('tool_command'), env },
    'continue-on-error': true,
    ...(timeoutMs !== undefined && { timeout: Math.max(1, Math.ceil(timeoutMs / 1_000)) }),
  };
  const workflow = { name: parts.pipelineName, withheld: parts.withheld };
  const context = new StepItemContext({ ctx, workflow, inputs, fileOutputs: [] }, 'work', stage.step as StepContext);
  const { exit_code: exitCode, stdout, stderr } = (await shell.run(context)) as CommandOutput;
  const contextUpdates = {
    'tool.output': stdout,
    'tool.exit_code': exitCode,
    'tool.last_line': stdout.trimEnd().split('\n').at(-1)?.trim() ?? '',
  };
  if (exitCode === 0) return { status: 'success', contextUpdates };
  const said = stderr.trim().slice(-reasonMax);
  const failureReason = `the command exited with ${exitCode}${said === '' ? '' : `: ${said}`}`;
  const result: StageOutcome = { status: 'fail', failureReason, contextUpdates };
  throw new NodeFailure(failureReason, { code: 'EXIT_CODE', applied: 'ended', data: { result } });
}
