/** Starts the MCP server: opens the store, serves clients over stdio or HTTP, and shuts down cleanly. */
import { perform } from '../../operations/contract/perform.ts';
import type { ReadResourceResult } from '@modelcontextprotocol/server';
import { CairnError, commandText } from '../../errors.ts';
import { quotedRun } from '../../operations/runs/find-run.ts';
import { describeCheckpoint } from '../../operations/checkpoints/describe-checkpoint.ts';
import { listWorkflows } from '../../operations/workflows/describe-workflow.ts';
import { listCheckpoints } from '../../operations/checkpoints/list-checkpoints.ts';
import { readWorkflowText } from '../../operations/workflows/start-workflow.ts';
import { showCheckpoint } from '../../operations/checkpoints/show-checkpoint.ts';
import { toJson } from '../../operations/contract/to-json.ts';
import { writeLog } from '../../operations/format/terminal.ts';
import { createLineLog, logFault, type Log } from '../../app/log/line-log.ts';
import { createMetrics } from '../../app/metrics/metrics.ts';
import type { McpServer, ServerHouse, Sdk } from './server-house.ts';
import { registerTools } from './register-tools.ts';
import { Transform, type Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { loadStdio, type Serving, loadSdk, httpOptionNames, serveHttp, type HttpOptions } from './serve-http.ts';
import { openHealth, type ProbePort, type HealthAddress } from '../../app/health.ts';
import { createProbes } from '../../app/http/probes.ts';
import { openApp, type AppOptions } from '../../app/open-app.ts';
import { readVersion } from '../../app/version.ts';
import { listRuns } from '../../operations/runs/list-runs.ts';
import type { WorkContext } from '../../operations/contract/operation.ts';
import { refuseUnknownKeys } from '../../operations/contract/known-keys.ts';

/** What the server tells a model about itself. */
const instructions = `Cairn runs durable workflows: every step is a checkpoint, so a run survives crashes and may wait days for an answer.

1. list_workflows, then get_workflow_info for the inputs of one.
2. execute_workflow. Its status is success (see outputs), failure (see error, code and hint), or paused. After a failure resume_workflow tries again what failed; of what may have happened it asks first, and with retry true it runs commands again that ended with an exit code.
3. paused: a question is open. Show prompt to the person unless it is yours to answer, then call resume_workflow with the checkpoint_id and llm_response. Whether a tool may be called, and whether an effect in doubt happened, is for the person: message names the command. With several questions open, give answers: { wait: value }. An answer that does not fit leaves the questions open, and message says why.
4. A long run: execute_workflow with wait false, then get_run. A run whose server has ended is stopped: resume_workflow with its run_id goes on, and nothing that is recorded is done again.
5. To go back: list_checkpoints, preview_resume, then fork_checkpoint with other inputs or answers. The original run stays as it is.

Giving run_id to execute_workflow makes a repeated call the same run. Errors say what to do next in message.`;

// Offers workflows and checkpoints as resources, and completions of their names.

const jsonType = 'application/json';
const yamlType = 'application/yaml';
/** The most checkpoints in the list of resources. Older ones can still be read by their URI. */
const listedCheckpoints = 50;
const completionsMax = 100;

const workflowUri = (name: string): string => `cairn://workflows/${encodeURIComponent(name)}`;
const checkpointUri = (run: string, seq: number): string =>
  `cairn://runs/${encodeURIComponent(run)}/checkpoints/${seq}`;

/** Decodes a variable of a URI. */
function textOf(variable: string | readonly string[] | undefined): string {
  return decodeURIComponent(typeof variable === 'string' ? variable : (variable?.[0] ?? ''));
}

function registerResources(server: McpServer, house: ServerHouse): void {
  registerWorkflows(server, house);
  registerCheckpoints(server, house);
}

/** Reads a resource. A URI that names nothing counts as a resource that does not exist; other errors are passed on as text. */
async function reading(
  { sdk }: ServerHouse,
  uri: URL,
  mimeType: string,
  read: () => Promise<string>,
): Promise<ReadResourceResult> {
  try {
    return { contents: [{ uri: uri.href, mimeType, text: await read() }] };
  } catch (error) {
    const { code, message, hint } = CairnError.from(error);
    if (code.endsWith('_NOT_FOUND')) throw new sdk.ResourceNotFoundError(uri.href);
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, `${message}. ${hint}`, { code });
  }
}

