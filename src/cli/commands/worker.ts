/** `cairn worker` */
import { resolve } from 'node:path';
import { openApp, type App, type AppOptions } from '../../app/open-app.ts';
import { knowModules, startWorker, type Worker } from '../../app/worker.ts';
import { CairnError } from '../../errors.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import { allowField, noteGrants, workflowsField, type Command, reportFailure, type Session } from '../session.ts';
import { writeHealth, type Health } from '../files.ts';
import { listenForInterrupt } from '../live/interrupt.ts';
import {
  type failureLines,
  failureText,
  firstOwnFrame,
  placeOfFailure,
} from '../../operations/format/failure-words.ts';
import { printable } from '../../operations/format/terminal.ts';

interface WorkerArguments {
  readonly concurrency?: number;
  readonly graphs?: readonly string[];
  readonly queues?: readonly string[];
  readonly modules?: readonly string[];
  readonly grace?: number;
  readonly healthFile?: string;
  readonly workflows?: readonly string[];
  readonly allow?: readonly string[];
}

const fields: FieldsOf<WorkerArguments> = {
  concurrency: { type: 'integer', description: 'runs it advances at once; default 16' },
  graphs: { type: 'texts', description: 'only runs of these graphs or workflows' },
  queues: { type: 'texts', description: 'only runs of these queues' },
  modules: { type: 'texts', description: 'modules whose graphs it knows, for runs that a program started' },
  grace: { type: 'integer', description: 'seconds that held runs get to come to rest when it is stopped; default 30' },
  healthFile: { type: 'text', description: 'a file that says now and then how it is: time, held runs, last error' },
  workflows: workflowsField,
  allow: allowField,
};

/** A run that has ended or paused here. */
interface Rested {
  readonly runId: string;
  readonly status: string;
  readonly failures?: readonly Failure[];
}

type Failure = Parameters<typeof failureLines>[0];

/** A failure as a line of a log has it. */
interface ShortFailure {
  readonly node: string;
  readonly code?: string;
  readonly message: string;
  /** The innermost line of the user's own code. */
  readonly frame?: string;
}

function inWords({ node, frame, ...error }: ShortFailure): string {
  return `  ${node}: ${failureText(error)}${frame === undefined ? '' : ` at ${frame}`}`;
}

const defaultGraceS = 30;
const heartbeatMs = 5_000;

/** Reports what the worker does: lines for people or programs, and the health file. */
class WorkerReport {
  readonly #session: Session;
  readonly #healthFile: string | undefined;
  #status: Health['status'] = 'working';
  #lastError: Health['lastError'];
  #ownedRuns: () => readonly string[] = () => [];

  constructor(session: Session, healthFile: string | undefined) {
    this.#session = session;
    this.#healthFile = healthFile === undefined ? undefined : resolve(session.cwd, healthFile);
  }

  attach(worker: Worker): void {
    this.#ownedRuns = () => worker.runs();
    this.write();
  }

  turn(status: Health['status']): void {
    this.#status = status;
    this.write();
  }

  readonly onTaken = (runId: string): void => this.#tell('taken', runId);

  readonly onRested = ({ runId, status, failures = [] }: Rested): void => {
    const failure = status === 'failed' ? failures.at(-1) : undefined;
    this.#tell(status, runId, failure && this.#shortFailure(failure));
  };

  /** Which node failed, why, and in which line of the user's own code. */
  #shortFailure(failure: Failure): ShortFailure {
    const { code, message } = failure;
    const frame = firstOwnFrame(failure, this.#session.cwd);
    return { node: placeOfFailure(failure), ...(code !== undefined && { code }), message, ...(frame && { frame }) };
  }

  readonly onError = (runId: string, thrown: unknown): void => {
    const { code, message } = CairnError.from(thrown);
    this.#lastError = { at: new Date().toISOString(), ...(runId !== '' && { runId }), code, message };
    const { screen, isJson } = this.#session;
    if (runId !== '' && !isJson) screen.note(`${printable(runId)}:`);
    reportFailure(thrown, screen, isJson);
    this.write();
  };

