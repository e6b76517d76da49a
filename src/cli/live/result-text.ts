/** Prints where a run stands: its result, what it waits for, and how to go on. */
import { CairnError } from '../../errors.ts';
import type { RunStanding } from '../../operations/declare/operation.ts';
import { isAnswerable } from '../../operations/waits/find-wait.ts';
import { atWords, exitCodeOf } from '../failure.ts';
import type { Session } from '../session.ts';
import { formatCosts } from '../../operations/words/amounts.ts';
import { printable, printableLines } from '../text/printable.ts';
import { toneOf } from '../text/style.ts';
import { formatBlock } from '../text/value.ts';
import { formatWait } from '../text/wait-text.ts';

/** The result of a run: its artifacts; if there are none, its scratch state; else the outputs of its nodes. */
function productOf({ state: { artifacts, scratch, outputs } }: RunStanding): unknown {
  return [artifacts, scratch, outputs].find((part) => Object.keys(part).length > 0);
}

/** Where and when a standing is printed. */
interface Moment {
  readonly now: number;
  /** Whether the store has the run when the command is over. One in memory has not: then no command goes on with it. */
  readonly isKept: boolean;
}

/** What there is to say, instead of a way to go on, of a run in a store in memory. */
export function goneWords({ screen }: Session): readonly string[] {
  const words = 'The run is gone with this command: its store is in memory. To keep runs, name a file: --store PATH';
  return atWords(words, screen);
}

function printWaits(session: Session, { runId, waits }: RunStanding, { now, isKept }: Moment): void {
  const { screen, commandLine } = session;
  for (const wait of waits) {
    screen.print('');
    for (const line of formatWait(session, wait, { now, isKept })) screen.print(line);
  }
  const isAsking = waits.some(isAnswerable);
  screen.print('');
  if (!isKept) return screen.print(goneWords(session));
  screen.print(
    `${isAsking ? 'Then go on' : 'Go on when it is time'}: ${screen.paint('good', commandLine('resume', runId))}`,
  );
}

function printFailure(session: Session, { runId, error, failed }: RunStanding, { isKept }: Moment): void {
  const { screen, commandLine } = session;
  if (failed.length > 0) screen.note(...atWords(`failed: ${printable(failed.join(', '))}`, screen));
  if (error !== undefined) {
    screen.note(...atWords(`${printableLines(error.message)} [${error.code}]`, screen));
  }
  const isSaid = error !== undefined && /\bresume\b/.test(error.hint);
  if (error !== undefined && (isKept || !isSaid)) screen.note(...atWords(printableLines(error.hint), screen));
  if (!isKept) return screen.note(...goneWords(session));
  // Skip the words if the hint says the same already.
  screen.note(`${isSaid ? '  ' : 'Go on: '}${screen.paint('good', commandLine('resume', runId))}`);
}

/** Tells that the run goes on with the definition it was started with, although its file has changed. */
function tellDefinition({ screen, commandLine }: Session, { runId, status, definition }: RunStanding): void {
  if (definition === undefined) return;
  const { source, became } = definition;
  const file = printable(source);
  const reasons = {
    changed: `${file} has changed since`,
    gone: `${file} is gone`,
    broken: `${file} has faults by now`,
  };
  const other =
    became === 'changed' && status !== 'completed'
      ? ` (take it up: ${commandLine('resume', runId, '--file', source)})`
      : '';
  screen.note(screen.paint('dim', `${reasons[became]}; the run keeps the definition it was started with${other}`));
}

/** Prints nodes that were skipped, or that failed without making the run fail. */
function printLeftOut({ screen }: Session, { failed, skipped }: RunStanding): void {
  if (failed.length > 0) screen.note(`failed: ${printable(failed.join(', '))}`);
  if (skipped.length > 0) screen.note(`skipped: ${printable(skipped.join(', '))}`);
}

/** Prints where a run stands. @returns the exit code: 0 if it is completed or waits, else that of its error */
export function printStanding(session: Session, standing: RunStanding, moment: Moment): number {
  const { runId, status, seq, waits } = standing;
  const error =
    standing.error ??
    new CairnError(status === 'cancelled' ? 'RUN_CANCELLED' : 'NODE_FAILED', {
      runId,
      node: standing.failed[0] ?? runId,
    });
  const code = status === 'failed' || status === 'cancelled' ? exitCodeOf(error) : 0;
  if (session.isJson) {
    session.printJson(standing);
    return code;
  }
  const { screen } = session;
  tellDefinition(session, standing);
  if (standing.forkedFrom !== undefined) {
    const { runId: parent, seq: at } = standing.forkedFrom;
    screen.print(`forked ${printable(runId)} from ${printable(parent)}@${at}`);
  }
  const open = status === 'paused' ? `, ${waits.length} open` : '';
  screen.print(`${screen.paint(toneOf(status), status)} ${printable(runId)}@${seq}${open}`);
  const costs = formatCosts(standing);
  if (costs !== undefined) screen.print(`spent: ${costs}`);
  if (status === 'paused') printWaits(session, standing, moment);
  if (status === 'failed') printFailure(session, standing, moment);
  if (status === 'completed') {
    if (standing.outputs !== undefined) printLeftOut(session, standing);
    const product = standing.outputs ?? productOf(standing);
    if (product !== undefined) screen.print(formatBlock(product));
  }
  return code;
}
