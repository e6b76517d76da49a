/** Errors that nobody caught, and calls of `process.exit`, in the code of nodes: they fail an attempt, not the process (E6.9). */
import { syncBuiltinESMExports } from 'node:module';
import { currentAttempt, takeStrayError, type StrayError } from '../../engine/live-run/attempt-scope.ts';
import { CairnError } from '../../errors.ts';
import { printableLines } from '../../operations/format/terminal.ts';

type Origin = 'unhandledRejection' | 'uncaughtException';

const origins: readonly Origin[] = ['unhandledRejection', 'uncaughtException'];
const words: Readonly<Record<Origin, string>> = {
  unhandledRejection: 'a promise that nobody awaited was rejected',
  uncaughtException: 'an error was thrown that nobody caught',
};

const onRejection = (error: unknown): void => take('unhandledRejection', error);
const onException = (error: unknown): void => take('uncaughtException', error);
const listeners = { unhandledRejection: onRejection, uncaughtException: onException };
let users = 0;
let isOwned = false;

/**
 * From now on an error that nobody caught fails the attempt of the node or step in whose code it arose; if that has ended, it is a warning
 * of the run. Each is told by a warning of the process (`CAIRN_UNCAUGHT`). An error of no node's code ends the process, as always, unless
 * the program listens for it itself. @returns ends this
 */
export function catchUncaughtErrors(): () => void {
  users += 1;
  if (users === 1) for (const origin of origins) process.on(origin, listeners[origin]);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    users -= 1;
    if (users === 0) stop();
  };
}

function stop(): void {
  for (const origin of origins) process.off(origin, listeners[origin]);
}

function take(origin: Origin, error: unknown): void {
  const stray = takeStrayError(error);
  if (stray !== undefined) return warn(stray, words[origin]);
  if (process.listenerCount(origin) > 1) return;
  // As Node does where nobody listens.
  stop();
  if (origin === 'unhandledRejection') throw error;
  queueMicrotask(() => {
    throw error;
  });
}

function warn({ runId, node, step, isFailing, text }: StrayError, what: string): void {
  const place = `${node.join('/')}${step === undefined ? '' : `:${step}`}`;
  const follows = isFailing ? 'its attempt fails' : 'its attempt had ended, and nothing fails';
  const detail = text === undefined ? {} : { detail: printableLines(text) };
  process.emitWarning(printableLines(`in node ${place} of run ${runId}: ${what}; ${follows}`), {
    code: 'CAIRN_UNCAUGHT',
    ...detail,
  });
}

/**
 * Makes this process our own, as every command's that works on runs is: errors that nobody caught fail attempts, and so does
 * `process.exit` in the code of a node (`NODE_EXITED`).
 */
export function ownProcess(): void {
  if (isOwned) return;
  isOwned = true;
  catchUncaughtErrors();
  const exit = process.exit.bind(process);
  process.exit = (code): never => {
    const label = currentAttempt();
    if (label === undefined) return exit(code);
    const exitCode = Number(code ?? process.exitCode ?? 0);
    const error = new CairnError('NODE_EXITED', { node: label.node.join('/'), exitCode });
    const stray = takeStrayError(error);
    if (stray !== undefined) warn(stray, 'process.exit was called');
    throw error;
  };
  // Also for those who imported it by its name.
  syncBuiltinESMExports();
}