  #tell(event: string, runId: string, failure?: ShortFailure): void {
    if (this.#session.isJson) this.#session.printJson({ event, runId, ...failure });
    else this.#session.screen.print(`${event.padEnd(9)}  ${printable(runId)}${failure ? inWords(failure) : ''}`);
    this.write();
  }

  /** Writes the health file. @throws CONFIG_INVALID it cannot be written; whoever watches it would think that the worker is dead */
  write(): void {
    if (this.#healthFile === undefined) return;
    try {
      const lastError = this.#lastError;
      writeHealth(this.#healthFile, { status: this.#status, runs: this.#ownedRuns(), ...(lastError && { lastError }) });
    } catch (error) {
      throw new CairnError(
        'CONFIG_INVALID',
        { path: 'health-file', reason: (error as Error).message },
        { cause: error },
      );
    }
  }
}

/** Gives runs in progress some time to end or pause. The rest are released when the app closes. */
async function drain(worker: Worker, graceMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const isOver = new Promise<void>((done) => (timer = setTimeout(done, graceMs)));
  await Promise.race([worker.stop(), isOver]);
  clearTimeout(timer);
}

async function work(session: Session, app: App, input: WorkerArguments, opened: AppOptions): Promise<number> {
  const { concurrency, graphs, queues, modules, grace = defaultGraceS, healthFile } = input;
  const report = new WorkerReport(session, healthFile);
  // Before the report: whoever reads it may send a signal at once.
  const interrupt = listenForInterrupt();
  report.write();
  const told: Parameters<typeof startWorker>[1] = {
    ...(concurrency !== undefined && { concurrency }),
    ...(graphs !== undefined && { graphs }),
    ...(queues !== undefined && { queues }),
    onTaken: report.onTaken,
    onError: report.onError,
    onRested: (result) => {
      report.onRested(result);
      void app.rested?.(result);
    },
  };
  const worker = startWorker(app, told, { ...opened, modules });
  report.attach(worker);
  const heartbeat = setInterval(() => report.write(), heartbeatMs);
  try {
    if (!session.isJson) session.screen.note(`Working on ${app.store.name}. Ctrl-C or SIGTERM: finish and stop.`);
    await interrupt.requested;
    report.turn('draining');
    await drain(worker, 1000 * grace);
    await app.close();
    report.turn('stopped');
    return 0;
  } finally {
    clearInterval(heartbeat);
    interrupt.release();
  }
}

export const workerCommand: Command<WorkerArguments> = {
  name: 'worker',
  summary: 'advance runs that can go on, until it is stopped',
  fields,
  details:
    'Takes up what is detached, answered, signalled or due, and what a process that died has left. Several may work on one store. SIGTERM or Ctrl-C: it takes nothing more, lets what it holds come to rest, hands back what does not in time, and ends with 0; a second signal ends it at once.',
  examples: [
    { line: 'cairn worker', does: 'beside the store of this folder' },
    {
      line: 'cairn worker --concurrency 4 --queues mail --health-file /run/cairn.json',
      does: 'of one queue, watched over',
    },
    { line: 'cairn worker --modules approval.ts', does: 'also runs that a program with this graph started' },
  ],
  runsConfig: true,
  async execute(session, input) {
    const { concurrency, workflows, allow, modules = [] } = input;
    if (concurrency === 0) throw new CairnError('USAGE_INVALID', { reason: '--concurrency takes 1 or more' });
    const opened = {
      ...session,
      workflows,
      allow,
      // A worker looks for due runs each second, so it need not stay with a run that sleeps. Then sleeping runs use no place and do not
      // delay stopping.
      holdTimersMs: 0,
      cleanUpEvery: 'configured',
      report: (error: unknown) => void reportFailure(error, session.screen, session.isJson),
    } as const;
    const app = await openApp(opened);
    try {
      noteGrants(session, app.grantsNote);
      await knowModules(app, session.cwd, modules);
      return await work(session, app, input, opened);
    } finally {
      await app.close();
    }
  },
};
