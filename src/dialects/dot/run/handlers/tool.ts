/** A stage that runs a command. Values reach it by environment variables, never as a part of its text. */
import { constants } from 'node:fs';
import { lstat, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir, constants as constants2 } from 'node:os';
import { join, resolve } from 'node:path';
import { readReport, type StageOutcome } from '../stage/stage-outcome.ts';
import type { NodeType } from '../../../../graph/contracts/node-type.ts';
import { NodeFailure, type StepContext } from '../../../../graph/contracts/node-contract.ts';
import { StepItemContext } from '../../../block-context.ts';
import { asText } from '../context/context-reader.ts';
import { cutMiddle } from '../prompt/preamble.ts';
import type { StageContext, StageHandler } from '../stage/attempts.ts';

// The file in which a command reports how its stage ended. The file is checked, and an old one is recognized: a file in the command's own
// folder may have been written by an earlier run.

/** The report of a command, or why it is not valid. Undefined means that there is none. */
export type Reported = StageOutcome | { readonly fault: string } | undefined;

/** The files of one attempt. They are not in the folders in which stages work. */
export interface StatusFile {
  readonly path: string;
  /** Path of a file with the prompt. Undefined if there is no prompt. */
  readonly promptPath: string | undefined;
  read(): Promise<Reported>;
  /** Removes the files that we made. */
  close(): Promise<void>;
}

const bytesMax = 1024 * 1024;

/**
 * Opens the status file of one attempt, in a new folder or at the path that the pipeline names.
 * @param named - path relative to the folder where the process was started
 * @param key - key of the attempt. A report with another key belongs to another attempt.
 */
async function openStatusFile({
  named,
  prompt,
  key,
  ownOutcomes,
}: {
  readonly named: string;
  readonly prompt: string | undefined;
  readonly key: string;
  /** Outcomes of the author's own, which edges name. */
  readonly ownOutcomes: ReadonlySet<string>;
}): Promise<StatusFile> {
  const folder = await mkdtemp(join(tmpdir(), 'cairn-stage-'));
  const path = named === '' ? join(folder, 'status.json') : resolve(named);
  const promptPath = prompt === undefined ? undefined : join(folder, 'prompt.md');
  if (promptPath !== undefined) await writeFile(promptPath, prompt ?? '', { mode: 0o600 });
  const before = await identityOf(path);
  return {
    path,
    promptPath,
    async read() {
      const now = await identityOf(path);
      if (now === undefined) return undefined;
      if (now === before) return { fault: `${path} is older than this attempt: the stage wrote none` };
      return readAt(path, key, ownOutcomes);
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Identifies one version of the file. Undefined if there is no file. */
async function identityOf(path: string): Promise<string | undefined> {
  const found = await lstat(path, { bigint: true }).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(String((error as { code?: unknown }).code))) return undefined;
    throw error;
  });
  return found && `${found.ino} ${found.mtimeNs} ${found.ctimeNs} ${found.size}`;
}

async function readAt(path: string, key: string, ownOutcomes: ReadonlySet<string>): Promise<Reported> {
  const text = await readText(path);
  if (typeof text !== 'string') return text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `${path} is no JSON: ${(error as Error).message}` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { fault: `${path} holds no object` };
  const report = value as Readonly<Record<string, unknown>>;
  const { key: reportedKey } = report;
  if (reportedKey !== undefined && reportedKey !== key)
    return { fault: `${path} is of another attempt: its key is not this one's` };
  return readReport(report, ownOutcomes);
}

/** Reads the file. It may be a link or a pipe, so links are not followed and reads do not wait. */
async function readText(path: string): Promise<string | { readonly fault: string }> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const { size, isFile } = await file.stat().then((stat) => ({ size: stat.size, isFile: stat.isFile() }));
      if (!isFile) return { fault: `${path} is no regular file` };
      if (size > bytesMax) return { fault: `${path} has ${size} bytes, over the limit of ${bytesMax}` };
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    return { fault: `${path} cannot be read (${String((error as { code?: unknown }).code)})` };
  }
}

// Runs the command of a stage. Values reach it by its environment and its input, and it reports by its status file.

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

/**
 * Characters of what a failed command said that its reason shows. Some programs say first what is wrong, and where after that; others last.
 */
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
  const status = await openStatusFile({
    named: attributes.text('status_file'),
    prompt,
    key: step.idempotencyKey,
    ownOutcomes: parts.ownOutcomes,
  });
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
  const [signal] = Object.entries(constants2.signals).find(([, number]) => number === exitCode - 128) ?? ['a signal'];
  return `was ended by ${signal}`;
}

/**
 * The failure for a command whose exit code is not 0. It carries what the command reported. One that a signal ended is in doubt: its work
 * may be half done (X3).
 *
 * @param words - what it said of the reason
 */
export function exitFailure(end: CommandEnd, words: string, result: Partial<StageOutcome>): NodeFailure {
  const excerpt = cutMiddle(words.trim(), reasonMax);
  const failureReason =
    result.failureReason ?? `the command ${describeEnd(end)}${excerpt === '' ? '' : `: ${excerpt}`}`;
  const outcome: StageOutcome = { ...result, status: 'fail', failureReason };
  const data = { result: outcome };
  return new NodeFailure(failureReason, { code: 'EXIT_CODE', data, ...(!end.isCutOff && { applied: 'ended' }) });
}

/** How the stage ended, by the command's report. Undefined if there is none, and none is required. */
export function reportedOutcome({ attributes }: StageContext, reported: Reported): StageOutcome | undefined {
  if (reported !== undefined && !('fault' in reported)) return reported;
  const isRequired = attributes.text('status_file') !== '' && !attributes.flag('auto_status');
  const fault = reported?.fault ?? (isRequired ? `the stage wrote no ${attributes.text('status_file')}` : undefined);
  if (fault === undefined) return undefined;
  return { status: 'fail', failureReason: `its status cannot be taken: ${fault}` };
}

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