function registerWorkflows(server: McpServer, house: ServerHouse): void {
  const { sdk, context } = house;
  const names = async (start: string): Promise<string[]> => {
    const { workflows } = await perform(listWorkflows, context, {});
    return workflows
      .map(({ name }) => name)
      .filter((name) => name.startsWith(start))
      .slice(0, completionsMax);
  };
  const template = new sdk.ResourceTemplate('cairn://workflows/{name}', {
    list: async () => {
      const { workflows } = await perform(listWorkflows, context, {});
      const resources = workflows.map(({ name, description }) => ({
        name,
        title: name,
        uri: workflowUri(name),
        mimeType: yamlType,
        ...(description !== undefined && { description }),
      }));
      return { resources };
    },
    complete: { name: names },
  });
  const metadata = { title: 'Workflow', description: 'The YAML text of a workflow.', mimeType: yamlType };
  server.registerResource('workflow', template, metadata, (uri, { name }) =>
    reading(house, uri, yamlType, async () => {
      const { text } = await perform(readWorkflowText, context, { workflow: textOf(name) });
      return text;
    }),
  );
}

function registerCheckpoints(server: McpServer, house: ServerHouse): void {
  const { sdk, context } = house;
  const template = new sdk.ResourceTemplate('cairn://runs/{run}/checkpoints/{seq}', {
    list: async () => {
      const { checkpoints } = await perform(listCheckpoints, context, { limit: listedCheckpoints });
      const resources = checkpoints.map(({ runId, seq, graphId, checkpointId, createdAt, isPaused }) => ({
        name: checkpointId,
        title: `${graphId}, checkpoint ${seq}${isPaused ? ', paused' : ''}`,
        uri: checkpointUri(runId, seq),
        mimeType: jsonType,
        annotations: { lastModified: new Date(createdAt).toISOString() },
      }));
      return { resources };
    },
  });
  const metadata = {
    title: 'Checkpoint',
    description: 'The state of a run at one of its checkpoints, and why the checkpoint is there.',
    mimeType: jsonType,
  };
  server.registerResource('checkpoint', template, metadata, (uri, { run, seq }) =>
    reading(house, uri, jsonType, async () => {
      const checkpoint = `${quotedRun(textOf(run))}@${textOf(seq)}`;
      const details = await perform(showCheckpoint, context, { checkpoint });
      const progress = await perform(describeCheckpoint, context, { checkpoint });
      return JSON.stringify(toJson({ ...details, ...progress }), null, 2);
    }),
  );
}

// Makes the server for one connection: its tools, resources and instructions, over any transport.

/**
 * @param era - in the `modern` protocol a server sends no requests to its client: questions are a result, and the client repeats its call
 */
function createServer(house: ServerHouse, era: 'legacy' | 'modern'): McpServer {
  const { sdk, version } = house;
  const server = new sdk.McpServer(
    { name: 'cairn', title: 'Cairn workflows', version },
    {
      instructions,
      capabilities: { tools: {}, resources: { listChanged: true }, completions: {} },
    },
  );
  registerTools(server, house, era);
  registerResources(server, house);
  return server;
}

// Answers malformed input on stdin with an error, because a client that waits for a reply would wait forever.

const parseError = -32_700;
const invalidRequest = -32_600;

/** The id of what was meant as a request. */
function idOf(value: unknown): string | number | null {
  const { id, method } = (value ?? {}) as { readonly id?: unknown; readonly method?: unknown };
  return method !== undefined && (typeof id === 'string' || typeof id === 'number') ? id : null;
}

