/** `cairn worker` */
import { resolve } from 'node:path';
import { openHealth, type ProbePort } from '../../app/health.ts';
import { openApp, type App } from '../../app/open-app.ts';
import { knowModules, startWorker, versionings, type Versioning, type Worker } from '../../app/worker.ts';
import { CairnError } from '../../errors.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import { allowField, healthPortField, workflowsField, type Command } from '../command.ts';
import type { Session } from '../session.ts';
import { writeHealth, type Health } from '../files.ts';
import { parseAddress } from '../parse.ts';
import { listenForInterrupt } from '../live/interrupt.ts';
import { logLevelField, openLog } from '../logs.ts';
import { logFault, type Log, type LogThreshold } from '../../app/log/line-log.ts';
import { createMetrics } from '../../app/metrics/metrics.ts';

interface WorkerArguments {
  readonly concurrency?: number;
  readonly graphs?: readonly string[];
  readonly queues?: readonly string[];
  readonly versioning?: Versioning;
  readonly modules?: readonly string[];
  readonly grace?: number;
  readonly healthFile?: string;
  readonly healthPort?: string;
  readonly logLevel?: LogThreshold;
  readonly workflows?: readonly string[];
  readonly allow?: readonly string[];
}

const fields: FieldsOf<WorkerArguments> = {
  concurrency: { type: 'integer', description: 'runs it advances at once; default 16' },
  graphs: { type: 'texts', description: 'only runs of these graphs or workflows' },
  queues: { type: 'texts', description: 'only runs of these queues' },
  versioning: {
    type: 'text',
    choices: versionings,
    description:
      'runs of another version: only those that no worker has the code of (prefer), or none (pinned); default prefer',
  },
  modules: { type: 'texts', description: 'modules whose graphs it knows, for runs that a program started' },
  grace: { type: 'integer', description: 'seconds that held runs get to come to rest when it is stopped; default 30' },
  healthFile: { type: 'text', description: 'a file that says now and then how it is: time, held runs, last error' },
  healthPort: healthPortField,
  logLevel: logLevelField,
  workflows: workflowsField,
  allow: allowField,
};

const defaultGraceS = 30;
const heartbeatMs = 5_000;

/** Says in the health file how the worker is. */
class HealthFile {
  readonly #path: string | undefined;
  #status: Health['status'] = 'working';
  #lastError: Health['lastError'];
  #ownedRuns: () => readonly string[] = () => [];

  /** @param path - undefined: there is none */
  constructor(path: string | undefined) {
    this.#path = path;
  }

  attach(worker: Worker): void {
    this.#ownedRuns = () => worker.runs();
    this.write();
  }

  turn(status: Health['status']): void {
    this.#status = status;
    this.write();
  }

  readonly failed = (runId: string, thrown: unknown): void => {
    const { code, message } = CairnError.from(thrown);
    this.#lastError = { at: new Date().toISOString(), ...(runId !== '' && { runId }), code, message };
    this.write();
  };

  /** Writes the health file. @throws CONFIG_INVALID it cannot be written; whoever watches it would think that the worker is dead */
  write(): void {
    if (this.#path === undefined) return;
    try {
      const lastError = this.#lastError;
      writeHealth(this.#path, { status: this.#status, runs: this.#ownedRuns(), ...(lastError && { lastError }) });
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

interface Working {
  readonly input: WorkerArguments;
  readonly log: Log;
  readonly health: ProbePort | undefined;
}

async function work({ cwd }: Session, app: App, { input, log, health }: Working): Promise<number> {
  const { concurrency, graphs, queues, versioning = app.config.versioning, grace = defaultGraceS, healthFile } = input;
  const file = new HealthFile(healthFile === undefined ? undefined : resolve(cwd, healthFile));
  // Before the report: whoever reads it may send a signal at once.
  const interrupt = listenForInterrupt();
  file.write();
  const options: Parameters<typeof startWorker>[1] = {
    ...(concurrency !== undefined && { concurrency }),
    ...(graphs !== undefined && { graphs }),
    ...(queues !== undefined && { queues }),
    ...(versioning !== undefined && { versioning }),
    onTaken: () => file.write(),
    onError: file.failed,
    onRested: (result) => {
      file.write();
      app.rested?.(result);
    },
  };
  const worker = startWorker(app, options);
  file.attach(worker);
  app.metrics?.addGauges(() => ({ cairn_runs_held: [{ value: worker.runs().length }] }));
  const heartbeat = setInterval(() => file.write(), heartbeatMs);
  try {
    const { name } = app.store;
    log.info({ event: 'working', store: name }, `Working on ${name}. Ctrl-C or SIGTERM: finish and stop.`);
    if (health !== undefined)
      log.info({ event: 'health', url: health.url }, `Probes and metrics are answered at ${health.url}`);
    await interrupt.requested;
    health?.stop();
    file.turn('draining');
    log.info(
      { event: 'draining', runs: worker.runs() },
      `Stopping: ${worker.runs().length} runs get ${grace} s to come to rest.`,
    );
    await drain(worker, 1000 * grace);
    await app.close();
    file.turn('stopped');
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
    const { concurrency, workflows, allow, modules = [], healthPort, logLevel } = input;
    if (concurrency === 0) throw new CairnError('USAGE_INVALID', { reason: '--concurrency takes 1 or more' });
    const log = openLog(session, 1, logLevel);
    const opened = {
      ...session,
      workflows,
      allow,
      log,
      ...(healthPort !== undefined && { metrics: createMetrics() }),
      // A worker looks for due runs each second, so it need not stay with a run that sleeps. Then sleeping runs use no place and do not
      // delay stopping.
      holdTimersMs: 0,
      cleanUpEvery: 'configured',
      report: (error: unknown) => logFault(log, 'cleanup-failed', error),
    } as const;
    const app = await openApp(opened);
    let health: ProbePort | undefined;
    try {
      if (app.grantsNote !== undefined) log.info({ event: 'grants' }, app.grantsNote);
      await knowModules(app, session.cwd, modules);
      if (healthPort !== undefined) health = await openHealth(app, parseAddress(healthPort, '--health-port'));
      return await work(session, app, { input, log, health });
    } finally {
      await app.close();
      await health?.close();
    }
  },
};
