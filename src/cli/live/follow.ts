/** Follows a run: shows its progress, asks its questions if a person is there, and stops it cleanly. */
import { watchDeadline } from '../../app/interview/interview.ts';
import {
  choicesOf,
  doubtDecisions,
  happenedWith,
  isAnswerable,
  nodeNameOf,
  type OpenQuestion,
} from '../../operations/waits/find-wait.ts';
import { failureLines } from '../../operations/format/failure-words.ts';
import { describeWorker } from '../../app/process/process-ids.ts';
import { printable, printableLines } from '../../operations/format/terminal.ts';
import { toneOf } from '../text/tone.ts';
import { describeMetadata, describeReplaced, formatWait } from '../text/wait-text.ts';
import { CairnError } from '../../errors.ts';
import type { RunStanding, WatchedEvent } from '../../operations/contract/operation.ts';
import { loadPrompts } from '../screen.ts';
import { atWords, exitCodeOf, isDebugging, reportFailure } from '../report-failure.ts';
import type { Session } from '../session.ts';
import { formatCosts } from '../../operations/format/amounts.ts';
import { formatBlock } from '../text/value.ts';
import { perform } from '../../operations/contract/perform.ts';
import { type App, type AppOptions, openApp } from '../../app/open-app.ts';
import { answerWait } from '../../operations/waits/answer-wait.ts';
import { resumeRun, type ResumeRunInput } from '../../operations/runs/resume-run.ts';
import { relative } from 'node:path';
import { listenForInterrupt } from './interrupt.ts';
import { type LiveView, openLiveView } from './live-view.ts';

// Asks open questions in the terminal.

/** Matches the part of a prompt that lists choices and says how to answer. It is not needed where a list is shown. */
const wayToAnswer = /\n\n(?:Choices:\n(?:.*\n)*\n)?Respond with (?:'yes' or 'no'|the number of your choice\.)\s*$/;

function messageOf(wait: OpenQuestion, isList: boolean): string {
  const prompt =
    wait.prompt ?? (wait.kind === 'doubt' ? `Did the effect of ${nodeNameOf(wait)} happen?` : nodeNameOf(wait));
  const text = isList ? prompt.replace(wayToAnswer, '') : prompt;
  const replaced = describeReplaced(wait);
  return [printableLines(text), ...(replaced === undefined ? [] : [replaced]), ...describeMetadata(wait)].join('\n');
}

/** A person's answer to one question; undefined if they do not want to answer, or the signal has ended the prompt. */
async function askOne(wait: OpenQuestion, signal: AbortSignal): Promise<{ readonly value: unknown } | undefined> {
  const { confirm, isCancel, select, text } = await loadPrompts();
  const choices = choicesOf(wait) ?? (wait.kind === 'doubt' ? doubtDecisions : undefined);
  const message = messageOf(wait, choices !== undefined);
  const { type } = (wait.schema ?? {}) as { readonly type?: unknown };
  if (choices !== undefined && choices.length > 0) {
    const options = choices.map(({ label }, index) => ({ value: index, label: printable(label) }));
    const other = wait.matching === 'open' ? [{ value: choices.length, label: 'something else …' }] : [];
    const picked = await select({ message, options: [...options, ...other], signal });
    if (isCancel(picked)) return undefined;
    const choice = choices[picked];
    if (choice !== undefined && wait.kind === 'doubt' && choice.value === 'happened') return askOutput(signal);
    if (choice !== undefined) return { value: choice.value };
  }
  if (type === 'boolean' && choices === undefined) {
    const isYes = await confirm({ message, signal });
    return isCancel(isYes) ? undefined : { value: isYes };
  }
  // After a list, the question is on the screen already. The prompt draws its border only before the first line, so it is added to the
  // others.
  const prompt = choices === undefined ? message.replaceAll('\n', '\n│  ') : 'Your answer';
  const typed = await text({
    message: prompt,
    signal,
    ...(type === 'object' || type === 'array' ? { placeholder: 'JSON' } : {}),
  });
  // The text is interpreted later, like the text of `cairn answer`.
  return isCancel(typed) ? undefined : { value: typed ?? '' };
}

