/** Starts the MCP server: opens the store, serves clients over stdio or HTTP, and shuts down cleanly. */
import { reasonOf } from '../../errors.ts';
import { perform } from '../../operations/declare/perform.ts';
import { openApp, type AppOptions } from '../../app/open-app.ts';
import { readVersion } from '../../app/version.ts';
import { listRuns } from '../../operations/runs/list-runs.ts';
import type { WorkContext } from '../../operations/declare/operation.ts';
import { createServer } from './create-server.ts';
import type { ServerHouse } from './server-house.ts';
import { loadSdk } from './load-sdk.ts';
import { httpOptionNames, serveHttp, type HttpOptions } from './serve-http.ts';
import { serveStdio } from './serve-stdio.ts';
import type { Serving } from './serving.ts';
import { takeStdout } from './take-stdout.ts';
import { refuseUnknownKeys } from '../../operations/declare/known-keys.ts';

/** Options of an MCP server: where runs and workflows are, permissions of inline workflows, and how clients connect. */
export interface McpServerOptions extends Omit<AppOptions, 'readsConfig' | 'runsConfig'> {
  /** Serve over HTTP. Default: stdin and stdout. */
  readonly http?: HttpOptions;
  /** Whether to ask the person behind a client, if the client can show forms. Default true. */
  readonly canAskClient?: boolean;
  /**
   * Who may answer questions. By default clients answer what a workflow asks; what permits a call of a tool, changed tools or a larger budget,
   * and whether an effect in doubt happened, is for people, in a form or on the command line. `person`: every question is for people, and
   * clients cannot fork past one. `anyone`: clients may answer every question.
   */
  readonly answers?: 'anyone' | 'person';
  /** Makes a command for people that reaches the same store. Default: `cairn` followed by the words. */
  readonly commandLine?: (...words: readonly string[]) => string;
  /** Writes a line for the operator of the server. Default: to stderr. */
  readonly tell?: (line: string) => void;
}

const optionNames = Object.keys({
  cwd: true,
  configFile: true,
  storeUrl: true,
  workflows: true,
  allow: true,
  cleanUpEvery: true,
  makesStore: true,
  holdTimersMs: true,
  holdAskedMs: true,
  wakes: true,
  report: true,
  watch: true,
  http: true,
  canAskClient: true,
  answers: true,
  commandLine: true,
  tell: true,
} satisfies Record<keyof McpServerOptions, true>);

/** A running server. */
export interface RunningMcpServer {
  /** URL for clients; undefined for stdin and stdout. */
  readonly url: string | undefined;
  /** Resolves when the client is gone (stdio) or the server was closed, and everything is closed. */
  readonly closed: Promise<void>;
  /** Closes connections, stops running work (it can be resumed), and releases claims. A second call has no effect. */
  close(): Promise<void>;
}

const plainCommandLine = (...words: readonly string[]): string => ['cairn', ...words].join(' ');

/** Tells the operator if there are runs whose process has died; they can be resumed. */
async function tellInterrupted(context: WorkContext, tell: (line: string) => void): Promise<void> {
  const { runs } = await perform(listRuns, context, { status: ['running'], limit: 100 });
  const stopped = runs.filter(({ isStopped }) => isStopped).map(({ runId }) => runId);
  if (stopped.length > 0) tell(`${stopped.length} stopped: ${stopped.join(', ')}; resume_workflow goes on with them`);
}

/**
 * Starts an MCP server.
 *
 * @throws CONFIG_MISSING_PEER the SDK is not installed; CONFIG_INVALID the store, a directory or the address; STORE_* the store
 * cannot be opened
 */
export async function startMcpServer(options: McpServerOptions): Promise<RunningMcpServer> {
  refuseUnknownKeys('startMcpServer', options, optionNames);
  if (options.http !== undefined) refuseUnknownKeys('http of startMcpServer', options.http, httpOptionNames);
  const {
    http,
    canAskClient = true,
    answers,
    commandLine = plainCommandLine,
    tell = (line) => void process.stderr.write(`cairn mcp: ${line}\n`),
  } = options;
  const sdk = await loadSdk();
  // Must come before any module of the user is loaded, because what such a module prints is not part of the protocol.
  const output = http === undefined ? takeStdout() : undefined;
  const app = await openApp({
    cleanUpEvery: 'configured',
    wakes: true,
    runsConfig: true,
    // A question reaches the client at once; the server meets its deadline when it comes.
    holdAskedMs: 0,
    report: (error) => tell(reasonOf(error)),
    ...options,
  });
  let serving: Serving | undefined;
  const questions = answers === 'person' ? 'all' : 'approvals';
  const house: ServerHouse = {
    sdk,
    context: answers === 'anyone' ? app : { ...app, reserved: { questions, command: commandLine } },
    version: readVersion(),
    canAskClient,
    tell,
    announceResources: () => serving?.announceResources(),
  };
  try {
    await tellInterrupted(app, tell);
    serving =
      output === undefined
        ? await serveHttp(sdk, (era) => createServer(house, era), http ?? {}, tell)
        : await serveStdio(sdk, (era) => createServer(house, era), output, tell);
  } catch (error) {
    await app.close();
    throw error;
  }
  const served = serving;
  if (served.url !== undefined) tell(`listening at ${served.url}`);
  let closing: Promise<void> | undefined;
  const endAll = async (): Promise<void> => {
    try {
      await served.close();
    } finally {
      await app.close();
    }
  };
  const close = (): Promise<void> => (closing ??= endAll());
  return { url: served.url, closed: served.ended.then(close), close };
}
