/** A command of a stage, run to its end: values reach it by its environment and its input, and it reports by its status file. */
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { NodeFailure, type StepContext } from '../../../graph/contracts/node-contract.ts';
import { StepItemContext } from '../../block-context.ts';
import { asText } from './context-keys.ts';
import type { StageOutcome } from './stage-outcome.ts';
import type { StageContext } from './stage-parts.ts';
import { openStatusFile, type Reported } from './status-file.ts';

/** What is run, and what it is given. */
export interface StageCommand {
  readonly script: string;
  /** Its standard input; also in the file that `CAIRN_PROMPT_FILE` names. */
  readonly prompt?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** How it ended. */
export interface CommandEnd {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly reported: Reported;
}

/** Of a failed command's stderr, in the reason of the failure. */
const reasonMax = 500;

/** @param shell - what runs commands: the block type `Shell` */
export async function runStageCommand(
  stage: StageContext,
  shell: NodeType,
  { script, prompt, env = {} }: StageCommand,
): Promise<CommandEnd> {
  const { ctx, parts, attributes, value } = stage;
  const step = stage.step as StepContext;
  const { timeoutMs } = parts;
  const params = parts.params.map((name) => [name, asText(value(`graph.${name}`))] as const);
  const status = await openStatusFile({ named: attributes.text('status_file'), prompt, key: step.idempotencyKey });
  try {
    const own = {
      ...env,
      CAIRN_STAGE: parts.stage.id,
      CAIRN_STATUS_FILE: status.path,
      ...(status.promptPath !== undefined && { CAIRN_PROMPT_FILE: status.promptPath }),
    };
    const inputs = {
      command: { script, env: { ...Object.fromEntries(params), ...own } },
      'continue-on-error': true,
      ...(prompt !== undefined && { stdin: prompt }),
      ...(timeoutMs !== undefined && { timeout: Math.max(1, Math.ceil(timeoutMs / 1_000)) }),
    };
    const workflow = { name: parts.pipelineName, withheld: parts.withheld };
    const context = new StepItemContext({ ctx, workflow, inputs, fileOutputs: [] }, 'work', step);
    const end = (await shell.run(context)) as { exit_code: number; stdout: string; stderr: string };
    return { exitCode: end.exit_code, stdout: end.stdout, stderr: end.stderr, reported: await status.read() };
  } finally {
    await status.close();
  }
}

/** The failure of a command that exited with another code than 0; what it reported goes with it. */
export function exitFailure({ exitCode, stderr }: CommandEnd, result: Partial<StageOutcome>): NodeFailure {
  const said = stderr.trim().slice(-reasonMax);
  const failureReason = result.failureReason ?? `the command exited with ${exitCode}${said === '' ? '' : `: ${said}`}`;
  const outcome: StageOutcome = { ...result, status: 'fail', failureReason };
  return new NodeFailure(failureReason, { code: 'EXIT_CODE', applied: 'ended', data: { result: outcome } });
}

/** How a stage ended by what its command reported; undefined: it reported nothing, and need not. */
export function reportedOutcome({ attributes }: StageContext, reported: Reported): StageOutcome | undefined {
  if (reported !== undefined && !('fault' in reported)) return reported;
  const isAsked = attributes.text('status_file') !== '' && !attributes.flag('auto_status');
  const fault = reported?.fault ?? (isAsked ? `the stage wrote no ${attributes.text('status_file')}` : undefined);
  if (fault === undefined) return undefined;
  return { status: 'fail', failureReason: `its status cannot be taken: ${fault}` };
}