/** What an effect gave of which somebody says that it happened: later nodes get it. */
async function askOutput(signal: AbortSignal): Promise<{ readonly value: unknown } | undefined> {
  const { isCancel, text } = await loadPrompts();
  const typed = await text({
    message: 'What did it give? Later nodes get this as its output.',
    placeholder: 'JSON or text; nothing: it is recorded as empty',
    signal,
  });
  return isCancel(typed) ? undefined : { value: happenedWith(typed ?? '') };
}

export interface Asking {
  /** Passes an answer to the engine. */
  readonly answer: (wait: OpenQuestion, value: unknown) => Promise<void>;
  /** Tells why an answer was refused, or throws what is no reason to go on. @returns whether to ask again */
  readonly refused: (error: unknown) => boolean;
  readonly say: (line: string) => void;
}

/** Asks one question until it has an answer that fits. @returns whether it is closed: false if the person leaves it open */
async function askUntilClosed(wait: OpenQuestion, asking: Asking): Promise<boolean> {
  const { signal, release } = watchDeadline(wait.dueAt);
  try {
    for (;;) {
      const answer = signal.aborted ? undefined : await askOne(wait, signal);
      if (answer === undefined) {
        if (signal.aborted) asking.say(`The time to answer ${nodeNameOf(wait)} is over; the run goes on.`);
        return signal.aborted;
      }
      try {
        await asking.answer(wait, answer.value);
        return true;
      } catch (error) {
        if (!asking.refused(error)) return true;
      }
    }
  } finally {
    release();
  }
}

/**
 * Asks the open questions one after another. If an answer does not fit, the question is asked again. A prompt ends when the deadline of
 * its question passes.
 *
 * @returns whether the run can go on: a question was answered, by whomever, or its time is over
 */
async function askQuestions(waits: readonly OpenQuestion[], asking: Asking): Promise<boolean> {
  let canGoOn = false;
  for (const wait of waits.filter(isAnswerable)) {
    if (!(await askUntilClosed(wait, asking))) return canGoOn;
    canGoOn = true;
  }
  return canGoOn;
}

// Prints where a run stands: its result, what it waits for, and how to go on.

/** The result of a run: its artifacts; if there are none, its scratch state; else the outputs of its nodes. */
function productOf({ state: { artifacts, scratch, outputs } }: RunStanding): unknown {
  return [artifacts, scratch, outputs].find((part) => Object.keys(part).length > 0);
}

/** Where and when a standing is printed. */
interface Moment {
  readonly now: number;
  /** Whether the store has the run when the command is over. One in memory has not: then no command goes on with it. */
  readonly isStored: boolean;
}

/** What there is to say, instead of a way to go on, of a run in a store in memory. */
function goneWords({ screen }: Session): readonly string[] {
  const words = 'The run is gone with this command: its store is in memory. To keep runs, name a file: --store PATH';
  return atWords(words, screen);
}

function printWaits(session: Session, { runId, waits }: RunStanding, { now, isStored }: Moment): void {
  const { screen, commandLine } = session;
  for (const wait of waits) {
    screen.print('');
    for (const line of formatWait(session, wait, { now, isStored })) screen.print(line);
  }
  const isAsking = waits.some(isAnswerable);
  screen.print('');
  if (!isStored) return screen.print(goneWords(session));
  if (waits.every(({ kind }) => kind === 'refused'))
    return screen.print(
      `That is as far as it goes without acting. What it did: ${screen.paint('good', commandLine('log', runId))}`,
    );
  screen.print(
    `${isAsking ? 'Then go on' : 'Go on when it is time'}: ${screen.paint('good', commandLine('resume', runId))}`,
  );
}

/** Frames of each error that are shown after a run. `cairn show --stack` has all, and so has CAIRN_DEBUG=1. */
const framesShown = 3;
/** Failures that are shown after a run: those that came last, since what failed for good is among them. */
const failuresShown = 5;

