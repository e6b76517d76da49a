/** What a command gets: the screen, the store it was pointed at, and how cairn is called again. */
import { describeWorker } from '../app/process/process-ids.ts';
import { CairnError, errorTable, orderedWords } from '../errors.ts';
import { shownError } from '../operations/contract/perform.ts';
import type { BrokenWorkflow } from '../operations/contract/workflows.ts';
import type { Screen } from './screen.ts';
import { jsonText, printableLines, printable } from '../operations/format/terminal.ts';
import { quote } from './text/terminal-text.ts';
import { fit, wrap } from './text/width.ts';
import { toJson } from './text/value.ts';
import { relative } from 'node:path';
import type { AnyOperation, Field, Fields, Next } from '../operations/contract/operation.ts';
import { missingStore } from '../app/open-store/open-reading.ts';

// Reports an error: what is wrong, what to do, and the exit code from the error table.

type Violation = BrokenWorkflow['violations'][number];

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
 * Prints an error to stderr: one line and its hint, or one JSON document. The stack is printed only with CAIRN_DEBUG=1.
 *
 * @returns the exit code
 */
export function reportFailure(thrown: unknown, screen: Screen, isJson: boolean): number {
  const error = shownError(CairnError.from(thrown)) as CairnError;
  const { code, hint } = error;
  const violations = violationsOf(error);
  if (isJson) screen.note(jsonText({ error: toJson(error.toJSON()) }));
  else if (violations !== undefined) reportViolations(error, violations, screen);
  else {
    const line = `${screen.paint('bad', 'cairn:')} ${readable(messageFor(error))} ${screen.paint('dim', `[${code}]`)}`;
    screen.note(...atWords(line, screen), ...atWords(readable(hint), screen));
  }
  if (process.env['CAIRN_DEBUG'] === '1') screen.note(printableLines(stackOf(error)));
  return exitCodeOf(error);
}

export interface Session {
  readonly screen: Screen;
  readonly isJson: boolean;
  readonly cwd: string;
  /** The option as it was typed. Undefined means the default. */
  readonly storeUrl: string | undefined;
  /** Where its blobs are, as it was typed or as the environment says. Undefined means as configured, else beside the store. */
  readonly blobsUrl: string | undefined;
  /** Whether texts of runs in the store are believed to be files of this user: see `AppOptions`. */
  readonly trustsStore: boolean;
  /** The configuration file that was named. Undefined means that of the folder. */
  readonly configFile: string | undefined;
  /** Whether the folder's configuration is run if it is code. */
  readonly runsConfig: boolean;
  /** Each argument as it was typed, by field; one text for each time it was typed. */
  readonly texts: Readonly<Record<string, readonly string[]>>;
  /** A command as it can be pasted into a shell: `cairn answer RUN yes`, with the store if it is not the default. */
  readonly commandLine: (...words: readonly string[]) => string;
  /** Prints one JSON document on one line. */
  readonly printJson: (value: unknown) => void;
}

/** How this process was called, so that what it prints can be called the same way. */
function nameOfProgram(script: string | undefined, cwd: string, environment: NodeJS.ProcessEnv): string {
  // A script of this name finds the Node that a package brings, where the one on the path may be too old.
  if (environment['npm_lifecycle_event'] === 'cairn') return 'npm run -s cairn --';
  if (script?.endsWith('.ts') === true) return `node ${quote(relative(cwd, script))}`;
  return environment['npm_command'] === 'exec' ? 'npx cairn' : 'cairn';
}

/** The password in the URL of a store on a server, which stands in no command line: other users see those, and shells record them. */
export function splitPassword(storeUrl: string): { readonly url: string; readonly password?: string } {
  const [, before = '', password, after = ''] =
    /^((?:postgres(?:ql)?|rediss?):\/\/[^:@/]*):([^@]*)(@.*)$/s.exec(storeUrl) ?? [];
  if (password === undefined) return { url: storeUrl };
  try {
    return { url: before + after, password: decodeURIComponent(password) };
  } catch {
    return { url: before + after, password };
  }
}

/** What names the same store to another process. A password is omitted: it comes from CAIRN_STORE_PASSWORD. */
export function storeOptions({
  storeUrl,
  blobsUrl,
  configFile,
}: Pick<Session, 'storeUrl' | 'blobsUrl' | 'configFile'>): readonly string[] {
  return [
    ...(storeUrl === undefined ? [] : ['--store', splitPassword(storeUrl).url]),
    ...(blobsUrl === undefined ? [] : ['--blobs', blobsUrl]),
    ...(configFile === undefined ? [] : ['--config', configFile]),
  ];
}

/** Tells what a configuration of the folder grants, before a server or a worker acts on it. */
export function noteGrants({ screen, isJson }: Session, grants: string | undefined): void {
  if (grants !== undefined) screen.note(isJson ? jsonText({ grants }) : `${grants}.`);
}

/**
 * The store and its blobs: as typed, else as the environment says. What is said of blobs there is said of its store, or the folder's own:
 * beside a store that is typed it means nothing, so that two stores never have their blobs in one place unasked.
 */