/** The error reply to a line that is not a message; undefined if it is one. */
function refusalOf({ deserializeMessage }: Sdk, line: string): object | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    const message = `this line is no JSON: ${(error as Error).message}`;
    return { jsonrpc: '2.0', id: null, error: { code: parseError, message } };
  }
  try {
    deserializeMessage(line);
    return undefined;
  } catch {
    const message = Array.isArray(value) ? 'batches are not part of the protocol' : 'this is no JSON-RPC 2.0 message';
    return { jsonrpc: '2.0', id: idOf(value), error: { code: invalidRequest, message } };
  }
}

/**
 * Passes valid messages on and replies to all other lines.
 * @param reply - writes one line to the client
 * @returns a stream that ends with the input, and fails if a line exceeds the protocol's limit
 */
function refuseMalformed(sdk: Sdk, input: Readable, reply: (line: string) => void): Readable {
  const decoder = new StringDecoder();
  let parts: string[] = [];
  let length = 0;
  const lines = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const [first = '', ...others] = decoder.write(chunk).split('\n');
      parts.push(first);
      length += first.length;
      for (const next of others) {
        const line = parts.join('');
        parts = [next];
        length = next.length;
        const refusal = line.trim() === '' ? undefined : refusalOf(sdk, line);
        if (refusal === undefined) this.push(`${line}\n`);
        else reply(`${JSON.stringify(refusal)}\n`);
      }
      const isTooLong = length > sdk.STDIO_DEFAULT_MAX_BUFFER_SIZE;
      done(isTooLong ? new Error(`a message is over the maximum size of ${sdk.STDIO_DEFAULT_MAX_BUFFER_SIZE}`) : null);
    },
  });
  input.on('error', (error) => lines.destroy(error));
  return input.pipe(lines);
}

// Serves one client over stdin and stdout.

/**
 * Starts serving.
 * @param createServer - called for each connection, and once for a probe
 * @param output - stream for the protocol: see takeStdout
 */
async function serveStdio(
  sdk: Sdk,
  createServer: (era: 'legacy' | 'modern') => McpServer,
  output: Writable,
  log: (line: string) => void,
): Promise<Serving> {
  const { serveStdio: serve, StdioServerTransport } = await loadStdio();
  const servers = new Set<McpServer>();
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const input = refuseMalformed(sdk, process.stdin, (line) => void output.write(line));
  const transport = new StdioServerTransport(input, output);
  const handle = serve(
    ({ era }) => {
      const server = createServer(era);
      servers.add(server);
      return server;
    },
    { transport, onerror: ({ message }) => log(message) },
  );
  // Called when the client has closed one of the pipes or has sent invalid data.
  const { onclose } = transport;
  Object.assign(transport, {
    onclose: () => {
      onclose?.();
      // Stop reading, so that stdin does not keep the process alive.
      process.stdin.unpipe().pause();
      end();
    },
  });
  // Errors reach the transport through its own stream, so here the serving just ends.
  process.stdout.on('error', end);
  return {
    url: undefined,
    ended,
    announceResources() {
      for (const server of servers) if (server.isConnected()) server.sendResourceListChanged();
    },
    async close() {
      end();
      await handle.close();
    },
  };
}

// Reserves stdout for the protocol.

/**
 * Reserves stdout for the protocol. From now on everything else that this process writes to it, such as console.log in a user's module,
 * goes to stderr.
 */
function takeStdout(): Writable {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  return new Writable({
    write(chunk: Uint8Array, _encoding, done) {
      write(chunk, (error) => done(error));
    },
  });
}

/** Options of an MCP server: where runs and workflows are, permissions of inline workflows, and how clients connect. */
export interface McpServerOptions extends Omit<
  AppOptions,
  'readsConfig' | 'runsConfig' | 'readOnly' | 'door' | 'metrics'
> {
  /** Serve over HTTP. Default: stdin and stdout. */
  readonly http?: HttpOptions;
  /** Where probes are answered (`/livez`, `/readyz`), also while a node holds the event loop. Default: nowhere but at the port of `http`. */
  readonly health?: HealthAddress;
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
  /** Receives what happens to runs, and what its operator should know. Default: lines of JSON on stderr; plain ones in a terminal. */
  readonly log?: Log;
}

