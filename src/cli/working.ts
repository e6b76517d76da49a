/** All commands: those that move runs, and the others too, for help and for guesses at mistyped names. */
import { ownProcess } from '../app/process/uncaught-errors.ts';
import { ownOutput } from './files.ts';
import { exit } from 'node:process';
import { answerCommand } from './commands/answer.ts';
import { backupCommand, restoreCommand } from './commands/backup.ts';
import {
  cancelCommand,
  forkCommand,
  holdCommand,
  releaseCommand,
  resumeCommand,
  rmCommand,
  signalCommand,
} from './commands/runs.ts';
import { cleanupCommand, identityCommand, migrateCommand, pruneCommand, tagCommand } from './commands/store.ts';
import { createCompletionCommand, inboxCommand, lsCommand, workersCommand } from './commands/listings.ts';
import { convertCommand } from './commands/convert.ts';
import { commandOf } from './commands/derived.ts';
import { doctorCommand, verifyCommand } from './commands/doctor.ts';
import { drawCommand, planCommand, schemaCommand, workflowsCommand } from './commands/workflows.ts';
import { exportCommand } from './commands/export.ts';
import { importCommand } from './commands/import.ts';
import { fmtCommand, lintCommand } from './commands/lint.ts';
import { previewCommand } from './commands/preview.ts';
import { mcpCommand } from './commands/mcp.ts';
import { runRunCommand } from './commands/run.ts';
import { scheduleCommand } from './commands/schedule.ts';
import { serveCommand, studioCommand } from './commands/serve.ts';
import { workerCommand } from './commands/worker.ts';
import { historyCommands } from './history-commands.ts';
import type { AnyOperation } from '../operations/contract/operation.ts';
import * as operations from '../operations/table.ts';
import { type CommandGroups, runCommand } from './command-line.ts';

const byHand: CommandGroups = {
  'Run workflows': [
    runRunCommand,
    lsCommand,
    inboxCommand,
    answerCommand,
    resumeCommand,
    cancelCommand,
    signalCommand,
    scheduleCommand,
  ],
  'Walk a history, and change it': [...historyCommands, previewCommand, forkCommand, tagCommand],
  'Write workflows': [
    workflowsCommand,
    planCommand,
    lintCommand,
    fmtCommand,
    drawCommand,
    convertCommand,
    schemaCommand,
  ],
  Serve: [studioCommand, serveCommand, mcpCommand, workerCommand, workersCommand],
  'Keep a store': [
    doctorCommand,
    verifyCommand,
    cleanupCommand,
    pruneCommand,
    rmCommand,
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
