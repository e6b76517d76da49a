/** Follows a run: shows its progress, asks its questions if a person is there, and stops it cleanly. */
import { perform } from '../../operations/declare/perform.ts';
import { type App, type AppOptions, openApp } from '../../app/open-app.ts';
import { CairnError } from '../../errors.ts';
import { answerWait } from '../../operations/waits/answer-wait.ts';
import { isAnswerable, type OpenQuestion } from '../../operations/waits/find-wait.ts';
import type { RunStanding, WatchedEvent } from '../../operations/declare/operation.ts';
import { resumeRun, type ResumeRunInput } from '../../operations/runs/resume-run.ts';
import { relative } from 'node:path';
import { printable } from '../text/printable.ts';
import { askQuestions } from './ask.ts';
import { reportFailure } from '../failure.ts';
import { listenForInterrupt } from './interrupt.ts';
import { type LiveView, openLiveView } from './live-view.ts';
import { goneWords, printStanding } from './result-text.ts';
import type { Session } from '../session.ts';

/**
 * Workflow folders and permissions for a command, and whether it may create the store; commands that start no runs need an existing store.
 */
export type FolderOptions = Pick<AppOptions, 'workflows' | 'allow' | 'makesStore' | 'readsConfig'>;

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
  const app = await openApp({ ...session, makesStore: false, ...options, report: reportTo(session) });
  const { codeLeftOut } = app.config;
  if (codeLeftOut !== undefined)
    session.screen.note(
      `${printable(relative(session.cwd, codeLeftOut))} is not run by what only reads; name it with --config if its blocks are needed.`,
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
    const canGoOn = await askQuestions(standing.waits, {
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

function tellInterrupted(session: Session, runId: string | undefined, isKept: boolean): void {
  const { screen, commandLine, isJson, printJson } = session;
  if (isJson) printJson({ interrupted: true, ...(runId !== undefined && { runId }) });
  else if (runId === undefined) screen.note('Stopped before the run was recorded.');
  else if (!isKept) screen.note('Stopped.', ...goneWords(session));
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
    makesStore: false,
    ...options,
    // Who can be asked here is asked at once, though the question has a deadline.
    ...(session.screen.canAsk && !session.isJson && { holdAskedMs: 0 }),
    watch: following.watch,
    report: reportTo(session),
  });
  const isKept = app.place.kind !== 'memory';
  const interrupt = listenForInterrupt();
  // The engine's timers do not keep the process alive, so do it here while a person follows the run.
  const stay = setInterval(() => undefined, 60_000);
  const work = async (): Promise<number> => {
    const standing = await following.show(() => advance(app));
    if (standing === undefined) return 0;
    const rest = await askAndResume(session, app, following, standing, resume);
    return printStanding(session, rest, { now: app.now(), isKept });
  };
  try {
    const working = work();
    const ended = await Promise.race([working, interrupt.asked.then((code) => ({ code }))]);
    if (typeof ended === 'number') return ended;
    working.catch(() => undefined);
    following.stop();
    await app.close();
    tellInterrupted(session, following.runId, isKept);
    return ended.code;
  } finally {
    await app.close();
    clearInterval(stay);
    interrupt.release();
  }
}