const optionNames = Object.keys({
  cwd: true,
  configFile: true,
  storeUrl: true,
  blobsUrl: true,
  trustsStore: true,
  workflows: true,
  allow: true,
  cleanUpEvery: true,
  makesStore: true,
  holdTimersMs: true,
  holdQuestionsMs: true,
  wakes: true,
  report: true,
  watch: true,
  http: true,
  health: true,
  canAskClient: true,
  answers: true,
  commandLine: true,
  log: true,
} satisfies Record<keyof McpServerOptions, true>);

/** The log of a server whose standard output may be a protocol. */
function openServerLog(cwd: string): Log {
  const isPlain = process.stderr.isTTY;
  return createLineLog({ write: (line) => writeLog(isPlain ? `cairn mcp: ${line}` : line), isPlain, cwd });
}

/** A running server. */
export interface RunningMcpServer {
  /** URL for clients; undefined for stdin and stdout. */
  readonly url: string | undefined;
  /** Resolves when the client is gone (stdio) or the server was closed, and everything is closed. */
  readonly closed: Promise<void>;
  /** Closes connections, stops running work (it can be resumed), and releases claims. A second call has no effect. */
  close(): Promise<void>;
}

/** Tells the operator if there are runs whose process has died; they can be resumed. */
async function logInterrupted(context: WorkContext, log: (line: string) => void): Promise<void> {
  const { runs } = await perform(listRuns, context, { status: ['running'], limit: 100 });
  const stopped = runs.filter(({ isStopped }) => isStopped).map(({ runId }) => runId);
  if (stopped.length > 0) log(`${stopped.length} stopped: ${stopped.join(', ')}; resume_workflow goes on with them`);
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
  const { http, canAskClient = true, answers, commandLine = commandText, log = openServerLog(options.cwd) } = options;
  const sdk = await loadSdk();
  // Must come before any module of the user is loaded, because what such a module prints is not part of the protocol.
  const output = http === undefined ? takeStdout() : undefined;
  const metrics = createMetrics();
  const app = await openApp({
    cleanUpEvery: 'configured',
    wakes: true,
    runsConfig: true,
    // A question reaches the client at once; the server meets its deadline when it comes.
    holdQuestionsMs: 0,
    report: (error) => logFault(log, 'cleanup-failed', error),
    metrics,
    ...options,
    log,
  });
  // Long before a client's first run holds the event loop.
  app.engine.ports.leaseGuard?.start();
  let serving: Serving | undefined;
  let health: ProbePort | undefined;
  const probes = createProbes(app.store, app.tenant);
  const note = (line: string): void => log.warn({ event: 'server' }, line);
  const questions = answers === 'person' ? 'all' : 'approvals';
  const house: ServerHouse = {
    sdk,
    context: {
      ...app,
      actor: 'model',
      acting: { door: 'mcp', as: 'program' },
      ...(answers !== 'anyone' && { reserved: { questions, command: commandLine } }),
    },
    version: readVersion(),
    canAskClient,
    log: note,
    announceResources: () => serving?.announceResources(),
  };
  try {
    if (app.grantsNote !== undefined) log.info({ event: 'grants' }, app.grantsNote);
    await logInterrupted(app, note);
    if (options.health !== undefined) health = await openHealth(app, options.health);
    serving =
      output === undefined
        ? await serveHttp(sdk, (era) => createServer(house, era), http ?? {}, note, { probes, metrics })
        : await serveStdio(sdk, (era) => createServer(house, era), output, note);
  } catch (error) {
    await app.close();
    await health?.close();
    throw error;
  }
  const running = serving;
  if (running.url !== undefined) log.info({ event: 'listening', url: running.url }, `listening at ${running.url}`);
  if (health !== undefined)
    log.info({ event: 'health', url: health.url }, `probes and metrics are answered at ${health.url}`);
  let closing: Promise<void> | undefined;
  const endAll = async (): Promise<void> => {
    probes.stop();
    health?.stop();
    try {
      await running.close();
    } finally {
      await app.close();
      await health?.close();
    }
  };
  const close = (): Promise<void> => (closing ??= endAll());
  return { url: running.url, closed: running.ended.then(close), close };
}