/** Prints where in the user's own code the failures arose, and what caused them. Nothing where the message has said all there is. */
function tellFailures({ screen, cwd }: Session, failures: NonNullable<RunStanding['failures']>, said = ''): void {
  const telling = failures.filter(({ stack, causes, again }) => (stack ?? causes ?? again) !== undefined);
  for (const failure of telling.slice(-failuresShown)) {
    const form = { cwd, nameWorker: describeWorker, ...(!isDebugging() && { framesMax: framesShown }) };
    const [first = '', ...more] = failureLines(failure, form);
    const isSaid = failure.attempt === 1 && failure.step === undefined && said.includes(failure.message);
    screen.note(...(isSaid ? [] : atWords(first, screen)), ...more.map((line) => screen.paint('dim', line)));
  }
  const more = telling.length - failuresShown;
  if (more > 0) screen.note(screen.paint('dim', `and ${more} more: --json has them`));
}

function printFailure(
  session: Session,
  { runId, error, failed, failures = [] }: RunStanding,
  { isStored }: Moment,
): void {
  const { screen, commandLine } = session;
  if (failed.length > 0) screen.note(...atWords(`failed: ${printable(failed.join(', '))}`, screen));
  if (error !== undefined) {
    screen.note(...atWords(`${printableLines(error.message)} [${error.code}]`, screen));
  }
  tellFailures(session, failures, error?.message);
  const namesResume = error !== undefined && /\bresume\b/.test(error.hint);
  if (error !== undefined && (isStored || !namesResume)) screen.note(...atWords(printableLines(error.hint), screen));
  if (!isStored) return screen.note(...goneWords(session));
  // Skip the words if the hint says the same already.
  screen.note(`${namesResume ? '  ' : 'Go on: '}${screen.paint('good', commandLine('resume', runId))}`);
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
function printIncomplete({ screen }: Session, { failed, skipped, repeated = [] }: RunStanding): void {
  if (repeated.length > 0)
    screen.note(
      `begun again where the run went on in another process, and may have been done twice, since no effect class is declared: ${printable(repeated.join(', '))}`,
    );
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
    if (standing.outputs !== undefined) printIncomplete(session, standing);
    const product = standing.outputs ?? productOf(standing);
    if (product !== undefined) screen.print(formatBlock(product));
  }
  return code;
}

/**
 * Workflow folders and permissions for a command, and whether it may create the store; commands that start no runs need an existing store.
 */
export type FolderOptions = Pick<AppOptions, 'workflows' | 'allow' | 'makesStore' | 'readOnly' | 'readsConfig'>;

export interface FollowOptions extends FolderOptions {
  /** Id of the run, if it is recorded already. */
  readonly run?: string;
  /** How to resume after an answer. */
  readonly resume?: Omit<ResumeRunInput, 'run'>;
}

/** Makes a function that reports errors beside the run. */
function reportTo({ screen }: Session): (error: unknown) => void {
  return (error) => void reportFailure(error, screen, false);
}

/** Opens the app for one command, and always closes it. */
export async function withApp(
  session: Session,
  act: (app: App) => Promise<number>,
  options: FolderOptions = {},
): Promise<number> {
  const app = await openApp({ ...session, door: 'cli', makesStore: false, ...options, report: reportTo(session) });
  const { skippedCode } = app.config;
  if (skippedCode !== undefined)
    session.screen.note(
      `${printable(relative(session.cwd, skippedCode))} is not run by what only reads; name it with --config if its blocks are needed.`,
    );
  try {
    return await act(app);
  } finally {
    await app.close();
  }
}

const noView: LiveView = { watch: () => undefined, stop: () => undefined };

/** Shows progress while a run is being advanced. */
class Following {
  readonly #session: Session;
  #view: LiveView = noView;
  /** Id of the followed run, as soon as it is known. */
  runId: string | undefined;

  constructor(session: Session, runId: string | undefined) {
    this.#session = session;
    this.runId = runId;
  }

