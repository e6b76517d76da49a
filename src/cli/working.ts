/** All commands: those that move runs, and the others too, for help and for guesses at mistyped names. */
import { ownProcess } from '../app/process/uncaught-errors.ts';
import { ownOutput } from './files.ts';
import { exit } from 'node:process';
import { answerCommand } from './commands/answer.ts';
import { backupCommand, restoreCommand } from './commands/backup.ts';
import { cancelCommand } from './commands/cancel.ts';
import { forkCommand } from './commands/fork.ts';
import { holdCommand, releaseCommand } from './commands/hold.ts';
import { resumeCommand } from './commands/resume.ts';
import { labelCommand } from './commands/label.ts';
import { rmCommand } from './commands/rm.ts';
import { signalCommand } from './commands/signal.ts';
import { signalWithStartCommand } from './commands/signal-with-start.ts';
import { cleanupCommand } from './commands/cleanup.ts';
import { identityCommand } from './commands/identity.ts';
import { migrateCommand } from './commands/migrate.ts';
import { pruneCommand } from './commands/prune.ts';
import { tagCommand } from './commands/tag.ts';
import { createCompletionCommand } from './commands/completion.ts';
import { inboxCommand } from './commands/inbox.ts';
import { linkCommand } from './commands/link.ts';
import { lsCommand } from './commands/ls.ts';
import { workersCommand } from './commands/workers.ts';
import { limitsCommand } from './commands/limits.ts';
import { checkCommand } from './commands/check.ts';
import { convertCommand } from './commands/convert.ts';
import { commandOf } from './commands/derived.ts';
import { doctorCommand } from './commands/doctor.ts';
import { verifyCommand } from './commands/verify.ts';
import { drawCommand } from './commands/draw.ts';
import { planCommand } from './commands/plan.ts';
import { schemaCommand } from './commands/schema.ts';
import { workflowsCommand } from './commands/workflows.ts';
import { exportCommand } from './commands/export.ts';
import { importCommand } from './commands/import.ts';
import { fmtCommand, lintCommand } from './commands/lint.ts';
import { previewCommand } from './commands/preview.ts';
import { mcpCommand } from './commands/mcp.ts';
import { runRunCommand } from './commands/run.ts';
import { datasetCommand } from './commands/dataset.ts';
import { experimentCommand } from './commands/experiment.ts';
import { scheduleCommand } from './commands/schedule.ts';
import { serveCommand, studioCommand } from './commands/serve.ts';
import { workerCommand } from './commands/worker.ts';
import { historyCommands } from './history-commands.ts';
import type { AnyOperation } from '../operations/contract/operation.ts';
import * as operations from '../operations/table.ts';
import { type CommandGroups, runCommand } from './command-line.ts';
import { withBulk } from './live/bulk.ts';

const byHand: CommandGroups = {
  'Run workflows': [
    runRunCommand,
    lsCommand,
    inboxCommand,
    answerCommand,
    linkCommand,
    withBulk(resumeCommand, 'resume'),
    withBulk(cancelCommand, 'cancel'),
    withBulk(labelCommand, 'label'),
    signalCommand,
    signalWithStartCommand,
    scheduleCommand,
  ],
  'Walk a history, and change it': [
    ...historyCommands,
    previewCommand,
    checkCommand,
    forkCommand,
    datasetCommand,
    experimentCommand,
    tagCommand,
  ],
  'Write workflows': [
    workflowsCommand,
    planCommand,
    lintCommand,
    fmtCommand,
    drawCommand,
    convertCommand,
    schemaCommand,
  ],
  Serve: [studioCommand, serveCommand, mcpCommand, workerCommand, workersCommand, limitsCommand],
  'Keep a store': [
    doctorCommand,
    verifyCommand,
    cleanupCommand,
    pruneCommand,
    withBulk(rmCommand, 'rm'),
    exportCommand,
    importCommand,
    backupCommand,
    restoreCommand,
    holdCommand,
    releaseCommand,
    identityCommand,
    migrateCommand,
  ],
  'In a shell': [createCompletionCommand(() => Object.values(groups).flat())],
};

const named = new Set(Object.values(byHand).flatMap((commands) => commands.map(({ name }) => name)));

/** What needs no words of its own is made of its operation. */
const derived = Object.values<AnyOperation>(operations)
  .filter(({ command }) => command !== undefined && !named.has(command))
  .map(commandOf);

const groups: CommandGroups = { ...byHand, 'Look further': derived };

/** Open handles of a graph's module do not keep the command from ending. */
export async function runArguments(args: readonly string[]): Promise<number> {
  ownProcess();
  const code = await runCommand(groups, args);
  ownOutput().write('', () => exit(code));
  return code;
}