function placesOf(
  typed: Pick<Session, 'storeUrl' | 'blobsUrl'>,
  { CAIRN_STORE: store, CAIRN_BLOBS: blobs }: NodeJS.ProcessEnv,
): Pick<Session, 'storeUrl' | 'blobsUrl'> {
  const isTyped = typed.storeUrl !== undefined;
  // A variable that is set to nothing is not set.
  return {
    storeUrl: isTyped ? typed.storeUrl : store || undefined,
    blobsUrl: typed.blobsUrl ?? (isTyped ? undefined : blobs || undefined),
  };
}

/** The same session over no store: for commands that read texts alone. */
export const withoutStore = (session: Session): Session => ({ ...session, storeUrl: 'memory:', blobsUrl: undefined });

export function openSession(
  screen: Screen,
  options: {
    readonly isJson: boolean;
    readonly storeUrl: string | undefined;
    readonly blobsUrl: string | undefined;
    readonly configFile: string | undefined;
    readonly runsConfig: boolean;
    readonly texts: Readonly<Record<string, readonly string[]>>;
  },
): Session {
  const cwd = process.cwd();
  const program = nameOfProgram(process.argv[1], cwd, process.env);
  const store = storeOptions(options);
  return {
    ...options,
    ...placesOf(options, process.env),
    // A store that somebody types may be a file that somebody else made.
    trustsStore: options.storeUrl === undefined,
    screen,
    cwd,
    commandLine: (...words) => [program, ...orderedWords([...words, ...store]).map(quote)].join(' '),
    printJson: (value) => screen.print(jsonText(toJson(value))),
  };
}

// Says how many large values went with what was removed, and how many stay.

export function noteBlobs(
  { screen }: Pick<Session, 'screen'>,
  { blobs, blobsLeft = 0 }: { readonly blobs: number; readonly blobsLeft?: number },
): void {
  const values = (count: number): string => `${count} large ${count === 1 ? 'value' : 'values'}`;
  if (blobs > 0) screen.note(`${values(blobs)} that nothing refers to any more went too.`);
  if (blobsLeft > 0)
    screen.note(
      `${values(blobsLeft)} of it ${blobsLeft === 1 ? 'stays' : 'stay'} until a day old: cairn cleanup then removes what nothing refers to.`,
    );
}

// Options that select workflow folders and the permissions of workflows passed as text.

export const workflowsField: Field = {
  type: 'texts',
  description: 'folders of workflows, later ones override earlier ones; default: the configuration, else workflows',
};

export const allowField: Field = {
  type: 'texts',
  description:
    'what workflows given as texts may reach for: inline, shell, net=HOST, fs=/FOLDER, env=NAME, model=NAME, sqlite, workflow=NAME; default: the configuration, else nothing',
};

// Says that a list is empty, and why, if it is because the store does not exist.

/** What to do about a store that does not exist. */
export const namesStore = 'Name the store with --store, or change to the folder it belongs to.';

/** @param words - without a full stop, such as `No runs here` */
export async function noteNone(session: Session, words: string): Promise<void> {
  const missing = await missingStore(session);
  session.screen.note(missing === undefined ? `${words}.` : `${words}: there is no ${printable(missing)}`);
}

// What a command is: data from which all commands are parsed, explained and executed in the same way.

export interface Example {
  readonly line: string;
  readonly does: string;
}

/** A command. Its options are the fields of its operation, and further ones that only a terminal needs. */
export interface Command<Input extends object = object> {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  readonly fields: Fields;
  /** A few more sentences for `--help`. */
  readonly details?: string;
  readonly examples: readonly Example[];
  /** Whether it runs the folder's configuration if that is code. Only for commands that change something. Default no. */
  readonly runsConfig?: true;
  /** Whether it writes to `process.stdout` itself and keeps what user code prints away from it. Default no. */
  readonly ownsOutput?: true;
  /**
   * Runs the command, prints its output, and returns the exit code. It is declared as a method so that commands with any type of input fit
   * in one list.
   */
  execute(session: Session, input: Input): Promise<number>;
}

/** Commands by the operations that may follow another one. */
const commands: Readonly<Record<string, string>> = { resume_run: 'resume' };

/** Prints what may follow, each as the command that does it. */
export function printNext({ screen, commandLine }: Session, follows: readonly Next[] = []): void {
  for (const { operation, input, why } of follows) {
    const command = screen.paint('good', commandLine(commands[operation] ?? operation, input.run));
    screen.print(`${why[0]?.toUpperCase()}${why.slice(1)}: ${command}`);
  }
}

/** What a command has of its operation. @param own - options that only a terminal needs, or reads otherwise */
export function ofOperation(
  {
    name,
    command = name,
    summary,
    input,
  }: Pick<AnyOperation, 'name' | 'command' | 'summary'> & { readonly input: object },
  own: Fields = {},
): Pick<Command, 'name' | 'summary' | 'fields'> {
  return { name: command, summary, fields: { ...input, ...own } };
}
