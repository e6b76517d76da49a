/** Runs the command of a stage. Values reach it by its environment and its input, and it reports by its status file. */
import { constants } from 'node:os';
import type { NodeType } from '../../../../graph/contracts/node-type.ts';
import { NodeFailure, type StepContext } from '../../../../graph/contracts/node-contract.ts';
import { StepItemContext } from '../../../block-context.ts';
import { asText } from '../context/context-keys.ts';
import { cutMiddle } from '../prompt/cut.ts';
import type { StageOutcome } from '../stage/stage-outcome.ts';
import type { StageContext } from '../stage/stage-parts.ts';
import { openStatusFile, type Reported } from './status-file.ts';

/** The command and its inputs. */
export interface StageCommand {
  readonly script: string;
  /** The standard input. Also written to the file that `CAIRN_PROMPT_FILE` names. */
  readonly prompt?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** How the command ended. */
export interface CommandEnd {
  /** Of a command that a signal ended, 128 and the number of the signal. */
  readonly exitCode: number;
  /** Whether a signal ended it: it may have stopped anywhere in its work. Otherwise it came to its own end. */
  readonly isCutOff: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly reported: Reported;
}

/** Characters of what a failed command said that its reason shows. Some programs say first what is wrong, and where after that; others last. */
const reasonMax = 600;

/** @param shell - the block type `Shell`, which runs commands */
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
      working_dir: parts.folder,
      ...(prompt !== undefined && { stdin: prompt }),
      ...(timeoutMs !== undefined && { timeout: Math.max(1, Math.ceil(timeoutMs / 1_000)) }),
    };
    const workflow = { name: parts.pipelineName, withheld: parts.withheld };
    const context = new StepItemContext({ ctx, workflow, inputs, fileOutputs: [] }, 'work', step);
    const end = await Promise.resolve(shell.run(context)).then((output) => endOf(output, false), endOfFailed);
    return { ...end, reported: await status.read() };
  } finally {
    await status.close();
  }
}

function endOf(output: unknown, isCutOff: boolean): Omit<CommandEnd, 'reported'> {
  const { exit_code: exitCode, stdout, stderr } = output as { exit_code: number; stdout: string; stderr: string };
  return { exitCode, isCutOff, stdout, stderr };
}

/** An exit code that is not 0 is no fault yet: what the command reported belongs to its failure. @throws every other failure */
function endOfFailed(error: unknown): Omit<CommandEnd, 'reported'> {
  if (!(error instanceof NodeFailure) || error.code !== 'EXIT_CODE') throw error;
  return endOf(error.data, error.applied !== 'ended');
}

function describeEnd({ exitCode, isCutOff }: CommandEnd): string {
  if (!isCutOff) return `exited with ${exitCode}`;
  const [signal] = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128) ?? ['a signal'];
  return `was ended by ${signal}`;
}

/**
 * The failure for a command whose exit code is not 0. It carries what the command reported. One that a signal ended is in doubt: its work
 * may be half done (X3).
 *
 * @param words - what it said of the reason
 */
export function exitFailure(end: CommandEnd, words: string, result: Partial<StageOutcome>): NodeFailure {
  const said = cutMiddle(words.trim(), reasonMax);
  const failureReason = result.failureReason ?? `the command ${describeEnd(end)}${said === '' ? '' : `: ${said}`}`;
  const outcome: StageOutcome = { ...result, status: 'fail', failureReason };
  const data = { result: outcome };
  return new NodeFailure(failureReason, { code: 'EXIT_CODE', data, ...(!end.isCutOff && { applied: 'ended' }) });
}

/** How the stage ended, by the command's report. Undefined if there is none, and none is required. */
export function reportedOutcome({ attributes }: StageContext, reported: Reported): StageOutcome | undefined {
  if (reported !== undefined && !('fault' in reported)) return reported;
  const isAsked = attributes.text('status_file') !== '' && !attributes.flag('auto_status');
  const fault = reported?.fault ?? (isAsked ? `the stage wrote no ${attributes.text('status_file')}` : undefined);
  if (fault === undefined) return undefined;
  return { status: 'fail', failureReason: `its status cannot be taken: ${fault}` };
}
