/** Starts the MCP server: opens the store, serves clients over stdio or HTTP, and stops in good order. */
import { perform } from '../../operations/declare/perform.ts';
import { openApp, type AppOptions } from '../../app/open-app.ts';
import { readVersion } from '../../app/version.ts';
import { listRuns } from '../../operations/runs/list-runs.ts';
import type { WorkContext } from '../../operations/declare/operation.ts';
import { createServer } from './create-server.ts';
import type { ServerHouse } from './server-house.ts';
import { loadSdk } from './load-sdk.ts';
import { serveHttp, type HttpOptions } from './serve-http.ts';
import { serveStdio } from './serve-stdio.ts';
import type { Serving } from './serving.ts';
import { takeStdout } from './take-stdout.ts';

/** What an MCP server is started with: where its runs and workflows are, what inline ones may do, and how it is reached. */
export interface McpServerOptions extends AppOptions {
  /** Default: standard input and output. */
  readonly http?: HttpOptions;
  /** Whether questions are put to the person behind the client, where the client can show forms. Default true. */
  readonly canAskClient?: boolean;
  /** `person`: clients may not answer, nor fork past a question; a person does, in a form or at the command line. Default `anyone`. */
  readonly answers?: 'anyone' | 'person';
  /** A command as a person types it to reach the same store. Default: `cairn` and the words. */
  readonly commandLine?: (...words: readonly string[]) => string;
  /** Writes a line for whoever runs the server. Default: to standard error. */
  readonly tell?: (line: string) => void;
}

/** A server at work. */
export interface RunningMcpServer {
  /** Where clients connect; undefined: standard input and output. */
  readonly url: string | undefined;
  /** Resolves when the client has gone (stdio), or the server was closed, and everything is put away. */
  readonly closed: Promise<void>;
  /** Ends connections, stops what runs (it is resumable) and gives back its claims. Closing twice is closing once. */
  close(): Promise<void>;
}

const plainCommandLine = (...words: readonly string[]): string => ['cairn', ...words].join(' ');

/** Runs whose process died are found again by a resume; whoever starts a server is told that there are some. */
async function tellInterrupted(context: WorkContext, tell: (line: string) => void): Promise<void> {
  const { runs } = await perform(listRuns, context, { status: ['running'], limit: 100 });
  const stopped = runs.filter(({ isStopped }) => isStopped).map(({ runId }) => runId);
  if (stopped.length > 0)
    tell(`${stopped.length} interrupted: ${stopped.join(', ')}; resume_workflow goes on with them`);
}

/**
 * Starts an MCP server.
 *
 * @throws CONFIG_MISSING_PEER the SDK is not installed; CONFIG_INVALID the store, a directory or the address; STORE_* the store
 * cannot be opened
 */
export async function startMcpServer(options: McpServerOptions): Promise<RunningMcpServer> {
  const {
    http,
    canAskClient = true,
    answers = 'anyone',
    commandLine = plainCommandLine,
    tell = (line) => void process.stderr.write(`cairn mcp: ${line}\n`),
  } = options;
  const sdk = await loadSdk();
  // Before any module of the user is loaded: what it prints is not the protocol's.
  const output = http === undefined ? takeStdout() : undefined;
  const app = await openApp({
    cleanUpEvery: 'configured',
    report: (error) => tell(error instanceof Error ? error.message : String(error)),
    ...options,
  });
  let serving: Serving | undefined;
  const house: ServerHouse = {
    sdk,
    context: answers === 'person' ? { ...app, reserved: { command: commandLine } } : app,
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