  readonly watch = (event: WatchedEvent): void => {
    this.runId = event.runId;
    this.#view.watch(event);
  };

  async show<Standing extends RunStanding | undefined>(work: () => Promise<Standing>): Promise<Standing> {
    this.#view = this.#session.isJson ? noView : openLiveView(this.#session.screen);
    try {
      const standing = await work();
      this.stop(standing?.waits);
      return standing;
    } finally {
      this.stop();
    }
  }

  stop(waits: readonly OpenQuestion[] = []): void {
    this.#view.stop(waits);
    this.#view = noView;
  }
}

/** Asks the questions of a paused run and resumes it, until it has ended or nobody answers. */
async function askAndResume(
  session: Session,
  app: App,
  following: Following,
  first: RunStanding,
  resume: Omit<ResumeRunInput, 'run'>,
): Promise<RunStanding> {
  let standing = first;
  while (
    session.screen.canAsk &&
    !session.isJson &&
    standing.status === 'paused' &&
    standing.waits.some(isAnswerable)
  ) {
    const { runId } = standing;
    // Who is at this terminal has no name, which four eyes need: `cairn answer --by` gives one.
    const questions = standing.waits.filter(({ fourEyes }) => fourEyes === undefined);
    const canGoOn = await askQuestions(questions, {
      answer: async ({ waitId }, value) =>
        void (await perform(answerWait, app, { run: runId, wait: waitId, value, by: 'person' })),
      refused: (error) => {
        // Somebody else may have answered meanwhile.
        if (!CairnError.is(error, 'ANSWER_INVALID', 'WAIT_CLOSED', 'WAIT_NOT_FOUND')) throw error;
        reportFailure(error, session.screen, false);
        return CairnError.is(error, 'ANSWER_INVALID');
      },
      say: session.screen.note,
    });
    if (!canGoOn) break;
    standing = await following.show(() => perform(resumeRun, app, { run: runId, ...resume }));
  }
  return standing;
}

function tellInterrupted(session: Session, runId: string | undefined, isStored: boolean): void {
  const { screen, commandLine, isJson, printJson } = session;
  if (isJson) printJson({ interrupted: true, ...(runId !== undefined && { runId }) });
  else if (runId === undefined) screen.note('Stopped before the run was recorded.');
  else if (!isStored) screen.note('Stopped.', ...goneWords(session));
  else screen.note(`Stopped. Go on: ${screen.paint('good', commandLine('resume', runId))}`);
}

/**
 * Starts or resumes a run and follows it.
 *
 * @param advance - does that; returns undefined if the run is not to be followed
 */
export async function follow(
  session: Session,
  advance: (app: App) => Promise<RunStanding | undefined>,
  { run, resume = {}, ...options }: FollowOptions = {},
): Promise<number> {
  const following = new Following(session, run);
  const app = await openApp({
    ...session,
    door: 'cli',
    makesStore: false,
    ...options,
    // Who can be asked here is asked at once, though the question has a deadline.
    ...(session.screen.canAsk && !session.isJson && { holdQuestionsMs: 0 }),
    watch: following.watch,
    report: reportTo(session),
  });
  const isStored = app.place.kind !== 'memory';
  const interrupt = listenForInterrupt();
  // The engine's timers do not keep the process alive, so do it here while a person follows the run.
  const stay = setInterval(() => undefined, 60_000);
  const work = async (): Promise<number> => {
    const standing = await following.show(() => advance(app));
    if (standing === undefined) return 0;
    const rest = await askAndResume(session, app, following, standing, resume);
    return printStanding(session, rest, { now: app.now(), isStored });
  };
  try {
    const working = work();
    const ended = await Promise.race([working, interrupt.requested.then((code) => ({ code }))]);
    if (typeof ended === 'number') return ended;
    working.catch(() => undefined);
    following.stop();
    await app.close();
    tellInterrupted(session, following.runId, isStored);
    return ended.code;
  } finally {
    await app.close();
    clearInterval(stay);
    interrupt.release();
  }
}
