/** Reports an error: what is wrong, what to do, and the exit code from the error table. */
import { describeWorker } from '../app/process/process-ids.ts';
import { CairnError, errorTable } from '../errors.ts';
import { shownError } from '../operations/contract/perform.ts';
import type { BrokenWorkflow } from '../operations/contract/workflows.ts';
import type { Screen } from './screen.ts';
import { jsonText, printableLines } from '../operations/format/terminal.ts';
import { fit, wrap } from './text/width.ts';
import { toJson } from './text/value.ts';

type Violation = BrokenWorkflow['violations'][number];

/** Whether whoever runs a command wants to see where errors come from. */
export function isDebugging(): boolean {
  return process.env['CAIRN_DEBUG'] === '1';
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}

/** Lines longer than this are cut, because they contain some huge id or value. */
const longestLine = 500;

function readable(text: string): string {
  return printableLines(text)
    .split('\n')
    .map((line) => fit(line, longestLine))
    .join('\n');
}

export function exitCodeOf(error: CairnError): number {
  return errorTable[error.code]?.exit ?? errorTable.INTERNAL.exit;
}

/** The violations listed in an error, if it has any. */
function violationsOf({ data: { violations } }: CairnError): readonly Violation[] | undefined {
  return Array.isArray(violations) && violations.length > 0 ? (violations as readonly Violation[]) : undefined;
}

/** A fault of a graph: its place and what is wrong, and under it what to do. */
export function formatViolation(
  { severity, place, message, fix }: Violation,
  { width, paint }: Pick<Screen, 'width' | 'paint'>,
): readonly string[] {
  const column = Math.max(20, Math.min(width, 120) - 4);
  const isWarning = severity === 'warning';
  return [
    `  ${paint(isWarning ? 'warn' : 'bad', printableLines(place))}${isWarning ? '  warning' : ''}`,
    ...wrap(readable(message), column).map((line) => `    ${line}`),
    ...wrap(readable(fix), column).map((line) => `    ${paint('dim', line)}`),
  ];
}

function reportViolations(error: CairnError, violations: readonly Violation[], screen: Screen): void {
  const { code } = error;
  const title =
    code === 'CONVERSION_LOSSY' ? readable(error.message.split(':\n')[0] ?? '') : invalidTitle(error, violations);
  screen.note(`${screen.paint('bad', 'cairn:')} ${title} ${screen.paint('dim', `[${code}]`)}`);
  for (const violation of violations) screen.note(...formatViolation(violation, screen));
}

function invalidTitle({ data }: CairnError, violations: readonly Violation[]): string {
  const count = violations.filter(({ severity }) => severity === 'error').length;
  const { graphId = 'the graph' } = data as { readonly graphId?: string };
  return `${readable(graphId)} is not valid: ${count} fault${count === 1 ? '' : 's'}`;
}

/** The message, with the worker that holds the run described in words. */
function messageFor({ code, message, data }: CairnError): string {
  const { owner } = data;
  if (code !== 'CLAIM_TAKEN' || typeof owner !== 'string') return message;
  return new CairnError(code, { ...data, owner: describeWorker(owner) }).message;
}

/** Wraps text at words for people. Without a terminal it is not wrapped, because programs search for whole messages. */
export function atWords(text: string, { isTerminal, width }: Pick<Screen, 'isTerminal' | 'width'>): readonly string[] {
  return isTerminal ? wrap(text, width) : [text];
}

/**
 * Prints an error to stderr: one line and its hint, or one JSON document. The stack is part of it only with CAIRN_DEBUG=1.
 *
 * @returns the exit code
 */
export function reportFailure(thrown: unknown, screen: Screen, isJson: boolean): number {
  const error = shownError(CairnError.from(thrown)) as CairnError;
  const { code, hint } = error;
  const violations = violationsOf(error);
  const stack = isDebugging() ? printableLines(stackOf(error)) : undefined;
  if (isJson)
    screen.note(jsonText({ error: { ...(toJson(error.toJSON()) as object), ...(stack !== undefined && { stack }) } }));
  else if (violations !== undefined) reportViolations(error, violations, screen);
  else {
    const line = `${screen.paint('bad', 'cairn:')} ${readable(messageFor(error))} ${screen.paint('dim', `[${code}]`)}`;
    screen.note(...atWords(line, screen), ...atWords(readable(hint), screen));
  }
  if (stack !== undefined && !isJson) screen.note(stack);
  return exitCodeOf(error);
}
